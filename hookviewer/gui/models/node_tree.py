"""The Node tree for a QTreeView, and the filter that searches it."""

from collections import Counter
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, overload

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

from hookviewer.engine.node import Node, NodeKind

Index = QModelIndex | QPersistentModelIndex
Shapes = Mapping[str, tuple[tuple[int, ...], ...]]
PATH_ROLE = Qt.ItemDataRole.UserRole
_NOWHERE = QModelIndex()


class Column(IntEnum):
    """The columns, from left to right."""

    NAME = 0
    TYPE = 1
    OUTPUT = 2
    PARAMETERS = 3


_COLUMNS = len(Column)


class NodeTreeModel(QAbstractItemModel):
    """Read-only view of a Node tree; the root is the only top-level row.

    Indexes carry the node's number, never a pointer, so a stale index is harmless.
    """

    def __init__(self, root: Node, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.nodes = tuple(root.walk())
        self._number = {node.path: number for number, node in enumerate(self.nodes)}
        self._children = [[self._number[c.path] for c in node.children] for node in self.nodes]
        self._row = [0] * len(self.nodes)
        self.parents = [-1] * len(self.nodes)
        self.depths = [0] * len(self.nodes)
        for number, children in enumerate(self._children):  # parents come before their children
            for row, child in enumerate(children):
                self._row[child], self.parents[child] = row, number
                self.depths[child] = self.depths[number] + 1
        self._shapes: Shapes = {}

    def set_shapes(self, shapes: Shapes) -> None:
        """Fill the column of outputs: ``{path: (shape of call 0, …)}``."""
        self._shapes = shapes
        for children in ([0], *filter(None, self._children)):
            first = self.createIndex(0, Column.OUTPUT, children[0])
            last = self.createIndex(len(children) - 1, Column.OUTPUT, children[-1])
            self.dataChanged.emit(first, last)

    def index_of(self, path: str, column: int = Column.NAME) -> QModelIndex:
        """Return the index of the node at ``path``, which must exist."""
        number = self._number[path]
        return self.createIndex(self._row[number], column, number)

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        """Return how many children a node has."""
        if not parent.isValid():
            return 1
        return 0 if parent.column() > 0 else len(self._children[parent.internalId()])

    def columnCount(self, _parent: Index = _NOWHERE) -> int:
        """Return the same number of columns for every node."""
        return _COLUMNS

    def index(self, row: int, column: int, parent: Index = _NOWHERE) -> QModelIndex:
        """Return the index of a child."""
        children = self._children[parent.internalId()] if parent.isValid() else [0]
        # Not hasIndex, which asks back twice: a big tree wants this a hundred thousand times.
        if parent.column() > 0 or not (0 <= row < len(children) and 0 <= column < _COLUMNS):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    @overload
    def parent(self) -> QObject | None: ...
    @overload
    def parent(self, child: Index) -> QModelIndex: ...
    def parent(self, child: Index | None = None) -> QObject | QModelIndex | None:
        """Return the index one level up."""
        if child is None:
            return super().parent()
        number = self.parents[child.internalId()] if child.isValid() else -1
        return QModelIndex() if number < 0 else self.createIndex(self._row[number], 0, number)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows, its tool tip, or the node's path."""
        if not index.isValid():
            return None
        node = self.nodes[index.internalId()]
        if role == PATH_ROLE:
            return node.path
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(node, Column(index.column()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{node.path or node.name}\n{node.type_name}"
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == Column.PARAMETERS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return the column titles."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            titles = self.tr("name"), self.tr("type"), self.tr("output"), self.tr("parameters")
            return titles[section]
        return None

    def _text(self, node: Node, column: Column) -> str:
        if column is Column.NAME:
            return node.name
        if column is Column.TYPE:
            return node.type_name if node.kind is NodeKind.MODULE else str(node.kind)
        if column is Column.PARAMETERS:
            return f"{node.parameter_count:,}" if node.parameter_count else ""
        if node.kind is not NodeKind.MODULE:
            return "" if node.shape is None else _shape_text(node.shape)
        calls = self._shapes.get(node.path, ())
        if not calls:
            return self.tr("not called") if self._shapes and not node.is_container else ""
        times = f" (×{len(calls)})" if len(calls) > 1 else ""
        return f"{_shape_text(calls[0])}{times}"


def _shape_text(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


class NodeFilter(QSortFilterProxyModel):
    """Shows the nodes whose path or type contains a text, with all that is above them.

    The flat list of nodes is searched once a text; the proxy only looks the result up.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._kept: frozenset[int] | None = None
        self.setDynamicSortFilter(False)  # nothing that changes in the tree changes what is found

    def setSourceModel(self, model: QAbstractItemModel) -> None:
        """Filter another tree with the same text."""
        self._kept = self._search(model)
        super().setSourceModel(model)

    def set_text(self, text: str) -> None:
        """Show only what contains ``text``, whatever its case; everything when it is empty."""
        self._text = text.strip().lower()
        self._kept = self._search(self.sourceModel())
        self.invalidate()  # not row by row: a view would make another row the current one

    def counts_by_depth(self) -> list[int]:
        """Return how many nodes are shown on each level, the root's first."""
        model = self.sourceModel()
        if not isinstance(model, NodeTreeModel):
            return []
        shown = self._kept if self._kept is not None else range(len(model.nodes))
        counted = Counter(model.depths[number] for number in shown)
        return [counted[depth] for depth in range(len(counted))]

    def holders_of_tensors(self, depth: int) -> list[QModelIndex]:
        """Return the nodes down to ``depth`` that hold parameters and buffers, and no modules."""
        model = self.sourceModel()
        if not isinstance(model, NodeTreeModel):
            return []
        return [
            self.mapFromSource(model.index_of(node.path))
            for number, node in enumerate(model.nodes)
            if model.depths[number] <= depth
            and node.children
            and all(child.kind is not NodeKind.MODULE for child in node.children)
        ]

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        """Look up whether a row was found."""
        if self._kept is None:
            return True
        return self.sourceModel().index(row, 0, parent).internalId() in self._kept

    def _search(self, model: QAbstractItemModel) -> frozenset[int] | None:
        if not self._text or not isinstance(model, NodeTreeModel):
            return None
        kept: set[int] = set()
        for number, node in enumerate(model.nodes):
            if self._text in node.path.lower() or self._text in node.type_name.lower():
                while number >= 0 and number not in kept:
                    kept.add(number)
                    number = model.parents[number]
        return frozenset(kept)
