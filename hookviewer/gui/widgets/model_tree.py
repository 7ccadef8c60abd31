"""The model's tree with a filter above it."""

from collections.abc import Collection
from itertools import accumulate

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from hookviewer.engine.node import Node, OperationRecord
from hookviewer.gui.models.node_filter import NodeFilter
from hookviewer.gui.models.node_tree import PATH_ROLE, Column, NodeTreeModel, Shapes

_SHORT = 25
"""A model with fewer nodes is shown unfolded."""
_LEVELS = 3
"""How many levels of a longer one are shown."""
_MOST_ROWS = 2000
"""How many rows may be unfolded at once; each takes a twentieth of a millisecond."""
_MEASURED = 200
"""How many names may decide how wide their column is."""
_NOWHERE = QModelIndex()

_SAMPLES = {
    Column.TYPE: "InvertedResidu",
    Column.OUTPUT: "1×512×112×112",
    Column.PARAMETERS: "parameters",
}
"""The widest texts that each column shows whole."""


class ModelTree(QWidget):
    """Tells which node the user selects, by mouse or keyboard."""

    node_selected = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.filter_edit = QLineEdit(placeholderText=self.tr("filter …  (Ctrl+F)"))
        self.filter_edit.setClearButtonEnabled(True)
        self.filter_edit.setAccessibleName(self.tr("Filter the model tree"))
        self.filter_edit.textChanged.connect(self._on_filter_changed)
        self.filter_edit.returnPressed.connect(self._on_return_pressed)
        self._filter = NodeFilter(self)
        self.view = QTreeView()
        self.view.setUniformRowHeights(True)
        self.view.setAlternatingRowColors(True)
        self.view.setAccessibleName(self.tr("Model tree"))
        self.view.setModel(self._filter)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setIndentation(12)
        self.view.header().setResizeContentsPrecision(_MEASURED)
        self._widening = QTimer(self, singleShot=True, interval=0)  # once for many rows
        self._widening.timeout.connect(self._on_widening_due)
        self.view.expanded.connect(self._widening.start)
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self.filter_edit)
        layout.addWidget(self.view)
        self._model: NodeTreeModel | None = None
        self._path = ""

    def show_tree(self, root: Node) -> None:
        """Show another model, unfolded as far as it stays easy to survey."""
        old, self._model = self._model, NodeTreeModel(root, self)
        self._path = ""
        self._filter.setSourceModel(self._model)
        if old is not None:
            old.deleteLater()
        header = self.view.header()
        for column, sample in _SAMPLES.items():
            header.resizeSection(column, self.fontMetrics().horizontalAdvance(sample) + 10)
        self._unfold()

    def show_survey(self, shapes: Shapes, operations: Collection[OperationRecord]) -> None:
        """Fill in what a survey has seen; what is in view, selected and unfolded stays so."""
        if self._model is None:
            return
        is_scrolled = self.view.verticalScrollBar().value() > 0
        top = QPersistentModelIndex(self.view.indexAt(QPoint(0, 0)) if is_scrolled else _NOWHERE)
        root = self._model.index_of("")
        was_bare = not self._model.rowCount(root)
        self._model.set_survey(shapes, operations)
        self.view.viewport().update()
        if was_bare:  # a function has nothing but operations
            self.view.expand(self._filter.mapFromSource(root))
        if top.isValid() and self.view.indexAt(QPoint(0, 0)) != top:
            self.view.scrollTo(top, QAbstractItemView.ScrollHint.PositionAtTop)
        if not self.view.currentIndex().isValid():
            self.select(self._path)

    def select(self, path: str) -> None:
        """Make ``path`` the current row and bring it into view, unless it is not shown.

        It may be filtered out, or an operation that no run has shown yet.
        """
        self._path = path
        if self._model is None:
            return
        index = self._filter.mapFromSource(self._model.index_of(path))
        if index != self.view.currentIndex().siblingAtColumn(Column.NAME):
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index)

    @Slot()
    def focus_filter(self) -> None:
        """Let the user type a filter."""
        self.filter_edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter_edit.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from the filter to the tree with the arrow key."""
        if event.key() == Qt.Key.Key_Down and self.filter_edit.hasFocus():
            self._on_return_pressed()
        else:
            super().keyPressEvent(event)

    def _unfold(self) -> None:
        """Unfold what was found as a whole, a big model to its second level, but never too many."""
        totals = list(accumulate(self._filter.counts_by_depth()))
        most = len(totals) if self.filter_edit.text() or totals[-1:] < [_SHORT] else _LEVELS
        levels = sum(total <= _MOST_ROWS for total in totals[:most])
        self.view.collapseAll()
        if levels > 1:
            self.view.expandToDepth(levels - 2)
            if not self.filter_edit.text():
                self._fold_parameters(levels - 2)
        self._widening.start()

    def _fold_parameters(self, depth: int) -> None:
        """Fold the nodes down to ``depth`` that only hold parameters, as a convolution does."""
        for index in self._filter.holders_of_tensors(depth):
            self.view.collapse(index)

    @Slot()
    def _on_widening_due(self) -> None:
        """Show the names of all unfolded nodes whole: they differ at their ends."""
        self.view.resizeColumnToContents(Column.NAME)

    @Slot(str)
    def _on_filter_changed(self, text: str) -> None:
        self._filter.set_text(text)
        self._unfold()
        self.select(self._path)
        self.view.scrollTo(self.view.currentIndex())

    @Slot()
    def _on_return_pressed(self) -> None:
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self._path = current.data(PATH_ROLE)
            self.node_selected.emit(self._path)
