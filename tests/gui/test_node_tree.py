import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from torch import nn

from hookviewer.engine.node import Node, NodeKind, OperationRecord
from hookviewer.engine.paths import build_tree
from hookviewer.gui.models.node_filter import NodeFilter
from hookviewer.gui.models.node_tree import PATH_ROLE, Column, NodeTreeModel
from hookviewer.gui.models.operation_nodes import owner_of

both_testers = pytest.mark.parametrize("force_py", [False, True], ids=["Qt's", "pytest-qt's"])


def net():
    """Return a net with a container, a shared module, buffers and odd names."""
    shared = nn.Linear(3, 3, bias=False)
    return nn.ModuleDict(
        {
            "body": nn.ModuleList([shared, nn.BatchNorm1d(3)]),
            "head": shared,
            "a/b:c\\d e": nn.Sequential(nn.Conv2d(1, 2, 3)),
        }
    )


@pytest.fixture
def tree(qapp):
    return NodeTreeModel(build_tree(net()))


@pytest.fixture
def filtered(tree):
    proxy = NodeFilter()
    proxy.setSourceModel(tree)
    return proxy


def paths(model, parent=QModelIndex()):  # noqa: B008  an invalid index is the root
    """Return the paths of all rows below ``parent``, from top to bottom."""
    found = []
    for row in range(model.rowCount(parent)):
        index = model.index(row, 0, parent)
        found += [index.data(PATH_ROLE), *paths(model, index)]
    return found


def seen(*paths):
    """Return the operations at these paths, each called once in ``net.py``."""
    return [OperationRecord(path, "net.py:7", ((2, 3),)) for path in paths]


def below(tree, path):
    """Return the paths of the rows right below that of ``path``, from top to bottom."""
    index = tree.index_of(path)
    return [tree.index(row, 0, index).data(PATH_ROLE) for row in range(tree.rowCount(index))]


def texts(tree, path):
    return [tree.index_of(path, column).data() for column in Column]


@both_testers
def test_the_tree_keeps_qts_rules(tree, qtmodeltester, force_py):
    qtmodeltester.check(tree, force_py=force_py)


@both_testers
@pytest.mark.parametrize("text", ["", "bias", "nothing at all"])
def test_the_filtered_tree_keeps_qts_rules(filtered, qtmodeltester, force_py, text):
    filtered.set_text(text)
    qtmodeltester.check(filtered, force_py=force_py)


@both_testers
def test_qts_rules_are_kept_while_shapes_and_filters_change(
    tree, filtered, qtmodeltester, force_py
):
    qtmodeltester.check(filtered, force_py=force_py)
    filtered.set_text("weight")
    tree.set_survey({"head": ((1, 3),)}, seen("head/mul", "/add"))
    filtered.set_text("add")
    tree.set_survey({"head": ((1, 3),)}, seen("/cat", "/add"))
    filtered.set_text("")
    filtered.setSourceModel(NodeTreeModel(build_tree(nn.ReLU()), filtered))
    assert paths(filtered) == [""]


def test_rows_are_all_nodes_in_the_order_of_the_model_under_one_root(tree):
    assert paths(tree) == [
        "",
        "body",
        "body.0",
        "body.0.weight",
        "body.1",
        "body.1.weight",
        "body.1.bias",
        "body.1.running_mean",
        "body.1.running_var",
        "body.1.num_batches_tracked",
        "head",
        "head.weight",
        "a\\/b\\:c\\\\d e",
        "a\\/b\\:c\\\\d e.0",
        "a\\/b\\:c\\\\d e.0.weight",
        "a\\/b\\:c\\\\d e.0.bias",
    ]


def test_every_index_leads_back_to_its_parent(tree):
    for path in paths(tree)[1:]:
        index = tree.index_of(path)
        siblings = [
            tree.index(row, 0, index.parent()).data(PATH_ROLE)
            for row in range(tree.rowCount(index.parent()))
        ]
        assert siblings[index.row()] == path


def test_columns_are_name_type_output_and_parameters(tree):
    titles = [tree.headerData(column, Qt.Orientation.Horizontal) for column in Column]
    assert titles == ["name", "type", "output", "parameters"]
    assert texts(tree, "body.1") == ["1", "BatchNorm1d", "", "6"]
    assert texts(tree, "body.1.num_batches_tracked") == ["num_batches_tracked", "buffer", "", ""]
    assert texts(tree, "head.weight") == ["weight", "parameter", "3×3", "9"]
    assert texts(tree, "") == ["ModuleDict", "ModuleDict", "", "35"]  # the shared 9 only once


def test_big_numbers_are_grouped_and_on_the_right(qapp):
    tree = NodeTreeModel(build_tree(nn.Linear(1000, 1234)))
    index = tree.index_of("", Column.PARAMETERS)
    assert index.data() == "1,235,234"
    assert index.data(Qt.ItemDataRole.TextAlignmentRole) & Qt.AlignmentFlag.AlignRight


def test_outputs_are_the_shapes_of_the_first_call_and_how_many_calls_there_were(tree):
    shapes = {"head": ((2, 3), (5, 3)), "a\\/b\\:c\\\\d e.0": ((1, 2, 8, 9),)}
    tree.set_survey(shapes, ())
    assert texts(tree, "head")[Column.OUTPUT] == "2×3 (×2)"
    assert texts(tree, "a\\/b\\:c\\\\d e.0")[Column.OUTPUT] == "1×2×8×9"
    assert texts(tree, "body.1")[Column.OUTPUT] == "not called"
    assert texts(tree, "body")[Column.OUTPUT] == ""  # a container never is


def test_an_index_that_outlived_its_use_is_harmless(tree):
    kept = QPersistentModelIndex(tree.index_of("head.weight", Column.TYPE))
    assert kept.data() == "parameter"
    assert tree.parent(kept) == tree.index_of("head")
    assert tree.data(QModelIndex()) is None
    assert not tree.index(99, 0).isValid()


def test_a_tool_tip_tells_the_whole_path(tree):
    tip = tree.index_of("body.1.bias").data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "body.1.bias\nfloat32"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("RUNNING", ["", "body", "body.1", "body.1.running_mean", "body.1.running_var"]),
        (" linear ", ["", "body", "body.0", "head"]),
        ("body.0.w", ["", "body", "body.0", "body.0.weight"]),
        ("conv2d", ["", "a\\/b\\:c\\\\d e", "a\\/b\\:c\\\\d e.0"]),
        ("zzz", []),
        ("[.*", []),
    ],
)
def test_a_filter_keeps_what_has_the_text_in_its_path_or_type_and_all_above(filtered, text, kept):
    filtered.set_text(text)
    assert paths(filtered) == kept


def test_an_empty_filter_keeps_everything(tree, filtered):
    filtered.set_text("head")
    filtered.set_text("  ")
    assert paths(filtered) == paths(tree)


def test_a_new_model_is_filtered_with_the_text_that_is_there(filtered):
    filtered.set_text("weight")
    filtered.setSourceModel(NodeTreeModel(build_tree(nn.Linear(1, 1)), filtered))
    assert paths(filtered) == ["", "weight"]


def test_a_tree_of_fifty_thousand_nodes_is_filtered_by_looking_it_up(qapp):
    leaves = [Node(f"block.{i}", str(i), NodeKind.MODULE, "ReLU") for i in range(50_000)]
    block = Node("block", "block", NodeKind.MODULE, "ModuleList", children=tuple(leaves))
    proxy = NodeFilter()
    proxy.setSourceModel(
        NodeTreeModel(Node("", "Net", NodeKind.MODULE, "Net", children=(block,)), proxy)
    )
    proxy.set_text("block.4999")
    assert paths(proxy) == ["", "block", "block.4999", *(f"block.4999{i}" for i in range(10))]


ODD = "a\\/b\\:c\\\\d e"


def test_operations_stand_below_their_modules_children_in_the_order_of_first_calls(tree):
    tree.set_survey({}, seen("/mul", f"{ODD}/cat", "/add", "head/add"))
    assert below(tree, "") == ["body", "head", ODD, "/mul", "/add"]
    assert below(tree, ODD) == [f"{ODD}.0", f"{ODD}/cat"]
    assert below(tree, "head") == ["head.weight", "head/add"]
    assert [tree.index_of(path).row() for path in ("/mul", "/add", "head/add")] == [3, 4, 1]


def test_an_operation_is_slanted_and_tells_its_shape_its_calls_and_its_line(tree):
    records = [OperationRecord("/add", "net.py:7", ((2, 3), (2, 3))), *seen("/sum")]
    tree.set_survey({"/add": ((2, 3), (2, 3)), "/sum": ((),)}, records)
    assert texts(tree, "/add") == ["add", "operation", "2×3 (×2)", ""]
    assert texts(tree, "/sum")[Column.OUTPUT] == "scalar"
    index = tree.index_of("/add")
    assert index.data(Qt.ItemDataRole.FontRole).italic()
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "/add\noperation\nnet.py:7"
    assert tree.index_of("head").data(Qt.ItemDataRole.FontRole) is None


def test_operations_that_a_new_survey_has_not_seen_stand_last_and_were_not_called(tree):
    tree.set_survey({}, seen("/add", "/mul", "head/cat"))
    tree.set_survey({"/sub": ((1,),), "/mul": ((1,),)}, seen("/sub", "/mul"))
    assert below(tree, "")[3:] == ["/sub", "/mul", "/add"]
    assert [texts(tree, path)[Column.OUTPUT] for path in ("/mul", "/add", "head/cat")] == [
        "1",
        "not called",
        "not called",
    ]


def test_an_index_follows_its_operation_when_others_come_before_it(tree):
    tree.set_survey({}, seen("/add", "/mul"))
    kept = QPersistentModelIndex(tree.index_of("/add", Column.TYPE))
    tree.set_survey({}, seen("/sub", "/mul", "/add"))
    assert (kept.row(), kept.column(), kept.data(PATH_ROLE)) == (5, Column.TYPE, "/add")


def test_operations_count_on_the_level_of_their_modules_children(tree, filtered):
    tree.set_survey({}, seen("/add", "body.1/mul", "head/cat"))
    assert filtered.counts_by_depth() == [1, 4, 5, 9]


def test_the_same_operations_again_move_nothing(tree):
    announced = []
    tree.set_survey({}, seen("/add", "head/mul"))
    tree.layoutChanged.connect(lambda: announced.append(1))
    tree.set_survey({}, seen("head/mul", "/add"))
    assert announced == []


def test_a_filter_finds_operations_that_come_after_it_was_typed(tree, filtered):
    filtered.set_text("CAT")
    assert paths(filtered) == []
    tree.set_survey({}, seen("head/cat", "/add"))
    assert paths(filtered) == ["", "head", "head/cat"]


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("layer1.0/add_", "layer1.0"),
        ("/add", ""),
        ("a\\/b/add", "a\\/b"),
        ("a\\\\/add", "a\\\\"),
        ("a\\/b", None),
        ("layer1.0", None),
        ("input:0", None),
    ],
)
def test_an_operation_is_told_by_its_slash(path, owner):
    assert owner_of(path) == owner


def test_thousands_of_operations_come_into_a_tree_of_fifty_thousand_nodes(qapp):
    blocks = tuple(
        Node(
            f"{i}",
            f"{i}",
            NodeKind.MODULE,
            "Block",
            children=tuple(Node(f"{i}.{j}", f"{j}", NodeKind.MODULE, "ReLU") for j in range(4)),
        )
        for i in range(10_000)
    )
    proxy = NodeFilter()
    tree = NodeTreeModel(Node("", "Net", NodeKind.MODULE, "Net", children=blocks), proxy)
    proxy.setSourceModel(tree)
    tree.set_survey({}, seen(*(f"{i}/{name}" for i in range(10_000) for name in ("add", "cat"))))
    proxy.set_text("9999/")
    assert paths(proxy) == ["", "9999", "9999/add", "9999/cat"]
