"""Importing hookviewer is cheap, and its names are the same for Python and for a type checker."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hookviewer as hv

LOADED = "print(sorted({'torch', 'PySide6', 'pyqtgraph', 'shiboken6'} & set(sys.modules)))"


def printed(code):
    command = [sys.executable, "-c", f"import sys; {code}; {LOADED}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_importing_hookviewer_loads_neither_torch_nor_qt():
    assert printed("import hookviewer") == "[]\n"


def test_recording_loads_no_qt():
    code = "import hookviewer as hv; hv.record(lambda x: -x, 1, hv.ALL).save; hv.load; hv.open_run"
    assert printed(code) == "['torch']\n"


def test_a_type_checker_sees_the_very_objects_that_python_finds():
    source = Path(hv.__file__).read_text(encoding="utf-8")
    (block,) = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    typed = {alias.name: each.module for each in block.body for alias in each.names}
    assert {*typed, "__version__"} == {*hv.__all__}
    for name, module in typed.items():
        assert getattr(hv, name) is getattr(import_module(module), name)


def test_the_names_are_listed_before_they_are_used():
    assert set(hv.__all__) <= set(printed("import hookviewer; print(*dir(hookviewer))").split())


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hookviewer' has no attribute 'recrod'"):
        _ = hv.recrod
