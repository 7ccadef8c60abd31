import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt

from hookviewer.gui.target_choice import TargetChoice, TargetKind

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # a list that pops up

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(1, 2, 2)
        self.head = nn.Linear(16, 6)

    def forward(self, x):
        return self.head(self.body(x).tanh().flatten(1))


def build():
    torch.manual_seed(0)
    return Net().eval()
"""
ONE_NUMBER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(1, 2, 2)

    def forward(self, x):
        return self.body(x).square().sum()


build = Net
"""
CLASS_NAMES = ("ant", "bee", "cat", "dog", "eel", "fox")


@pytest.fixture
def chooser(window):
    return window.tools.target_chooser


@pytest.fixture
def net(window, open_net):
    return open_net(NET, at="body")


@pytest.fixture
def expected(net):
    """Return a function: the gradient at ``body`` of a function of the six scores."""

    def expected(score):
        body = net.body(torch.randn(1, 1, 3, 5, generator=torch.Generator().manual_seed(0)))
        scores = net.head(body.tanh().flatten(1))
        return torch.autograd.grad(score(scores[0]), body)[0][0].numpy()

    return expected


@pytest.fixture
def shown(gradients):
    """Return a function that compares the panel with gradients computed elsewhere."""

    def shown(expected):
        np.testing.assert_allclose(gradients.picture.stack.values, expected, rtol=1e-4, atol=1e-7)

    return shown


@pytest.fixture
def choose(qtbot, chooser, settles):
    """Return a function that goes to a row of the chooser by arrow keys; -1 is the last one."""

    def choose(row):
        steps = row % chooser.count() - chooser.currentIndex()
        with settles():
            for _ in range(abs(steps)):
                qtbot.keyClick(chooser, Qt.Key.Key_Down if steps > 0 else Qt.Key.Key_Up)

    return choose


@pytest.fixture
def type_target(qtbot, chooser):
    """Return a function that types into the chooser, and Return."""

    def type_target(text):
        chooser.lineEdit().selectAll()
        qtbot.keyClicks(chooser.lineEdit(), text)
        qtbot.keyClick(chooser.lineEdit(), Qt.Key.Key_Return)

    return type_target


def ranking(window):
    return [index for index, _, _ in window.workspace.predictions]


def test_the_top_class_is_the_target_at_first(window, net, chooser, expected, shown):
    assert window.workspace.target == TargetChoice()
    assert chooser.currentText().startswith(f"top class: class {ranking(window)[0]} 0.")
    shown(expected(torch.max))


def test_predictions_are_the_likeliest_classes(window, net):
    x = torch.randn(1, 1, 3, 5, generator=torch.Generator().manual_seed(0))
    best = net(x)[0].double().softmax(0).topk(5)
    rows = [
        [window.predictions.table.model().index(row, column).data() for column in (0, 1)]
        for row in range(5)
    ]
    assert rows == [
        [f"class {index}", f"{value:.3f}"]
        for value, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]


def test_a_click_on_a_prediction_makes_it_the_target(
    qtbot, window, net, settles, chooser, expected, shown
):
    table, third = window.predictions.table, ranking(window)[2]
    place = table.visualRect(table.model().index(2, 1)).center()
    with settles():
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    shown(expected(lambda scores: scores[third]))
    assert chooser.currentText().startswith(f"class {third} ")
    assert [index.row() for index in table.selectionModel().selectedRows()] == [2]


def test_return_on_a_prediction_makes_it_the_target(qtbot, window, net, settles, expected, shown):
    table, second = window.predictions.table, ranking(window)[1]
    table.setCurrentIndex(table.model().index(1, 0))
    with settles():
        qtbot.keyClick(table, Qt.Key.Key_Return)
    shown(expected(lambda scores: scores[second]))


def test_the_whole_output_can_be_the_target(net, chooser, expected, shown, choose):
    choose(-1)
    assert chooser.currentText() == "whole output"
    shown(expected(torch.sum))


def test_the_target_can_be_typed_as_an_index(
    window, net, settles, chooser, expected, shown, type_target
):
    least = (set(range(6)) - set(ranking(window))).pop()  # not in the list
    with settles():
        type_target(str(least))
    shown(expected(lambda scores: scores[least]))
    assert chooser.currentText() == f"class {least}"


def test_the_target_can_be_typed_as_a_name(net, settles, chooser, expected, shown, type_target):
    chooser.show_classes(CLASS_NAMES)
    with settles():
        type_target("CAT")
    shown(expected(lambda scores: scores[2]))


def test_a_part_of_a_name_is_enough_if_only_one_has_it(net, settles, chooser, type_target):
    chooser.show_classes(CLASS_NAMES)
    with settles():
        type_target("oG")
    assert chooser.currentData() == TargetChoice.of_class(3)


def test_a_part_of_several_names_is_answered_with_them(window, net, chooser, type_target):
    chooser.show_classes(CLASS_NAMES)
    type_target("e")
    assert window.area.message_bar.label.text() == (
        "'e' is in 2 classes: bee, eel; choose one of them."
    )


def test_a_part_of_a_name_offers_the_names_that_have_it(qtbot, window, net, settles, chooser):
    chooser.show_classes(CLASS_NAMES)
    window.activateWindow()
    chooser.setFocus()
    qtbot.waitUntil(chooser.lineEdit().hasFocus)
    chooser.lineEdit().selectAll()
    qtbot.keyClicks(chooser.lineEdit(), "o")
    popup = chooser.completer().popup()
    assert popup.isVisible()
    with settles():
        for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Return):
            qtbot.keyClick(popup, key)
    assert chooser.currentData() == TargetChoice.of_class(5)  # dog, then fox


def test_nonsense_is_answered_with_a_sentence_and_changes_nothing(
    window, net, chooser, type_target
):
    run, text = window.workspace.run, chooser.currentText()
    type_target("unicorn")
    assert window.area.message_bar.isVisible()
    assert window.area.message_bar.label.text() == (
        "There is no class 'unicorn'; choose one from the list."
    )
    assert chooser.currentText() == text
    assert window.workspace.run is run


def test_the_sentence_goes_when_a_target_is_chosen(window, net, choose, type_target):
    type_target("unicorn")
    choose(-1)
    assert not window.area.message_bar.isVisible()


def test_a_class_that_the_output_does_not_have_is_answered_with_those_it_has(
    window, net, settles, maps, gradients, choose, type_target
):
    with settles():
        type_target("99")
    assert window.area.message_bar.label.text() == (
        "This output has classes 0 to 5; 99 is not among them."
    )
    assert maps.picture is not None  # the forward was all right
    assert gradients.picture is None
    choose(0)
    assert not window.area.message_bar.isVisible()
    assert gradients.picture is not None


def test_an_output_of_one_number_has_no_top_class_but_can_be_taken_whole(
    window, open_net, maps, gradients, choose
):
    net = open_net(ONE_NUMBER, at="body")
    assert "single number" in window.area.message_bar.label.text()
    assert maps.picture is not None
    choose(-1)
    body = net.body(torch.randn(1, 1, 3, 5, generator=torch.Generator().manual_seed(0)))
    np.testing.assert_allclose(
        gradients.picture.stack.values, 2 * body[0].detach().numpy(), rtol=1e-5
    )
    assert not window.area.message_bar.isVisible()


def test_another_model_begins_with_its_top_class(window, net, chooser, open_net, choose):
    choose(-1)
    open_net(NET)
    assert window.workspace.target.kind is TargetKind.TOP_CLASS
    assert chooser.currentText().startswith("top class: ")


def test_without_a_target_panel_another_target_needs_no_backward(window, net, choose):
    window.area.docks["gradients"].close()
    choose(-1)
    assert window.workspace.run.timings.backward is None
