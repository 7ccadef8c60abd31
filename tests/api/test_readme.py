"""The examples of the README print what it says they print."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
SECTION = (
    README.read_text(encoding="utf-8").partition("\n## From Python\n")[2].partition("\n## ")[0]
)
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", SECTION, re.DOTALL)


def test_there_are_two_examples():
    assert len(EXAMPLES) == SECTION.count("```python") == 2


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=["demo", "tensors"])
def test_an_example_prints_what_stands_below_it(code, printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == printed
