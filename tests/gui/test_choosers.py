import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from hookviewer.gui.widgets.chooser import Chooser
from hookviewer.gui.widgets.elided_label import ElidedLabel


@pytest.fixture
def chooser(qtbot):
    chooser = Chooser("Fruit", "What you would like to eat")
    chooser.addItems(["apple", "pear", "plum"])
    qtbot.addWidget(chooser)
    chooser.show()
    qtbot.waitExposed(chooser)
    return chooser


def turn_wheel(chooser):
    place = QPointF(chooser.rect().center())
    QTest.wheelEvent(chooser.windowHandle(), place, QPoint(0, -120))


def test_a_chooser_says_what_it_is_and_what_it_is_for(chooser):
    assert chooser.accessibleName() == "Fruit"
    assert chooser.toolTip() == "What you would like to eat"
    assert Chooser("Fruit").toolTip() == "Fruit"


def test_the_wheel_chooses_nothing_in_passing(chooser):
    chooser.clearFocus()
    turn_wheel(chooser)
    assert chooser.currentText() == "apple"


def test_the_wheel_chooses_where_the_focus_is(qtbot, chooser):
    chooser.activateWindow()
    chooser.setFocus()
    qtbot.waitUntil(chooser.hasFocus)
    turn_wheel(chooser)
    assert chooser.currentText() == "pear"


def test_a_click_gives_a_chooser_the_focus():
    assert Chooser("Fruit").focusPolicy() is Qt.FocusPolicy.StrongFocus


def test_a_long_line_gives_way_and_is_whole_in_the_tool_tip(qtbot):
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText("a very long sentence " * 20)
    assert label.minimumSizeHint().width() == 0
    assert label.toolTip() == label.text()
    label.resize(100, 20)
    assert label.grab().width() == 100
