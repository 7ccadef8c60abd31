"""What tests of the window need: a place without a screen, a window, and a look at what is left."""

import gc
import os
import sys
import threading
from functools import partial
from textwrap import dedent

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import pytest
import torch  # noqa: F401  so that it is among what is frozen
from PySide6.QtCore import QEvent, QPoint, QPointF, QSettings, QStandardPaths, Qt, QThread
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

import hookviewer.gui.dispatcher
from hookviewer.gui.dispatcher import Dispatcher
from hookviewer.gui.error_report import ErrorReport
from hookviewer.gui.main_window import MainWindow
from hookviewer.gui.settings import Settings
from hookviewer.gui.theme import apply_theme
from hookviewer.gui.widgets.error_dialog import ErrorDialog

PATIENCE = 20_000
"""Milliseconds after which a test gives up waiting; the machine may be busy with other things."""


@pytest.fixture(scope="session", autouse=True)
def _apart_from_the_user():
    QStandardPaths.setTestModeEnabled(True)
    gc.freeze()  # what was imported stays; looking for what a test left need not look at it


@pytest.fixture(autouse=True)
def _nothing_is_left(qapp, monkeypatch):
    """Fail a test that leaves a widget, a running thread or a changed hook of Python behind."""
    threads = []

    def thread():
        threads.append(QThread())
        return threads[-1]

    monkeypatch.setattr(hookviewer.gui.dispatcher, "QThread", thread)
    widgets, hooks = set(_widgets()), (sys.excepthook, threading.excepthook)
    yield
    assert [thread for thread in threads if isValid(thread) and thread.isRunning()] == []
    if set(_widgets()) - widgets:
        gc.collect()  # pyqtgraph's items hold each other in circles
    assert set(_widgets()) - widgets == set()
    assert (sys.excepthook, threading.excepthook) == hooks


def _widgets():
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return QApplication.allWidgets()


@pytest.fixture
def dispatcher(qapp):
    dispatcher = Dispatcher("test")
    yield dispatcher
    assert dispatcher.shutdown()


@pytest.fixture
def settings(tmp_path):
    return Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # where the log file goes once it is installed
    return ErrorReport()


@pytest.fixture
def window(qtbot, settings, report):
    """The real window, without a model; an error dialog that is still open fails the test."""
    apply_theme(dark=False)
    window = MainWindow(settings, report)
    window.show()
    qtbot.waitExposed(window)
    yield window
    dialogs = [each.text() for each in window.findChildren(ErrorDialog) if each.isVisible()]
    window.close()
    ended = window.shutdown()
    window.deleteLater()
    assert ended
    assert dialogs == []


@pytest.fixture
def settles(qtbot, window):
    """A ``with`` block that ends when everything asked for in it is on the screen."""
    return partial(qtbot.waitSignal, window.settled, timeout=PATIENCE)


@pytest.fixture
def open_net(window, settles, tmp_path):
    """Write a script whose ``build`` makes a net, open it in the window, and return the net."""

    def open_net(source, given="noise:1x1x3x5", at=""):
        file = tmp_path / "net.py"
        file.write_text("import torch\nfrom torch import nn\n" + dedent(source))
        with settles():
            window.conductor.open_model(f"{file}:build", given, at)
        return window.workspace.opened.loaded.model

    return open_net


@pytest.fixture
def click_node(qtbot, window, settles):
    """Click a row of the model tree and wait until it is on the screen everywhere."""

    def click_node(path):
        tree = window.tree
        index = tree.view.model().mapFromSource(tree.view.model().sourceModel().index_of(path))
        tree.view.scrollTo(index)
        place = tree.view.visualRect(index).center()
        with settles():
            qtbot.mouseClick(tree.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert window.workspace.path == path

    return click_node


@pytest.fixture
def maps(window):
    return window.area.panels["feature-maps"]


@pytest.fixture
def gradients(window):
    return window.area.panels["gradients"]


@pytest.fixture
def filters(window):
    return window.area.panels["filters"]


class Mouse:
    """Moves over, clicks and scrolls the window that a picture is in."""

    def place(self, view, x, y):
        """Return where in the window a place of the picture is painted."""
        return view.mapTo(view.window(), view.position_of(x, y).toPoint())

    def move(self, view, x, y):
        QTest.mouseMove(view.window().windowHandle(), self.place(view, x, y))

    def click(self, view, x, y):
        self._press(QTest.mouseClick, view, x, y)

    def double_click(self, view, x, y):
        self._press(QTest.mouseDClick, view, x, y)

    def wheel(self, view, x, y, turns):
        # Unlike the others, QTest.wheelEvent wants pixels of the screen (Qt 6.11).
        place = QPointF(self.place(view, x, y)) * view.devicePixelRatioF()
        QTest.wheelEvent(view.window().windowHandle(), place, QPoint(0, 120 * turns))

    def _press(self, how, view, x, y):
        none = Qt.KeyboardModifier.NoModifier
        how(view.window().windowHandle(), Qt.MouseButton.LeftButton, none, self.place(view, x, y))


@pytest.fixture
def mouse():
    return Mouse()
