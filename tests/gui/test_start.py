"""The start of the program, in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
from PySide6.QtCore import QTimer, Slot
from hookviewer.gui import app

seen = {}


class Window(app.MainWindow):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        seen["torch when it was built"] = "torch" in sys.modules
        self.painted.connect(self.note_paint)
        self.settled.connect(self.note_end)

    @Slot()
    def note_paint(self):
        seen["torch when it was painted"] = "torch" in sys.modules
        seen["visible"] = self.isVisible()
        QTimer.singleShot(0, self, self.note_progress)

    @Slot()
    def note_progress(self):
        seen["text"] = self.status.text
        seen["bar"] = self.status._bar.isVisible()
        seen["panels"] = [panel.view.message for panel in self.area.panels.values()]

    @Slot()
    def note_end(self):
        seen["torch in the end"] = "torch" in sys.modules
        seen["seed"] = self.workspace.plan().seed
        seen["train"] = [self.workspace.train, self.tools.mode_chooser.currentText()]
        seen["title"] = self.windowTitle()
        self.settled.disconnect(self.note_end)
        self.close()


app.MainWindow = Window
options = app.WindowOptions("./net.py:build", "noise:1x1x4x4", train=True, seed=5)
code = app.run(options)
json.dump(seen, sys.stdout)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a script noted while the window started and until its panels were filled."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "main.py").write_text(SCRIPT)
    (folder / "net.py").write_text("from torch.nn import Flatten as build")
    done = subprocess.run(
        [sys.executable, "-W", "error", "main.py"],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_window_is_painted_before_torch_is_imported(seen):
    assert seen["visible"]
    assert not seen["torch when it was built"]
    assert not seen["torch when it was painted"]
    assert seen["torch in the end"]


def test_a_line_and_a_moving_bar_say_what_is_loading(seen):
    assert seen["text"].startswith("loading ")
    assert seen["bar"]


def test_no_panel_is_a_blank(seen):
    assert all(seen["panels"])


def test_the_options_of_the_start_reach_the_run(seen):
    assert seen["train"] == [True, "train"]
    assert seen["seed"] == 5
    assert seen["title"] == "net.py:build – hookviewer"
