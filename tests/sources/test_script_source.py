import pickle
import sys

import pytest
import torch

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.preprocessing import Preprocessing
from hookviewer.sources import load
from hookviewer.sources.script import candidates

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, width=2, name="plain"):
        super().__init__()
        self.body = nn.Conv2d(1, width, 1)
        self.name = name

def build(**arguments):
    return Net(**arguments)

ready = Net(5)
number = 3
"""


@pytest.fixture
def script(tmp_path):
    """Write a Python file and return its path."""

    def write(source, name="net.py"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
        return file

    return write


def refused(spec):
    with pytest.raises(HookviewerError) as caught:
        load(str(spec))
    return str(caught.value)


def test_a_function_in_a_file_makes_the_model(script):
    file = script(NET)
    loaded = load(f"{file}:build")
    assert loaded.model.body.out_channels == 2
    assert loaded.spec == f"{file}:build"
    assert loaded.title == "net.py:build"
    assert loaded.weights == "weights as build in net.py made them"
    assert loaded.class_names == ()
    assert loaded.preprocessing.channels == 1


@pytest.mark.parametrize("factory", ["build", "Net"])
def test_arguments_reach_a_function_or_a_class(script, factory):
    loaded = load(f"{script(NET)}:{factory}?width=4&name=wide one")
    assert loaded.model.body.out_channels == 4
    assert loaded.model.name == "wide one"
    assert loaded.title == f"net.py:{factory}?width=4&name=wide one"


def test_a_model_in_the_file_is_opened_as_it_is(script):
    file = script(NET)
    assert load(f"{file}:ready").model.body.out_channels == 5
    assert "is a model already; it takes no arguments" in refused(f"{file}:ready?width=3")


def test_a_factory_may_sit_in_a_class(script):
    file = script(
        NET + "\nclass Zoo:\n    @staticmethod\n    def small():\n        return Net(1)\n"
    )
    assert load(f"{file}:Zoo.small").model.body.out_channels == 1


def test_the_models_mode_is_left_as_its_factory_made_it(script):
    assert load(f"{script(NET)}:build").model.training
    assert not load(f"{script(NET + 'ready.eval()')}:ready").model.training


def test_modules_beside_the_script_can_be_imported_even_inside_the_factory(script):
    script("def layer():\n    from torch import nn\n    return nn.ReLU()", "hv_layers.py")
    file = script("def build():\n    import hv_layers\n    return hv_layers.layer()")
    before = list(sys.path)
    assert type(load(f"{file}:build").model) is torch.nn.ReLU
    assert sys.path == before


def test_the_search_path_is_put_back_even_if_the_script_changes_it_and_fails(script):
    file = script("import sys\nsys.path[:] = []\nraise ValueError")
    before = list(sys.path), set(sys.modules)
    refused(f"{file}:build")
    assert sys.path == before[0]
    assert set(sys.modules) <= before[1]


def test_two_scripts_may_each_have_a_module_of_the_same_name(script):
    use = "import hv_parts\ndef build():\n    return hv_parts.Part()"
    for name, kind in (("one", "ReLU"), ("two", "Sigmoid")):
        script(f"from torch.nn import {kind} as Part", f"{name}/hv_parts.py")
        file = script(use, f"{name}/net.py")
        assert type(load(f"{file}:build").model).__name__ == kind


@pytest.mark.parametrize(
    ("library", "script_name"),
    [("colorsys", "net.py"), ("hv_library", "site-packages/net.py")],
)
def test_libraries_that_a_script_imports_are_kept(script, monkeypatch, library, script_name):
    monkeypatch.delitem(sys.modules, library, raising=False)
    script("", "site-packages/hv_library.py")
    file = script(f"{NET}\nimport {library}", script_name)
    load(f"{file}:build")
    kept = sys.modules[library]
    load(f"{file}:build")
    assert sys.modules[library] is kept


def test_an_edited_script_is_read_anew_and_no_cache_is_left_beside_it(script, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for kind in ("ReLU", "GELU"):  # of one length, and within the clock's resolution
        file = script(f"from torch.nn import {kind} as build")
        assert type(load(f"{file}:build").model).__name__ == kind
    assert [path.name for path in file.parent.iterdir()] == ["net.py"]


def test_a_model_from_a_script_can_be_pickled(script):
    script("from torch import nn\nclass Part(nn.Module): pass", "hv_pickled.py")
    file = script(NET + "\nimport hv_pickled\nready.part = hv_pickled.Part()")
    first, second = (load(f"{file}:build").model for _ in range(2))
    assert pickle.loads(pickle.dumps(first)).body.out_channels == 2
    assert pickle.loads(pickle.dumps(second)).body.out_channels == 2
    ready = load(f"{file}:ready").model
    assert type(pickle.loads(pickle.dumps(ready)).part) is type(ready.part)


def test_dataclasses_with_postponed_annotations_work(script):
    header = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    sizes = "@dataclass\nclass Sizes:\n    width: int = 3\n"
    build = "def build():\n    from torch import nn\n    return nn.Linear(Sizes().width, 1)"
    assert load(f"{script(header + sizes + build)}:build").model.in_features == 3


def test_a_stopped_load_does_not_run_the_script(script, tmp_path):
    token = CancelToken()
    token.cancel()
    file = script(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(Cancelled):
        load(f"{file}:build", token=token)
    assert not (tmp_path / "ran").exists()


def test_a_drive_letter_belongs_to_the_file():
    assert refused(r"C:\nets\x.py:build") == r"There is no file 'C:\nets\x.py'."
    assert refused(r"C:\nets\x.py") == r"There is no file 'C:\nets\x.py'."


def test_a_question_mark_may_be_in_a_folders_name(script):
    assert load(f"{script(NET, 'what?.py.d/net.py')}:Net?width=6").model.body.out_channels == 6


def test_an_argument_may_name_another_python_file(script):
    assert load(f"{script(NET)}:Net?name=other.py").model.name == "other.py"


def test_a_missing_factory_is_answered_with_what_the_file_has(script):
    sentence = refused(f"{script(NET)}:bulid")
    assert sentence == "net.py has no 'bulid'. Near it: build. It defines: Net, build, ready."


def test_models_are_among_what_a_file_has(script):
    sentence = refused(f"{script('from torch import nn' + chr(10) + 'net = nn.ReLU()')}:build")
    assert sentence == "net.py has no 'build'. It defines: net."


@pytest.mark.parametrize("rest", ["", ":"])
def test_a_file_without_a_factory_is_not_run_but_read(script, tmp_path, rest):
    file = script(f"{NET}\nopen({str(tmp_path / 'ran')!r}, 'w')\ndef _private(): pass")
    sentence = refused(f"{file}{rest}")
    assert "'net.py:Net'; the file has: Net, build." in sentence
    assert not (tmp_path / "ran").exists()


def test_a_file_without_functions_or_valid_python_is_told_so(script):
    assert "the file has none" in refused(script("x = 1"))
    assert "is not valid Python" in refused(script("def build(:"))


def test_candidates_are_listed_for_a_chooser(script, tmp_path):
    assert candidates(script(NET)) == ["Net", "build"]
    assert candidates(script("def build(:")) == []
    assert candidates(tmp_path / "nowhere.py") == []


def test_a_factory_that_raises_is_named_with_its_line_and_words(script):
    sentence = refused(f"{script('def build():' + chr(10) + '    raise ValueError(7)')}:build")
    assert sentence == "Calling 'build' failed in net.py, line 2: ValueError: 7."


def test_the_line_named_is_the_users_not_the_librarys(script):
    file = script("from torch import nn\ndef build():\n    return nn.Linear(-1, 'a')")
    assert "failed in net.py, line 3: TypeError" in refused(f"{file}:build")


def test_a_library_installed_below_the_script_is_not_the_users(script):
    script("def make(): raise ValueError", "site-packages/hv_broken.py")
    file = script(
        "import sys, pathlib\n"
        "sys.path.append(str(pathlib.Path(__file__).parent / 'site-packages'))\n"
        "import hv_broken\n"
        "build = lambda: hv_broken.make()"
    )
    assert "failed in net.py, line 4: ValueError" in refused(f"{file}:build")


def test_wrong_arguments_are_told_in_pythons_words(script):
    file = script("def build(width): return width")
    assert "Calling 'build' failed: TypeError: build() missing 1" in refused(f"{file}:build")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\nprint(y)", "line 2: NameError: name 'y' is not defined."),
        ("x = 1\nimport no_such_module", "line 2: ModuleNotFoundError: No module named"),
        ("x = 1\n\nx =", "line 3: SyntaxError: invalid syntax."),
        ("import sys\nsys.exit(2)", "line 2: SystemExit: 2."),
        ("raise ValueError", "line 1: ValueError."),
    ],
)
def test_a_script_that_cannot_run_is_named_with_the_line(script, source, words):
    assert f"Running net.py failed in net.py, {words}" in refused(f"{script(source)}:build")


def test_a_file_with_null_bytes_is_told_so(script):
    assert "Running net.py failed" in refused(f"{script('x = 1' + chr(0))}:build")
    assert "is not valid Python" in refused(script("x = 1" + chr(0)))


@pytest.mark.parametrize(
    ("body", "kind"),
    [("return 3", "an int"), ("pass", "None"), ("return {}", "a dict"), ("return str", "a type")],
)
def test_what_is_no_model_is_named(script, body, kind):
    sentence = refused(f"{script(f'def build(): {body}')}:build")
    assert sentence == f"'build' in net.py made {kind}, neither a torch.nn.Module nor a function."


def test_a_model_may_be_a_function_and_has_no_weights(script):
    loaded = load(f"{script('def build(factor): return lambda x: factor * x')}:build?factor=3")
    assert loaded.model(2) == 6
    assert loaded.weights == "a function, without weights"
    assert loaded.preprocessing == Preprocessing()


def test_what_cannot_be_called_is_named(script):
    assert "'number' in net.py is an int, so it makes no model." in refused(f"{script(NET)}:number")
