"""The examples in the help menu."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from hookviewer import resources
from hookviewer.gui.examples import EXAMPLES
from hookviewer.gui.target_choice import TargetChoice, TargetKind

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


@pytest.fixture
def open_example(qtbot, window, settles):
    """Open an example as a user does: Help, Examples, its entry, with the mouse."""

    def click(menu, action):
        place = menu.actionGeometry(action).center()
        qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=place)

    def open_example(name):
        (wanted,) = (menu for menu in window.findChildren(QMenu) if menu.objectName() == "examples")
        (help_menu,) = (menu for menu in window.findChildren(QMenu) if menu.objectName() == "help")
        help_menu.popup(window.mapToGlobal(QPoint(0, 0)))
        qtbot.waitUntil(help_menu.isVisible)
        click(help_menu, wanted.menuAction())
        qtbot.waitUntil(wanted.isVisible)
        with settles():
            click(wanted, window.actions_by_name[name])

    return open_example


@pytest.fixture
def shown(window, click_node, maps, gradients):
    """Return the values and the gradients that the panels show at a node."""

    def shown(path):
        if window.workspace.path != path:
            click_node(path)
        return [panel.picture.stack.values.ravel().tolist() for panel in (maps, gradients)]

    return shown


def test_plain_tensors_show_the_values_and_gradients_between_them(window, open_example, shown):
    open_example("example_tensors")
    assert window.workspace.path == "/add"
    assert window.tools.target_chooser.currentText() == "whole output"
    assert shown("/add") == [[4, 6], [2, 2]]
    assert shown("/mul") == [[8, 12], [1, 1]]
    assert shown("/sum") == [[20], [1]]


def test_the_inspector_reads_each_number_of_a_vector(qtbot, window, open_example, maps):
    open_example("example_tensors")
    texts = {}
    for tile in range(2):
        maps.pick(tile)
        qtbot.waitUntil(lambda tile=tile: f"feature {tile}" in window.inspector.heading.text())
        texts[tile] = window.inspector.values["range"].text()
    assert texts == {0: "4 … 4", 1: "6 … 6"}


def test_the_leaves_are_written_where_the_input_is_shown(window, open_example):
    open_example("example_tensors")
    assert window.input_view.caption.text().splitlines() == [
        "tensors.py:inputs",
        "input:0 = 1, 2  (float32)",
        "input:1 = 3, 4  (float32)",
        "input:2 = 2  (float32)",
    ]
    assert not window.input_view.thumbnail.isVisible()


def test_the_small_cnn_opens_at_its_second_convolution_with_its_loss(
    window, open_example, maps, gradients, filters
):
    open_example("example_small_cnn")
    assert window.workspace.path == "conv2"
    assert window.tools.target_chooser.currentText() == "cross entropy, class 3"
    assert maps.picture.request.capture.tensor.shape == (1, 9, 16, 16)
    assert gradients.picture.request.capture.tensor.shape == (1, 9, 16, 16)
    assert filters.picture.request.capture.tensor.shape == (9, 6, 3, 3)
    assert gradients.picture.stack.values.any()
    assert window.input_view.thumbnail.isVisible()


def test_a_picture_after_an_example_is_shown_as_a_picture(window, open_example, settles):
    open_example("example_tensors")
    open_example("example_small_cnn")
    assert window.input_view.thumbnail.isVisible()
    assert window.input_view.caption.text().endswith("input:0  1×3×32×32  float32")


def test_an_example_that_is_missing_is_a_sentence(window, monkeypatch, tmp_path):
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "hookviewer" / "resources.py"))
    window.actions_by_name["example_tensors"].trigger()
    assert "resources/examples/tensors.py is missing" in window.area.message_bar.label.text()


def test_each_example_is_an_action_of_the_table(window):
    assert {name for name in window.actions_by_name if name.startswith("example_")} == {*EXAMPLES}


def test_the_loss_against_a_label_is_a_target():
    assert TargetChoice.loss(3) == TargetChoice(TargetKind.LOSS, 3)
    assert TargetChoice.loss(3) != TargetChoice.of_class(3)
