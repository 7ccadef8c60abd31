import subprocess
import sys

import pytest

from hookviewer.engine.errors import HookviewerError
from hookviewer.extension import sources
from hookviewer.sources import load
from hookviewer.sources.arguments import parse


@pytest.mark.parametrize(
    "spec",
    ["", "resnet18", "net.pt", "net.pth", "net.onnx", "/tmp", "noise:1x3", "a b:c", "demo?x=1"],
)
def test_what_cannot_be_opened_is_answered_with_what_can(spec):
    with pytest.raises(HookviewerError, match=f"^'{spec.replace('?', '.')}' cannot be opened as a"):
        load(spec)


def test_a_weights_file_is_not_even_read(tmp_path, monkeypatch):
    file = tmp_path / "net.pt"
    file.write_bytes(b"not a model")
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("opened"))
    with pytest.raises(HookviewerError, match="cannot be opened"):
        load(str(file))


def test_a_new_source_is_one_registered_function(monkeypatch):
    monkeypatch.setattr(sources, "_items", dict(sources._items))
    sources.register("mine")(lambda spec, token: f"model {spec}" if spec == "mine:x" else None)
    assert load("mine:x") == "model mine:x"


def test_arguments_are_literals_or_text():
    query = "n=3&rate=0.5&flag=True&sizes=[1, 2]&none=None&name=wide&path=a=b&late=01"
    assert parse(query) == {
        "n": 3,
        "rate": 0.5,
        "flag": True,
        "sizes": [1, 2],
        "none": None,
        "name": "wide",
        "path": "a=b",
        "late": "01",
    }
    assert parse("") == {}


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("width", "'width' is no argument"),
        ("3=4", "'3=4' is no argument"),
        ("a=1&a=2", "'a' is given twice"),
    ],
)
def test_what_is_no_argument_is_named(query, sentence):
    with pytest.raises(HookviewerError, match=sentence):
        parse(query)


def test_the_types_and_registries_are_there_before_torch_is_imported():
    code = (
        "import sys; import hookviewer.inputs, hookviewer.resources, hookviewer.sources, "
        "hookviewer.sources.loaded, hookviewer.targets; "
        "print(sorted({'torch', 'torchvision', 'PIL', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
