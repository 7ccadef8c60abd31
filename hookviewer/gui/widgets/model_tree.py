"""The model's tree with a filter above it."""

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from hookviewer.engine.node import Node
from hookviewer.gui.models.node_tree import PATH_ROLE, Column, NodeFilter, NodeTreeModel, Shapes

_SHORT = 25
"""A model with at most this many modules is shown unfolded."""

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
        self.view.expanded.connect(self._on_expanded)
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self.filter_edit)
        layout.addWidget(self.view)
        self._model: NodeTreeModel | None = None

    def show_tree(self, root: Node) -> None:
        """Show another model, unfolded as far as it stays easy to survey."""
        old, self._model = self._model, NodeTreeModel(root, self)
        self._filter.setSourceModel(self._model)
        if old is not None:
            old.deleteLater()
        header = self.view.header()
        header.setStretchLastSection(False)
        for column, sample in _SAMPLES.items():
            header.resizeSection(column, self.fontMetrics().horizontalAdvance(sample) + 10)
        self._unfold()

    def show_shapes(self, shapes: Shapes) -> None:
        """Fill in what every module returned in the first run."""
        if self._model is not None:
            self._model.set_shapes(shapes)

    def select(self, path: str) -> None:
        """Make ``path`` the current row and bring it into view."""
        if self._model is None:
            return
        index = self._filter.mapFromSource(self._model.index_of(path))
        if (index.isValid() and index.row() != self.view.currentIndex().row()) or (
            index.parent() != self.view.currentIndex().parent()
        ):
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index)

    @Slot()
    def focus_filter(self) -> None:
        """Let the user type a filter."""
        self.filter_edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter_edit.selectAll()

    def _unfold(self) -> None:
        count = len(self._model.nodes) if self._model else 0
        if self.filter_edit.text() or count <= _SHORT:
            self.view.expandAll()
        else:
            self.view.collapseAll()
            self.view.expandToDepth(1)
        self._on_expanded()

    @Slot()
    def _on_expanded(self) -> None:
        """Show the names of all unfolded nodes whole: they differ at their ends."""
        self.view.resizeColumnToContents(Column.NAME)

    @Slot(str)
    def _on_filter_changed(self, text: str) -> None:
        self._filter.set_text(text)
        self._unfold()
        current = self.view.currentIndex()
        if current.isValid():
            self.view.scrollTo(current)

    @Slot()
    def _on_return_pressed(self) -> None:
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self.node_selected.emit(current.data(PATH_ROLE))
