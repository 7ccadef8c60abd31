import sys

import pytest
from torch import nn

from hookviewer.engine.errors import HookviewerError
from hookviewer.sources import load


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in the current folder, with a module that makes models."""
    folder = tmp_path / "hv_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "nets.py").write_text("from torch import nn\ndef build(n=1): return nn.Linear(n, 1)")
    monkeypatch.chdir(tmp_path)
    return folder


def test_an_installed_module_makes_the_model():
    loaded = load("torch.nn:Linear?in_features=3&out_features=4")
    assert type(loaded.model) is nn.Linear
    assert (loaded.model.in_features, loaded.model.out_features) == (3, 4)
    assert loaded.weights == "weights as torch.nn:Linear made them"


def test_a_module_in_the_current_folder_makes_the_model(package):
    before = list(sys.path)
    loaded = load("hv_package.nets:build?n=5")
    assert loaded.model.in_features == 5
    assert loaded.title == "hv_package.nets:build?n=5"
    assert sys.path == before


def test_an_edited_module_is_read_anew(package):
    assert load("hv_package.nets:build").model.in_features == 1
    (package / "nets.py").write_text("from torch import nn\nbuild = nn.ReLU")
    assert type(load("hv_package.nets:build").model) is nn.ReLU


def test_installed_modules_are_never_forgotten(package):
    before = sys.modules["torch"], sys.modules["hookviewer.sources"]
    load("hv_package.nets:build")
    load("torch.nn:ReLU")
    load("hv_package.nets:build")
    assert (sys.modules["torch"], sys.modules["hookviewer.sources"]) == before


def test_a_file_in_the_current_folder_hides_no_installed_module(package, monkeypatch):
    package.with_name("fractions.py").write_text("raise SystemError")
    monkeypatch.delitem(sys.modules, "fractions", raising=False)
    with pytest.raises(HookviewerError, match="made a Fraction"):
        load("fractions:Fraction")


@pytest.mark.parametrize(
    ("spec", "missing"),
    [("hv_nowhere.nets:build", "hv_nowhere"), ("hv_package.other:build", "hv_package.other")],
)
def test_a_missing_module_is_named(package, spec, missing):
    with pytest.raises(HookviewerError, match=rf"no module '{missing}' among .* or in "):
        load(spec)


def test_a_module_that_fails_is_named_with_the_line(package):
    (package / "nets.py").write_text("x = 1\nimport hv_nowhere")
    sentence = r"Importing hv_package.nets failed in nets.py, line 2: ModuleNotFoundError"
    with pytest.raises(HookviewerError, match=sentence):
        load("hv_package.nets:build")


def test_a_missing_factory_is_answered_with_near_ones():
    with pytest.raises(HookviewerError, match=r"torch\.nn has no 'Linaer'\. Near it: Linear"):
        load("torch.nn:Linaer")


def test_the_line_named_is_the_modules_not_the_librarys(package):
    (package / "nets.py").write_text("from torch import nn\nnn.Linear(-1, 'a')")
    with pytest.raises(HookviewerError, match=r"hv_package\.nets failed in nets\.py, line 2: Type"):
        load("hv_package.nets:build")
