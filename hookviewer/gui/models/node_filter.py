"""The filter that searches the Node tree."""

from collections import Counter

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Slot,
)

from hookviewer.engine.node import NodeKind
from hookviewer.gui.models.node_tree import NodeTreeModel

Index = QModelIndex | QPersistentModelIndex


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
        if isinstance(model, NodeTreeModel):
            model.nodes_added.connect(self._on_nodes_added)
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

    @Slot()
    def _on_nodes_added(self) -> None:
        self._kept = self._search(self.sourceModel())

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
