import pytest

from hookviewer import resources
from hookviewer.engine.errors import HookviewerError


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package folder of our own, with nothing in it."""
    package = tmp_path / "hookviewer"
    package.mkdir()
    monkeypatch.setattr(resources, "__file__", str(package / "resources.py"))
    return package


def write(folder):
    folder.mkdir()
    file = folder / "cat.txt"
    file.touch()
    return file


def test_the_built_in_files_and_their_licences_are_there():
    assert resources.path_of("images", "chelsea.png").read_bytes()[:4] == b"\x89PNG"
    assert resources.path_of("models", "mobilenet_v2-b0353104.pth").stat().st_size > 14_000_000
    assert "CC0" in resources.path_of("LICENCES.md").read_text()


def test_a_checkout_has_its_resources_beside_the_package(installed):
    beside = write(installed.parent / "resources")
    assert resources.path_of("cat.txt") == beside


def test_an_installed_package_takes_the_resources_inside_itself(installed):
    write(installed.parent / "resources")
    inside = write(installed / "resources")
    assert resources.path_of("cat.txt") == inside


def test_a_missing_resource_is_named(installed):
    with pytest.raises(HookviewerError, match=r"resources/images/cat\.png is missing"):
        resources.path_of("images", "cat.png")
