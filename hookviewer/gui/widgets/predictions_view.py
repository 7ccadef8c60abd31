"""The likeliest classes as bars; a click makes one the target."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from hookviewer.gui.model_tasks import Prediction
from hookviewer.gui.models.predictions import CLASS_ROLE, PROBABILITY_ROLE, PredictionsModel

_NUMBER_WIDTH = 44


class _BarDelegate(QStyledItemDelegate):
    """Draws a probability as a bar with its number."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw the bar behind the number."""
        palette, rect = option.palette, option.rect
        role = QPalette.ColorRole
        is_target = bool(option.state & QStyle.StateFlag.State_Selected)
        back, front = (role.Mid, role.Base) if is_target else (role.AlternateBase, role.Highlight)
        if is_target:
            painter.fillRect(rect, palette.color(role.Highlight))
        room = rect.adjusted(2, 6, -_NUMBER_WIDTH - 4, -6)
        bar = QRect(room)
        bar.setWidth(round(room.width() * index.data(PROBABILITY_ROLE)))
        painter.fillRect(room, palette.color(back))
        painter.fillRect(bar, palette.color(front))
        painter.setPen(palette.color(role.HighlightedText if is_target else role.Text))
        place = QRect(rect.right() - _NUMBER_WIDTH, rect.top(), _NUMBER_WIDTH - 4, rect.height())
        painter.drawText(
            place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, index.data()
        )


class PredictionsView(QWidget):
    """A table of classes, or a sentence where the output is no table of scores."""

    class_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = PredictionsModel(self)
        self.table = QTableView()
        self.table.setModel(self._model)
        self.table.setItemDelegateForColumn(1, _BarDelegate(self))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setShowGrid(False)
        self.table.setTabKeyNavigation(False)  # the key leads on to the next part of the window
        self.table.setAccessibleName(self.tr("Predictions"))
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().hide()
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.table.clicked.connect(self._on_index_chosen)
        self.table.activated.connect(self._on_index_chosen)
        self._nothing = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self._nothing.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self.table)
        layout.addWidget(self._nothing)
        self.show_predictions(())

    def show_predictions(self, predictions: tuple[Prediction, ...]) -> None:
        """Show other classes, likeliest first."""
        self._model.set_predictions(predictions)
        self.table.setVisible(bool(predictions))
        self._nothing.setHidden(bool(predictions))
        self._nothing.setText(self.tr("No class scores."))

    def show_target(self, index: int | None) -> None:
        """Mark the row of the class that is the target, if it is among them."""
        self.table.clearSelection()
        for row in range(self._model.rowCount()):
            if self._model.index(row, 0).data(CLASS_ROLE) == index:
                self.table.selectRow(row)

    @Slot(QModelIndex)
    def _on_index_chosen(self, index: QModelIndex) -> None:
        self.class_chosen.emit(index.data(CLASS_ROLE))
