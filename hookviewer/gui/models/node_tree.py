"""The Node tree for a QTreeView."""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any, overload

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont

from hookviewer.engine.node import Node, NodeKind, OperationRecord
from hookviewer.gui.models.operation_nodes import operation_node, owner_of

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

    Below a module's own children stand the operations in it, as far as runs have shown them.
    Indexes carry the node's number, never a pointer, so a stale index is harmless.
    """

    nodes_added = Signal()
    """There are operations that were not there before; where they stand is announced next."""

    def __init__(self, root: Node, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.nodes = list(root.walk())
        self._number = {node.path: number for number, node in enumerate(self.nodes)}
        self._children = [[self._number[c.path] for c in node.children] for node in self.nodes]
        self._row = [0] * len(self.nodes)
        self.parents = [-1] * len(self.nodes)
        self.depths = [0] * len(self.nodes)
        for number, children in enumerate(self._children):  # parents come before their children
            for row, child in enumerate(children):
                self._row[child], self.parents[child] = row, number
                self.depths[child] = self.depths[number] + 1
        self._own_counts = [len(children) for children in self._children]
        self._shapes: Shapes = {}
        self._surveyed: list[tuple[str, str]] = []
        self._sources: dict[str, str] = {}

    def set_survey(self, shapes: Shapes, operations: Collection[OperationRecord]) -> None:
        """Fill the column of outputs, and put the operations where they were called.

        Those that an earlier survey has seen and this one has not stand last in their module.
        Whatever shows the model paints itself anew: to announce the shapes below each of 50,000
        modules would take seconds.

        Args:
            shapes: ``{path: (shape of call 0, …)}`` of modules and operations.
            operations: In the order of first calls.
        """
        self._shapes = shapes
        sources = [(record.path, record.source) for record in operations]
        if sources != self._surveyed:
            self._surveyed = sources
            self._sources |= dict(sources)
            self._place([path for path, _ in sources])

    def index_of(self, path: str, column: int = Column.NAME) -> QModelIndex:
        """Return the index of the node at ``path``; an invalid one where there is none."""
        number = self._number.get(path)
        return (
            QModelIndex() if number is None else self.createIndex(self._row[number], column, number)
        )

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
            lines = (node.path or node.name, node.type_name, self._sources.get(node.path))
            return "\n".join(filter(None, lines))
        return _style(node, index.column(), role)

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
        if node.kind not in (NodeKind.MODULE, NodeKind.OPERATION):
            return "" if node.shape is None else _shape_text(node.shape)
        calls = self._shapes.get(node.path, ())
        if not calls:
            return self.tr("not called") if self._shapes and not node.is_container else ""
        times = f" (×{len(calls)})" if len(calls) > 1 else ""
        is_scalar = calls[0] == () and node.kind is NodeKind.OPERATION  # a module may give none
        shape = self.tr("scalar") if is_scalar else _shape_text(calls[0])
        return f"{shape}{times}"

    def _place(self, paths: Sequence[str]) -> None:
        """Let the operations stand below their modules in this order, without moving a module."""
        rows: dict[int, list[int]] = {}
        new: list[str] = []
        for path in paths:
            number = self._number.get(path, len(self.nodes) + len(new))
            if number >= len(self.nodes):
                new.append(path)
            rows.setdefault(self._number[owner_of(path) or ""], []).append(number)
        for module, numbers in rows.items():
            seen, here = self._children[module][self._own_counts[module] :], set(numbers)
            numbers += [number for number in seen if number not in here]
        rows = {
            module: numbers
            for module, numbers in rows.items()
            if numbers != self._children[module][self._own_counts[module] :]
        }
        if rows:
            self._rearrange(rows, new)

    def _rearrange(self, rows: Mapping[int, Sequence[int]], new: Sequence[str]) -> None:
        # Not beginInsertRows, which each of thousands of modules would need.
        self.layoutAboutToBeChanged.emit()
        kept = [index for index in self.persistentIndexList() if index.isValid()]
        for path in new:
            self._number[path] = len(self.nodes)
            self.nodes.append(operation_node(path))
            self._children.append([])
            self._own_counts.append(0)
            self._row.append(0)
            self.parents.append(-1)
            self.depths.append(0)
        for module, numbers in rows.items():
            own = self._own_counts[module]
            self._children[module][own:] = numbers
            for row, number in enumerate(numbers, own):
                self._row[number], self.parents[number] = row, module
                self.depths[number] = self.depths[module] + 1
        moved = [self._moved(index) for index in kept]
        self.changePersistentIndexList(kept, moved)
        self.nodes_added.emit()
        self.layoutChanged.emit()

    def _moved(self, index: QModelIndex) -> QModelIndex:
        number = index.internalId()
        return self.createIndex(self._row[number], index.column(), number)


def _style(node: Node, column: int, role: int) -> Any:
    if role == Qt.ItemDataRole.FontRole and node.kind is NodeKind.OPERATION:
        font = QFont()
        font.setItalic(True)
        return font
    if role == Qt.ItemDataRole.TextAlignmentRole and column == Column.PARAMETERS:
        return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    return None


def _shape_text(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))
