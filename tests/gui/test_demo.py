"""The window on the built-in model and pictures."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

LIKELIEST = {  # measured once with torchvision's own transforms
    "cat": [("Egyptian cat", 0.717), ("tiger cat", 0.147), ("tabby", 0.130)],
    "coffee": [("espresso", 0.992)],
    "camera": [("tripod", 0.978)],
}


@pytest.fixture
def demo(window, settles):
    with settles():
        window.conductor.open_model("demo", "demo")
    return window


def test_the_built_in_pictures_are_what_the_built_in_model_sees(qtbot, demo, settles):
    buttons = {button.text(): button for button in demo.input_view.findChildren(QToolButton)}
    for name in ("coffee", "camera", "cat"):
        with settles():
            qtbot.mouseClick(buttons[name], Qt.MouseButton.LeftButton)
        expected = [(text, pytest.approx(value, abs=0.005)) for text, value in LIKELIEST[name]]
        found = [(text, value) for _, text, value in demo.workspace.predictions]
        assert found[: len(expected)] == expected


def test_the_first_convolution_is_shown_in_every_panel(demo, maps, gradients, filters):
    net = demo.workspace.opened.loaded.model
    conv, picture = net.features[0][0], demo.workspace.input.inputs.args[0]
    assert demo.workspace.path == "features.0.0"
    np.testing.assert_array_equal(maps.picture.stack.values, conv(picture)[0].detach())
    assert filters.picture.stack.is_color
    assert gradients.picture.stack.count == 32
    assert len(np.unique(gradients.view.pixels)) > 50
    assert demo.tools.target_chooser.currentText() == "top class: Egyptian cat 0.72"


def test_the_tree_is_the_model_with_the_shape_of_every_output(demo):
    tree = demo.tree.view.model().sourceModel()
    texts = {
        path: [tree.index_of(path, column).data() for column in range(4)]
        for path in ("", "features.3", "features.3.conv.0.0.weight", "classifier.1")
    }
    assert texts == {
        "": ["MobileNetV2", "MobileNetV2", "1×1000", "3,504,872"],
        "features.3": ["3", "InvertedResidual", "1×24×56×56", "8,832"],
        "features.3.conv.0.0.weight": ["weight", "parameter", "144×24×1×1", "3,456"],
        "classifier.1": ["1", "Linear", "1×1000", "1,281,000"],
    }


def test_the_status_line_says_what_the_run_cost(demo):
    assert demo.status.text.startswith("ready · forward ")
    assert " ms · backward " in demo.status.text
    assert demo.status.text.endswith(" MB captured")
    assert demo.status._model.text() == (
        "MobileNetV2 · ImageNet weights (IMAGENET1K_V1) · 3.5 M parameters"
    )


def test_any_of_a_thousand_classes_can_be_typed(qtbot, demo, settles, gradients):
    before = gradients.picture.stack.values
    edit = demo.tools.target_chooser.lineEdit()
    edit.selectAll()
    with settles():
        qtbot.keyClicks(edit, "golden retriever")
        qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert demo.workspace.target.index == 207
    assert not np.array_equal(gradients.picture.stack.values, before)
