import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtWidgets import QApplication
from torch import nn

from hookviewer.engine.node import Node, NodeKind, OperationRecord
from hookviewer.engine.paths import build_tree
from hookviewer.gui.models.node_tree import PATH_ROLE, Column
from hookviewer.gui.widgets.model_tree import ModelTree


class Spy(QObject):
    """Notes the kinds of events that it sees."""

    def __init__(self, seen):
        super().__init__()
        self._seen = seen

    def eventFilter(self, _watched, event):  # noqa: N802  Qt's name
        self._seen.append(event.type())
        return False


def net():
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2, affine=False)),
        nn.Linear(4, 4, bias=False),
    )


@pytest.fixture
def tree(qtbot):
    tree = ModelTree()
    qtbot.addWidget(tree)
    tree.show_tree(build_tree(net()))
    tree.show()
    qtbot.waitExposed(tree)
    tree.activateWindow()
    return tree


@pytest.fixture
def selected(tree):
    paths = []
    tree.node_selected.connect(paths.append)
    return paths


def current(tree):
    return tree.view.currentIndex().data(PATH_ROLE)


def shown(tree):
    """Return the paths of the rows in view, from top to bottom."""
    index, paths = tree.view.model().index(0, 0), []
    while index.isValid():
        paths.append(index.data(PATH_ROLE))
        index = tree.view.indexBelow(index)
    return paths


def test_arrow_keys_walk_the_nodes(qtbot, tree, selected):
    tree.select("")
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up):
        qtbot.keyClick(tree.view, key)
    assert selected == ["", "0", "0.0", "0.1", "0.0"]


def test_left_and_right_fold_and_unfold(qtbot, tree):
    tree.select("0")
    qtbot.keyClick(tree.view, Qt.Key.Key_Left)
    assert shown(tree) == ["", "0", "1"]
    qtbot.keyClick(tree.view, Qt.Key.Key_Right)
    assert "0.1" in shown(tree)


def test_a_click_selects_a_node(qtbot, tree, selected):
    index = tree.view.model().index(1, Column.TYPE, tree.view.model().index(0, 0))
    place = tree.view.visualRect(index).center()
    qtbot.mouseClick(tree.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert selected == ["1"]


def test_selecting_in_code_moves_the_current_row_and_unfolds_what_is_above(tree):
    tree.view.collapseAll()
    tree.select("0.0.weight")
    assert current(tree) == "0.0.weight"
    assert "0.0.weight" in shown(tree)


def test_typing_a_filter_selects_nothing_else(qtbot, tree, selected):
    tree.select("0.1")
    qtbot.keyClicks(tree.filter_edit, "conv")
    assert shown(tree) == ["", "0", "0.0"]
    assert current(tree) is None
    assert selected == ["0.1"]


def test_the_selected_node_is_marked_again_when_the_filter_lets_it_through(qtbot, tree):
    tree.select("0.1")
    qtbot.keyClicks(tree.filter_edit, "linear")
    tree.filter_edit.clear()
    assert current(tree) == "0.1"
    assert tree.view.selectionModel().isSelected(tree.view.currentIndex())


def test_a_node_selected_elsewhere_is_marked_only_where_it_is_shown(qtbot, tree):
    tree.select("0.0")
    qtbot.keyClicks(tree.filter_edit, "conv")
    tree.select("1")
    assert current(tree) is None
    assert not tree.view.selectionModel().hasSelection()
    tree.select("0.0")
    assert current(tree) == "0.0"


def test_return_in_the_filter_goes_on_with_the_arrow_keys(qtbot, tree, selected):
    tree.focus_filter()
    qtbot.keyClicks(tree.filter_edit, "linear")
    qtbot.keyClick(tree.filter_edit, Qt.Key.Key_Return)
    qtbot.waitUntil(tree.view.hasFocus)
    qtbot.keyClick(tree.view, Qt.Key.Key_Down)
    assert selected[-1] in ("", "1")


def test_the_down_key_in_the_filter_goes_to_the_tree(qtbot, tree):
    tree.focus_filter()
    qtbot.waitUntil(tree.filter_edit.hasFocus)
    qtbot.keyClick(tree.filter_edit, Qt.Key.Key_Down)
    qtbot.waitUntil(tree.view.hasFocus)


def test_a_short_model_is_unfolded_and_a_long_one_to_its_second_level(tree):
    assert shown(tree) == ["", "0", "0.0", "0.1", "1"]  # parameters stay folded
    deep = nn.Sequential(*(nn.Sequential(nn.Sequential(nn.ReLU())) for _ in range(9)))
    tree.show_tree(build_tree(deep))
    assert shown(tree) == ["", *(path for i in range(9) for path in (f"{i}", f"{i}.0"))]


def test_what_a_filter_finds_is_unfolded_but_never_too_much_of_it(tree):
    leaves = [Node(f"b.{i}", str(i), NodeKind.MODULE, "ReLU") for i in range(9000)]
    block = Node("b", "b", NodeKind.MODULE, "ModuleList", children=tuple(leaves))
    tree.show_tree(Node("", "Net", NodeKind.MODULE, "Net", children=(block,)))
    assert shown(tree) == ["", "b"]
    tree.filter_edit.setText("b.89")
    assert len(shown(tree)) == 2 + 1 + 10 + 100
    tree.filter_edit.setText("relu")
    assert shown(tree) == ["", "b"]


def test_names_are_measured_once_for_many_unfolded_rows(qtbot, tree):
    tree.show_tree(build_tree(nn.Sequential(*(nn.Linear(1, 1) for _ in range(50)))))
    qtbot.waitUntil(lambda: not tree._widening.isActive())
    measured = []
    tree._widening.timeout.connect(lambda: measured.append(1))
    tree.view.expandAll()
    qtbot.waitUntil(lambda: not tree._widening.isActive())
    assert measured == [1]


def test_names_are_shown_whole(qtbot, tree):
    name = "a_rather_long_name_of_a_module_that_nobody_would_want_to_read_twice"
    tree.show_tree(build_tree(nn.ModuleDict({name: nn.ReLU()})))
    qtbot.waitUntil(
        lambda: tree.view.columnWidth(Column.NAME) > tree.fontMetrics().horizontalAdvance(name)
    )


def test_another_model_takes_the_place_of_the_first(tree):
    tree.select("0.1")
    tree.show_tree(build_tree(nn.Sequential(nn.ReLU())))
    tree.filter_edit.setText("relu")
    assert shown(tree) == ["", "0"]
    assert current(tree) == ""


def surveyed(*paths):
    """Return the operations at these paths, each called once."""
    return [OperationRecord(path, "net.py:7", ((1, 4),)) for path in paths]


def test_operations_come_without_moving_what_is_selected_and_unfolded(tree, selected):
    tree.select("0.0")
    tree.view.collapse(tree.view.currentIndex().siblingAtColumn(0))
    tree.view.expand(tree.view.model().index(0, 0))
    tree.show_survey({}, surveyed("/add", "0/cat"))
    assert shown(tree) == ["", "0", "0.0", "0.1", "0/cat", "1", "/add"]
    assert current(tree) == "0.0"
    assert selected == ["0.0"]


def test_operations_above_do_not_scroll_what_is_in_view(qtbot, tree):
    tree.show_tree(build_tree(nn.Sequential(*(nn.Sequential(nn.ReLU()) for _ in range(90)))))
    tree.select("80.0")
    qtbot.waitUntil(lambda: tree.view.verticalScrollBar().value() > 0)
    top = tree.view.indexAt(QPoint(0, 0)).data(PATH_ROLE)
    tree.show_survey({}, surveyed(*(f"{i}/add" for i in range(90))))
    assert tree.view.indexAt(QPoint(0, 0)).data(PATH_ROLE) == top
    assert current(tree) == "80.0"


def test_an_operation_that_was_selected_before_it_was_seen_is_marked_when_it_comes(tree, selected):
    tree.select("0/cat")
    assert current(tree) is None
    tree.show_survey({}, surveyed("0/cat"))
    assert current(tree) == "0/cat"
    assert tree.view.selectionModel().isSelected(tree.view.currentIndex())


def test_a_function_is_unfolded_when_its_operations_come(tree):
    tree.show_tree(build_tree(len))
    tree.show_survey({}, surveyed("/add", "/mul"))
    assert shown(tree) == ["", "/add", "/mul"]


def test_new_shapes_are_painted(qtbot, tree):
    tree.show_survey({"0": ((1, 4),)}, ())
    qtbot.waitUntil(lambda: not tree._widening.isActive())
    before = tree.view.viewport().grab().toImage()
    QApplication.processEvents()  # what else is to be painted
    painted = []
    tree.view.viewport().installEventFilter(spy := Spy(painted))
    tree.show_survey({"0": ((9, 9),)}, ())
    qtbot.waitUntil(lambda: QEvent.Type.Paint in painted)
    tree.view.viewport().removeEventFilter(spy)
    assert tree.view.viewport().grab().toImage() != before


def test_the_arrow_keys_walk_operations_too(qtbot, tree, selected):
    tree.show_survey({}, surveyed("/add"))
    tree.select("1")
    qtbot.keyClick(tree.view, Qt.Key.Key_Down)
    assert selected[-1] == "/add"
