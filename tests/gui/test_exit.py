"""The real window, closed in the middle of a run, in processes that end at once."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

SCRIPT = """
import sys, threading
from PySide6.QtCore import QMetaObject, Qt, Slot
from hookviewer.engine.cancel import CancelToken
from hookviewer.gui import app, model_tasks

cancel, cancelled = CancelToken.cancel, threading.Event()


def cancel_and_tell(token):
    cancel(token)
    cancelled.set()


class Window(app.MainWindow):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.times = 0
        self.workspace.run_changed.connect(self.regret)
        Window.one = self

    @Slot()
    def regret(self):
        print("a run was not cut off")
        self.close()

    @Slot()
    def run_again_then_close(self):
        self.times += 1
        self.conductor.run() if self.times < 3 else self.close()


def ask(where):
    "Ask for the end, from the worker's thread, and go on when it comes."
    if where == sys.argv[1]:
        cancelled.clear()
        slot = "close" if sys.argv[2] == "close" else "run_again_then_close"
        QMetaObject.invokeMethod(Window.one, slot, Qt.ConnectionType.QueuedConnection)
        assert cancelled.wait(60)


CancelToken.cancel, app.MainWindow = cancel_and_tell, Window
model_tasks.look_around = lambda _: model_tasks.Surroundings(("cpu",), ())  # spares torchvision
sys.exit(app.run(app.WindowOptions("./net.py:build", "noise:1x8x48x48", "0")))
"""
NET = """
import __main__
import torch
from torch import nn


class Asking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        __main__.ask("forward")
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        __main__.ask("backward")
        return gradient


class Ask(nn.Module):
    def forward(self, x):
        return Asking.apply(x)


def build():
    layers = [nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(inplace=True)) for _ in range(8)]
    return nn.Sequential(*layers[:4], Ask(), *layers[4:], nn.AdaptiveAvgPool2d(1), nn.Flatten())
"""


def ended(folder, where, how):
    """Return (exit code, stdout, stderr) of a process that is closed in the middle of a run."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "main.py", where, how],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("where", "how", "times"),
    [("backward", "close", 20), ("forward", "close", 2), ("backward", "run again", 2)],
)
def test_closing_in_the_middle_of_a_run_ends_with_0_and_without_a_word(tmp_path, where, how, times):
    (tmp_path / "main.py").write_text(SCRIPT)
    (tmp_path / "net.py").write_text(NET)
    with ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(lambda _: ended(tmp_path, where, how), range(times)))
    assert codes == [(0, "", "")] * times
