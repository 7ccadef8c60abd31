import sys
import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer, qInstallMessageHandler, qWarning
from PySide6.QtGui import QGuiApplication
from torch import nn

from hookviewer.engine.errors import HookviewerError
from hookviewer.gui import picture_desk
from hookviewer.gui.error_report import ErrorReport, log_path
from hookviewer.gui.widgets.error_dialog import ErrorDialog

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

BREAKS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(1, 2, 2)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


build = Net
"""
EXITS = """
import sys


class Net(nn.Module):
    def forward(self, x):
        sys.exit(3)


build = Net
"""


@pytest.fixture
def installed(report):
    report.install()
    yield report
    report.uninstall()


@pytest.fixture
def dialogs(qtbot, window, installed):
    """Return a function that waits for error dialogs and gives them; they are closed at last."""

    def dialogs():
        qtbot.waitUntil(lambda: bool(window.findChildren(ErrorDialog)))
        return window.findChildren(ErrorDialog)

    yield dialogs
    for dialog in window.findChildren(ErrorDialog):
        dialog.close()


def break_down():
    raise ValueError("a slot broke down")


def test_an_exception_in_a_slot_reaches_the_user(dialogs):
    QTimer.singleShot(0, break_down)
    (dialog,) = dialogs()
    assert dialog.isVisible()
    assert not dialog.isModal() or dialog.windowModality() is Qt.WindowModality.WindowModal
    assert dialog.text() == (
        "Something went wrong inside hookviewer: ValueError: a slot broke down"
    )


def test_an_exception_in_a_thread_reaches_the_user(dialogs):
    thread = threading.Thread(target=break_down)
    thread.start()
    thread.join()
    (dialog,) = dialogs()
    assert "ValueError: a slot broke down" in dialog.text()


def test_an_exception_in_the_model_worker_reaches_the_user(window, dialogs, monkeypatch):
    monkeypatch.setattr(
        "hookviewer.gui.model_tasks.load", lambda *_, **__: break_down(), raising=False
    )
    window.conductor.open_model("demo")
    (dialog,) = dialogs()
    assert "ValueError: a slot broke down" in dialog.text()
    assert not window.busy


def test_an_exception_in_the_picture_worker_reaches_the_user_and_the_panel(
    window, open_net, dialogs, maps, monkeypatch
):
    monkeypatch.setattr(picture_desk, "build_picture", lambda *_: break_down())
    open_net(BREAKS)
    assert "ValueError" in dialogs()[0].text()
    assert not window.busy
    assert maps.view.message.startswith("Something went wrong")


def test_a_model_that_ends_the_process_does_not_end_ours(window, open_net, dialogs):
    open_net(EXITS)
    assert not window.busy
    told = [dialog.text() for dialog in window.findChildren(ErrorDialog)]
    told.append(window.area.message_bar.label.text())
    assert "3" in " ".join(told)


def test_copy_details_copies_the_sentence_and_the_traceback_and_leaves_the_dialog(qtbot, dialogs):
    QTimer.singleShot(0, break_down)
    (dialog,) = dialogs()
    qtbot.mouseClick(dialog.copy_button, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(dialog.text())
    assert "Traceback (most recent call last):" in copied
    assert "in break_down" in copied
    assert dialog.isVisible()


def test_everything_is_in_the_log_file(dialogs, tmp_path):
    assert tmp_path in log_path().parents  # not the user's
    QTimer.singleShot(0, break_down)
    dialogs()
    text = log_path().read_text()
    assert "ERROR Something went wrong inside hookviewer: ValueError: a slot broke down" in text
    assert "in break_down" in text


def test_an_error_for_the_user_is_in_the_log_file_with_its_details(installed):
    error = HookviewerError("No such cat.")
    error.details = "It left by the window."
    installed.report(error)
    assert "WARNING No such cat.\nIt left by the window." in log_path().read_text()


def test_qts_own_messages_go_to_the_log_file(installed):
    qWarning("a pixel is missing")
    assert "Qt: a pixel is missing" in log_path().read_text()


def test_the_same_error_again_and_again_is_one_dialog(qtbot, window, dialogs):
    for _ in range(30):
        QTimer.singleShot(0, break_down)
    dialogs()
    qtbot.waitUntil(lambda: log_path().read_text().count("in break_down") == 30)
    assert len(dialogs()) == 1


def test_uninstalling_gives_every_hook_back(report):
    seen = []
    before = sys.excepthook, threading.excepthook
    old = qInstallMessageHandler(lambda *message: seen.append(message[2]))
    report.install()
    report.uninstall()
    qWarning("is ours again")
    qInstallMessageHandler(old)
    assert (sys.excepthook, threading.excepthook) == before
    assert seen == ["is ours again"]


def test_a_home_that_cannot_be_written_to_costs_only_the_log(tmp_path, monkeypatch, qtbot):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    report = ErrorReport()
    report.install()
    with qtbot.waitSignal(report.reported) as told:
        report.report(ValueError("still told"))
    report.uninstall()
    assert "still told" in told.args[0]


def test_a_failing_forward_names_the_module_and_keeps_the_maps_before_it(
    window, open_net, maps, gradients
):
    net = open_net(BREAKS, at="body")
    bar = window.area.message_bar
    assert bar.isVisible()
    sentence = bar.label.text()
    assert sentence.startswith("The model stopped in 'head' (Linear), which was given 1 × 16: ")
    assert "mat1 and mat2 shapes" in sentence
    given = window.workspace.input.inputs.args[0]
    np.testing.assert_array_equal(maps.picture.stack.values, net.body(given)[0].detach())
    assert gradients.view.message.startswith("not run (stopped)")
    assert window.findChildren(ErrorDialog) == []


def test_the_bar_has_the_traceback_behind_a_button(qtbot, window, open_net, dialogs):
    open_net(BREAKS, at="body")
    qtbot.mouseClick(window.area.message_bar.details_button, Qt.MouseButton.LeftButton)
    (dialog,) = dialogs()
    assert "net.py" in dialog.detailedText()
    assert "in forward" in dialog.detailedText()


def test_the_bar_can_be_closed(qtbot, window, open_net):
    open_net(BREAKS)
    bar = window.area.message_bar
    (close,) = (b for b in bar.children() if getattr(b, "text", str)() == "Close")
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert not bar.isVisible()


def test_the_bar_goes_when_the_forward_is_right_again(window, open_net, settles, maps):
    open_net(BREAKS, at="body")
    with settles():
        window.conductor.open_input("noise:1x1x2x2")  # still wrong: 2 features
    assert window.area.message_bar.isVisible()
    assert "1 × 2" in window.area.message_bar.label.text()
    window.workspace.opened.loaded.model.head = nn.Linear(2, 3)
    with settles():
        window.conductor.run()
    assert not window.area.message_bar.isVisible()
    assert maps.picture is not None


def test_a_failing_forward_leaves_no_predictions_of_another_input(window, open_net, settles):
    open_net(BREAKS.replace("(5, 3)", "(16, 3)"), at="body")
    assert window.workspace.predictions
    with settles():
        window.conductor.open_input("noise:1x1x9x9")
    assert window.area.message_bar.isVisible()
    assert window.workspace.predictions == ()
    assert window.workspace.shapes == {}
    index = window.tree.view.model().sourceModel().index_of("head", 2)
    assert index.data() == ""
