"""The operations between the modules, in the window."""

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt

from hookviewer.engine.plan import Tap
from hookviewer.gui.target_choice import TargetChoice, TargetKind

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.conv(x)
        out += x
        return self.relu(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        x = torch.tanh(self.second(self.first(x)))
        if x.shape[-1] == 5:
            x = torch.sin(torch.sin(x))
        return x.flatten(1) if not self.training else x.flatten(1).exp()


def build():
    net = Net().eval()
    for parameter in net.parameters():
        nn.init.constant_(parameter, 0.5)
    return net
"""
FUNCTION = """
def build():
    return lambda x: (x * x).sum() + 1
"""


@pytest.fixture
def rows(window):
    """Return the texts of the row of a path: name, type, output, parameters."""

    def rows(path):
        tree = window.tree.view.model().sourceModel()
        return [tree.index_of(path, column).data() for column in range(4)]

    return rows


@pytest.fixture
def shown(window):
    """Return the paths of the rows in view, from top to bottom."""

    def shown():
        view, paths = window.tree.view, []
        index = view.model().index(0, 0)
        while index.isValid():
            paths.append(index.data(Qt.ItemDataRole.UserRole))
            index = view.indexBelow(index)
        return paths

    return shown


def test_operations_stand_below_their_modules_with_the_shapes_of_what_they_gave(
    open_net, rows, shown
):
    open_net(BLOCK)
    first = ["first", "first.conv", "first.relu", "first/add_"]
    second = ["second", "second.conv", "second.relu", "second/add_"]
    assert shown() == ["", *first, *second, "/tanh", "/sin", "/flatten"]
    assert rows("first/add_") == ["add_", "operation", "1×1×3×5", ""]
    assert rows("/sin") == ["sin", "operation", "1×1×3×5 (×2)", ""]
    assert rows("/flatten")[2] == "1×15"


def test_a_click_on_an_operation_shows_its_value_and_its_gradient(
    window, open_net, click_node, maps, gradients
):
    net = open_net(BLOCK)
    click_node("first/add_")
    given = window.workspace.input.inputs.args[0]
    added = (net.first.conv(given) + given).detach().requires_grad_()
    output = net.second(torch.relu(added))
    torch.sin(torch.sin(torch.tanh(output))).flatten(1).max().backward()
    np.testing.assert_array_equal(maps.picture.stack.values, added[0].detach())
    assert maps.picture.stack.axes == ("channel",)
    np.testing.assert_allclose(gradients.picture.stack.values, added.grad[0], rtol=1e-5)
    assert gradients.picture.stack.values.any()


def test_an_operations_name_stands_above_the_panels_with_the_line_that_calls_it(
    window, open_net, click_node
):
    open_net(BLOCK)
    click_node("second/add_")
    assert window.area.header.label.text() == "second/add_"
    assert window.area.header.note.text() == "operation · 1 × 1 × 3 × 5 · net.py:12"


def test_each_call_of_an_operation_can_be_looked_at(qtbot, window, open_net, click_node, maps):
    open_net(BLOCK)
    click_node("/sin")
    first = maps.picture.stack.values
    chooser = window.area.header.call_chooser
    assert [chooser.itemText(row) for row in range(chooser.count())] == ["call 0", "call 1"]
    chooser.setFocus()
    qtbot.keyClick(chooser, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: maps.picture.request.capture.call == 1)
    np.testing.assert_allclose(maps.picture.stack.values, np.sin(first), rtol=1e-5)


def test_a_filter_finds_operations(qtbot, window, open_net, shown):
    open_net(BLOCK)
    qtbot.keyClicks(window.tree.filter_edit, "add_")
    assert shown() == ["", "first", "first/add_", "second", "second/add_"]


def test_an_operation_that_the_new_input_does_not_meet_was_not_called(
    window, open_net, settles, maps, rows
):
    open_net(BLOCK, at="/sin")
    with settles():
        window.conductor.open_input("noise:1x1x3x4")
    assert window.workspace.path == "/sin"
    assert window.tree.view.currentIndex().data(Qt.ItemDataRole.UserRole) == "/sin"
    assert maps.view.message.startswith("not called")
    assert rows("/sin")[2] == "not called"
    assert rows("/tanh")[2] == "1×1×3×4"
    with settles():
        window.conductor.open_input("noise:1x1x3x5")
    assert maps.picture is not None


def test_another_mode_may_have_other_operations(qtbot, window, open_net, settles, shown):
    open_net(BLOCK)
    assert "/exp" not in shown()
    window.tools.mode_chooser.setFocus()
    with settles():
        qtbot.keyClick(window.tools.mode_chooser, Qt.Key.Key_Down)
    assert shown()[-4:] == ["/tanh", "/sin", "/flatten", "/exp"]


def test_a_run_with_the_same_input_looks_for_no_operations(window, open_net, click_node):
    open_net(BLOCK)
    click_node("first.relu")
    assert window.workspace.run.operations == ()
    assert not window.workspace.plan().survey


def test_an_operation_can_be_named_when_the_model_is_opened(window, open_net, maps):
    open_net(BLOCK, at="second/add_")
    assert window.workspace.path == "second/add_"
    assert window.tree.view.currentIndex().data(Qt.ItemDataRole.UserRole) == "second/add_"
    assert maps.picture is not None


@pytest.mark.parametrize("path", ["first/sub", "third/add_", "first.conv.weight/add"])
def test_an_operation_that_there_is_not_is_answered_with_near_ones(window, open_net, path):
    open_net(BLOCK, at=path)
    assert window.workspace.path == "first.conv"
    sentence = window.area.message_bar.label.text()
    assert window.area.message_bar.isVisible()
    assert f"'{path}'" in sentence


def test_a_near_operation_is_named(window, open_net):
    open_net(BLOCK, at="first/ad")
    assert "first/add_" in window.area.message_bar.label.text()


def test_a_function_has_operations_under_its_root(
    window, open_net, click_node, rows, shown, maps, gradients
):
    open_net(FUNCTION, given="noise:1x1x2x2")
    assert shown() == ["", "/mul", "/sum", "/add"]
    assert rows("/add") == ["add", "operation", "scalar", ""]
    assert not window.area.message_bar.isVisible()  # its output is the target
    click_node("/mul")
    given = window.workspace.input.inputs.args[0]
    np.testing.assert_array_equal(maps.picture.stack.values, (given * given)[0])
    assert gradients.picture.stack.values.tolist() == [[[1, 1], [1, 1]]]


def test_a_function_is_surveyed_once(window, open_net, click_node):
    open_net(FUNCTION, given="noise:1x1x2x2")
    click_node("/sum")
    assert window.workspace.run.operations == ()
    assert window.workspace.shapes[""] == ((),)


def test_only_operations_in_modules_can_be_selected(window, open_net):
    open_net(BLOCK)
    before = window.workspace.path
    for path in ("nowhere/add", "first.conv.weight/add"):
        window.workspace.select(path)
    assert window.workspace.path == before


def test_what_an_operation_does_not_have_is_said(window, open_net, click_node, filters):
    open_net(BLOCK)
    click_node("/tanh")
    assert filters.view.message == "no tensors\n\nThis node has no parameters."
    assert Tap("/tanh", filters.quantity) in window.workspace.run.taps


def test_on_another_device_the_operation_and_the_target_stay(window, open_net, click_node, settles):
    open_net(BLOCK)
    click_node("first/add_")
    whole = TargetChoice(TargetKind.WHOLE)
    with settles():
        window.workspace.set_target(whole)
    with settles():
        window.conductor.set_device("meta")  # where nothing can be run
    assert window.workspace.opened.device == "meta"
    assert (window.workspace.path, window.workspace.target) == ("first/add_", whole)


def test_a_function_is_not_put_on_a_device(qtbot, window, open_net, settles):
    open_net(FUNCTION, given="noise:1x1x2x2")
    with settles():
        window.conductor.set_device("meta")
    assert window.workspace.opened.device == "cpu"
    qtbot.waitUntil(lambda: window.workspace.run is not None)


def test_a_forward_that_fails_shows_the_operations_until_then_without_shapes(
    window, open_net, rows
):
    open_net(BLOCK.replace("self.first(x)))", "self.first(x)), 3)"))
    assert window.area.message_bar.isVisible()
    assert rows("first/add_") == ["add_", "operation", "", ""]


def test_a_single_number_is_called_a_scalar(window, open_net, click_node, maps):
    open_net(FUNCTION, given="noise:1x1x2x2")
    click_node("/sum")
    assert " · scalar · " in window.area.header.note.text()
    assert maps.caption.text().startswith("scalar · float32")
