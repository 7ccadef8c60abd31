import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QMessageBox

import hookviewer
from hookviewer.engine.plan import Quantity
from hookviewer.gui.actions import action_rows
from hookviewer.gui.error_report import log_path
from hookviewer.gui.main_window import MainWindow
from hookviewer.gui.models.node_tree import PATH_ROLE
from hookviewer.gui.theme import apply_theme

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


@pytest.fixture
def another(qtbot, settings, report):
    """Return a function that opens the window once more, with the settings of the last time."""
    opened = []

    def another():
        opened.append(MainWindow(settings, report))
        opened[-1].show()
        qtbot.waitExposed(opened[-1])
        return opened[-1]

    yield another
    for window in opened:
        window.close()
        window.deleteLater()
    apply_theme(dark=False)


def shown(window):
    docks = (*window.docks, *window.area.docks.values())
    return {dock.objectName(): dock.isVisible() for dock in docks}


def boxes(window):
    return [box for box in window.findChildren(QMessageBox) if box.isVisible()]


def test_every_dock_is_in_view_at_first(window):
    assert shown(window) == dict.fromkeys(
        ("model", "input", "inspector", "predictions", "feature-maps", "filters", "gradients"), True
    )
    assert window.area.wanted == {Quantity.OUTPUT, Quantity.PARAMETER, Quantity.GRAD_OUTPUT}


def test_the_layout_comes_back_next_time(another):
    window = another()
    window.area.docks["gradients"].close()
    window.docks[0].close()
    window.close()
    window = another()
    hidden = {name for name, visible in shown(window).items() if not visible}
    assert hidden == {"gradients", "model"}
    assert Quantity.GRAD_OUTPUT not in window.area.wanted


def test_the_layout_can_be_reset(window):
    for dock in (*window.docks, *window.area.docks.values()):
        dock.close()
    window.area.docks["gradients"].setFloating(True)
    window.actions_by_name["reset_layout"].trigger()
    assert all(shown(window).values())
    assert not window.area.docks["gradients"].isFloating()
    QTest.qWait(0)
    maps, *others = (dock.geometry() for dock in window.area.docks.values())
    assert all(maps.right() < other.left() for other in others)
    assert others[0].right() == others[1].right()


def test_every_dock_can_be_switched_in_the_view_menu(window):
    for dock in (*window.docks, *window.area.docks.values()):
        dock.toggleViewAction().trigger()
    assert not any(shown(window).values())


def test_the_dark_theme_is_remembered(another, settings):
    window = another()
    light = QApplication.palette().color(QPalette.ColorRole.Base)
    window.actions_by_name["dark"].trigger()
    dark = QApplication.palette().color(QPalette.ColorRole.Base)
    assert dark.lightness() < 60 < 200 < light.lightness()
    assert settings.dark
    window.close()
    assert another().actions_by_name["dark"].isChecked()


def test_every_row_of_the_table_is_an_action_in_a_menu(window):
    assert list(window.actions_by_name) == [row.name for row in action_rows()]
    in_menus = {
        action for menu in window.menuBar().findChildren(QMenu) for action in menu.actions()
    }
    assert in_menus.issuperset(window.actions_by_name.values())


def test_no_two_actions_share_a_shortcut():
    keys = [row.shortcut for row in action_rows() if row.shortcut]
    assert len(keys) == len(set(keys))


def test_control_f_goes_to_the_filter(qtbot, window):
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(window.tree.filter_edit.hasFocus)


def test_f1_tells_the_keys(qtbot, window):
    qtbot.keyClick(window, Qt.Key.Key_F1)
    (box,) = boxes(window)
    assert "F5" in box.text()
    assert "Ctrl+O" in box.text()
    box.close()


def test_about_tells_the_version_and_where_the_log_is(window):
    window.actions_by_name["about"].trigger()
    (box,) = boxes(window)
    assert hookviewer.__version__ in box.text()
    assert str(log_path()) in box.text()
    box.close()


def test_a_picture_of_the_window_can_be_saved(window, tmp_path):
    window.actions_by_name["save_screenshot"].trigger()
    (dialog,) = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "window.png"))
    dialog.reject()
    with Image.open(tmp_path / "window.png") as picture:
        assert picture.size == window.size().toTuple()


def test_a_picture_that_cannot_be_saved_is_a_sentence(window, tmp_path):
    window.actions_by_name["save_screenshot"].trigger()
    (dialog,) = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "no folder" / "window.png"))
    dialog.reject()
    assert "cannot be written" in window.area.message_bar.label.text()


def test_being_painted_is_told_once(qtbot, window):
    told = []
    window.painted.connect(lambda: told.append(1))
    window.resize(1200, 700)
    window.repaint()
    QTest.qWait(0)
    assert told == []


def test_the_keyboard_reaches_every_part(qtbot, window, open_net):
    open_net("def build(): return nn.Sequential(nn.Conv2d(1, 2, 1), nn.Flatten())", at="0")
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.tree.filter_edit.setFocus()
    reached = set()
    for _ in range(30):
        reached.add(QApplication.focusWidget())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    for panel in window.area.panels.values():
        assert {panel.view, panel.scale_chooser, panel.map_chooser} <= reached
    assert {window.tree.view, window.predictions.table} <= reached
    assert {window.tools.mode_chooser, window.tools.device_chooser} <= reached


def test_walking_fast_through_the_tree_ends_at_the_last_node(qtbot, window, open_net, settles):
    open_net("def build(): return nn.Sequential(*(nn.Conv2d(1, 1, 1) for _ in range(40)))", at="")
    shown = []
    window.workspace.run_changed.connect(lambda: shown.append(window.workspace.run))
    with settles():
        for _ in range(30):
            qtbot.keyClick(window.tree.view, Qt.Key.Key_Down)
    path = window.tree.view.currentIndex().data(PATH_ROLE)
    assert {tap.path for tap in shown[-1].taps} == {path}
    assert path not in ("", "0")
    for panel in window.area.panels.values():
        assert panel.picture.request.capture.tap.path == path
    assert window.area.header.label.text() == path


def test_nothing_happens_without_a_model(qtbot, window):
    for name in ("run", "stop", "fit"):
        window.actions_by_name[name].trigger()
    window.conductor.open_input("noise:1x1x2x2")
    assert not window.busy
    assert window.workspace.run is None
