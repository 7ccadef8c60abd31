import sys
import threading

import pytest
from PySide6.QtCore import Qt

from hookviewer.engine.cancel import CancelToken
from hookviewer.gui import model_tasks
from hookviewer.gui.widgets.error_dialog import ErrorDialog

NET = """
import threading

begun, gate = threading.Event(), threading.Event()
gate.set()


def wait():
    begun.set()
    gate.wait(20)


class Wait(nn.Module):
    def forward(self, x):
        wait()
        return x


class Slowly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if backward_waits:
            wait()
        return gradient


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 2, 1)
        self.wait = Wait()
        self.last = nn.Conv2d(2, 3, 1)

    def forward(self, x):
        y = self.first(x)
        y = Slowly.apply(y) if backward_waits else self.wait(y)
        return self.last(y).mean((2, 3))


build = Net
"""


@pytest.fixture(params=["forward", "backward"])
def where(request):
    return request.param


@pytest.fixture
def net(open_net, where):
    """A model that may be held up in its forward or its backward; it has run once."""
    return open_net(NET + f"backward_waits = {where == 'backward'}", at="last")


@pytest.fixture
def script(net):
    """The model's script, with its two events. Whatever happens, nothing waits on."""
    script = sys.modules[type(net).__module__]
    yield script
    script.gate.set()


@pytest.fixture
def hold(qtbot, window, script):
    """Return a function that selects a node and comes back when its run waits at the gate."""

    def hold(path):
        script.begun.clear()
        script.gate.clear()
        window.workspace.select(path)
        qtbot.waitUntil(script.begun.is_set)

    return hold


def hooks_on(net):
    return sum(
        len(hooks)
        for module in net.modules()
        for hooks in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    )


def panels(window):
    return window.area.panels.values()


def test_stop_ends_a_run_and_the_panels_say_so(qtbot, window, net, script, hold):
    hold("first")
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.busy
    assert window.status.text == "stopped"
    for panel in panels(window):
        assert panel.view.message.startswith("not run (stopped)")
    assert window.inspector.view.pixels is None


def test_the_window_is_usable_after_a_stop(window, net, script, hold, settles, maps):
    hold("first")
    window.conductor.stop()
    script.gate.set()
    with settles():
        window.workspace.select("last")
    assert maps.picture.request.capture.tap.path == "last"
    with settles():
        window.workspace.select("first")
    assert all(panel.picture is not None for panel in panels(window))
    assert hooks_on(net) == 0


def test_a_stopped_run_never_answers(qtbot, window, net, script, hold):
    hold("first")
    window.conductor.stop()
    stopped = window.workspace.run
    script.gate.set()
    done = []
    window.models.submit("after", lambda _: None, done.append, pytest.fail)
    qtbot.waitUntil(lambda: done == [None])
    assert window.workspace.run is stopped
    assert hooks_on(net) == 0


def test_a_new_selection_supersedes_the_run(window, net, script, hold, settles, maps):
    hold("first")
    shown = []
    window.workspace.run_changed.connect(lambda: shown.append(window.workspace.run))
    with settles():
        window.workspace.select("last")
        script.gate.set()
    assert [{tap.path for tap in run.taps} for run in shown] == [{"last"}]
    assert maps.picture.request.capture.tap.path == "last"


def test_a_run_that_has_ended_meanwhile_is_not_taken_for_the_new_one(
    window, net, script, hold, settles
):
    hold("first")
    shown, ended = [], threading.Event()
    window.workspace.run_changed.connect(lambda: shown.append(window.workspace.run))
    window.models.submit("after", lambda _: ended.set(), lambda _: None, pytest.fail)
    script.gate.set()
    assert ended.wait(10)  # the run's answer waits for this thread to read it
    with settles():
        window.workspace.select("last")
    assert [{tap.path for tap in run.taps} for run in shown] == [{"last"}]


def test_a_second_run_supersedes_the_first(qtbot, window, net, script, hold, settles):
    hold("first")
    shown = []
    window.workspace.run_changed.connect(lambda: shown.append(window.workspace.run))
    with settles():
        qtbot.keyClick(window, Qt.Key.Key_F5)
        qtbot.keyClick(window, Qt.Key.Key_F5)
        script.gate.set()
    assert len(shown) == 1
    assert all(panel.picture is not None for panel in panels(window))


def test_closing_during_a_run_ends_it(window, net, script, hold, monkeypatch):
    hold("first")
    before, cancel, was_visible = window.workspace.run, CancelToken.cancel, []

    def cancel_and_go_on(token):
        was_visible.append(window.isVisible())
        cancel(token)
        script.gate.set()

    monkeypatch.setattr(CancelToken, "cancel", cancel_and_go_on)
    window.close()
    assert was_visible == [False]
    assert window.models._thread.isFinished()
    assert window.pictures._thread.isFinished()
    assert window.workspace.run is before
    assert hooks_on(net) == 0


def test_a_run_that_takes_long_says_that_it_is_running(qtbot, window, net, script, hold, maps):
    hold("first")
    assert window.actions_by_name["stop"].isEnabled()
    assert window.status._bar.isVisible()
    assert window.status.text == "running …"
    qtbot.waitUntil(lambda: maps.view.message == "running …")
    assert window.inspector.view.pixels is None
    script.gate.set()
    qtbot.waitUntil(lambda: not window.busy)
    assert not window.actions_by_name["stop"].isEnabled()
    assert not window.status._bar.isVisible()
    assert window.status.text.startswith("ready · forward ")


@pytest.mark.parametrize("where", ["forward"], indirect=True)
def test_a_stop_before_the_run_has_begun_is_a_stop_too(window, net, maps):
    window.workspace.select("first")
    window.conductor.stop()
    assert maps.view.message.startswith("not run (stopped)")


@pytest.mark.parametrize("where", ["forward"], indirect=True)
def test_the_window_answers_while_a_model_runs(qtbot, window, net, script, hold, maps):
    hold("first")
    qtbot.keyClick(maps.scale_chooser, Qt.Key.Key_Down)
    qtbot.keyClicks(window.tree.filter_edit, "last")
    assert window.tree.view.model().rowCount() == 1
    assert not script.gate.is_set()


@pytest.mark.parametrize("where", ["forward"], indirect=True)
def test_pictures_do_not_wait_for_a_forward(qtbot, window, net, script, hold):
    hold("first")
    answered = []
    window.pictures.submit("mine", lambda _: threading.get_ident(), answered.append, pytest.fail)
    qtbot.waitUntil(lambda: bool(answered))
    assert not script.gate.is_set()
    assert answered[0] != threading.get_ident()


@pytest.mark.parametrize("where", ["forward"], indirect=True)
def test_stopping_while_a_model_is_opened_keeps_the_one_that_is_open(
    qtbot, window, net, script, hold, settles, tmp_path
):
    other = tmp_path / "other.py"
    other.write_text(
        f"import sys\nscript = sys.modules[{script.__name__!r}]\n"
        "script.wait()\nfrom torch.nn import ReLU as build"
    )
    script.begun.clear()
    script.gate.clear()
    window.conductor.open_model(f"{other}:build")
    qtbot.waitUntil(script.begun.is_set)
    window.conductor.stop()
    script.gate.set()
    with settles():
        window.workspace.select("first")
    assert window.workspace.opened.loaded.model is net
    assert window.findChildren(ErrorDialog) == []


@pytest.mark.parametrize("where", ["forward"], indirect=True)
def test_stopping_while_an_input_is_read_is_said_in_the_panels(
    qtbot, window, net, script, settles, maps, monkeypatch
):
    read = model_tasks.open_input

    def slowly(*arguments):
        script.wait()
        return read(*arguments)

    monkeypatch.setattr(model_tasks, "open_input", slowly)
    script.begun.clear()
    script.gate.clear()
    window.conductor.open_model(window.workspace.opened.loaded.spec)
    qtbot.waitUntil(script.begun.is_set)
    window.conductor.stop()
    assert maps.view.message.startswith("not run (stopped)")
    script.gate.set()
    with settles():
        window.conductor.open_input("noise:1x1x2x2")
    assert maps.picture is not None
