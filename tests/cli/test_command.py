"""The command itself, in processes of its own."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

import hookviewer
from hookviewer.gui.display import DEBIAN_LINE

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.body(x).mean((2, 3))


def bad(*_):
    raise ValueError("a slot broke down")


def breaks_hookviewer():
    from hookviewer.gui.panels.mosaic_panel import MosaicPanel

    MosaicPanel.show_look = bad
    return Net()


def breaks_pictures():
    import hookviewer.gui.picture_desk

    hookviewer.gui.picture_desk.build_picture = bad
    return Net()
"""
NOWHERE = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


SMALL = ("-i", "noise:1x3x16x16")
TO_FILE = ("--screenshot", "shot.png")
COMMANDS = {
    "demo": ("--screenshot", "shot.png", "--size", "1100x700", "--at", "features.3"),
    "no display": ("./net.py:Net", *SMALL),
    "dead display": ("open", *SMALL, "./net.py:Net"),
    "no model": ("./nothing.py:build", *TO_FILE),
    "no path": ("./net.py:Net", *SMALL, "--at", "bdoy", *TO_FILE),
    "broken slot": ("./net.py:breaks_hookviewer", *SMALL, *TO_FILE),
    "broken picture": ("./net.py:breaks_pictures", *SMALL, *TO_FILE),
    "no folder": ("./net.py:Net", *SMALL, "--screenshot", "none/shot.png"),
}


def hookviewer_in(folder, *arguments, **variables):
    """Run the command in a folder, with a home of its own and no display."""
    known = {name: value for name, value in os.environ.items() if name not in NOWHERE}
    return subprocess.run(
        [sys.executable, "-m", "hookviewer", *arguments],
        cwd=folder,
        env={**known, "HOME": str(folder / "home"), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """All commands, each in its folder, two at a time: (what came out, folder) by name."""

    def run(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / "net.py").write_text(NET)
        (folder / "hookviewer.png").write_bytes(b"mine")
        display = {"DISPLAY": ":4711"} if name == "dead display" else {}
        return hookviewer_in(folder, *COMMANDS[name], **display), folder

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(COMMANDS, pool.map(run, COMMANDS), strict=True))


def pixels(path):
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        return np.asarray(picture.convert("RGB"))


def is_blank(picture):
    return len(np.unique(picture[::5, ::5].reshape(-1, 3), axis=0)) < 50


def test_version_is_printed_without_qt_and_torch(tmp_path):
    done = hookviewer_in(tmp_path, "--version", PYTHONPROFILEIMPORTTIME="1")
    assert (done.returncode, done.stdout) == (0, f"{hookviewer.__version__}\n")
    assert "PySide6" not in done.stderr
    assert "torch" not in done.stderr


def test_wrong_usage_ends_with_2(tmp_path):
    done = hookviewer_in(tmp_path, "--size", "big")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'big' is no size" in done.stderr


def test_a_screenshot_is_the_window_in_the_size_asked_for(ran):
    done, folder = ran["demo"]
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    picture = pixels(folder / "shot.png")
    assert picture.shape == (700, 1100, 3)
    assert not is_blank(picture)
    assert not is_blank(picture[200:600, 400:700])  # where the maps are


@pytest.mark.parametrize("name", ["no display", "dead display"])
def test_without_a_display_the_window_is_painted_to_a_free_name(ran, name):
    done, folder = ran[name]
    first, second = done.stdout.splitlines()
    assert first == "There is no display here, so the window was painted to hookviewer-2.png."
    assert "--screenshot FILE" in second
    assert (done.returncode, done.stderr) == (0, "")
    assert not is_blank(pixels(folder / "hookviewer-2.png"))
    assert (folder / "hookviewer.png").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no model", "There is no file 'nothing.py'."),
        ("no path", "This model has no node 'bdoy'. Near it: body."),
        ("broken slot", "ValueError: a slot broke down"),
        ("broken picture", "ValueError: a slot broke down"),
        ("no folder", "'none/shot.png' cannot be written"),
    ],
)
def test_what_fails_is_one_line_and_ends_with_1(ran, name, sentence):
    done, folder = ran[name]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hookviewer: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(folder.rglob("shot.png"))


def test_a_missing_library_is_one_sentence_with_its_remedy(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes\n"
        "def missing(*_):\n"
        "    raise OSError('libxcb-cursor.so.0: cannot open shared object file')\n"
        "ctypes.CDLL = missing\n"
    )
    done = hookviewer_in(tmp_path, *TO_FILE, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "hookviewer: The system library libxcb-cursor.so.0 is missing, without which no window "
        f"can be painted. On Debian and Ubuntu: {DEBIAN_LINE}\n"
    )
