"""The likeliest classes for a table view."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from hookviewer.gui.model_tasks import Prediction

Index = QModelIndex | QPersistentModelIndex
CLASS_ROLE = Qt.ItemDataRole.UserRole
PROBABILITY_ROLE = Qt.ItemDataRole.UserRole + 1
_NOWHERE = QModelIndex()


class PredictionsModel(QAbstractTableModel):
    """One row per class: its name and its probability."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._predictions: tuple[Prediction, ...] = ()

    def set_predictions(self, predictions: tuple[Prediction, ...]) -> None:
        """Show other classes."""
        self.beginResetModel()
        self._predictions = predictions
        self.endResetModel()

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        """Return the number of classes."""
        return 0 if parent.isValid() else len(self._predictions)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        """Return one column for the name and one for the probability."""
        return 0 if parent.isValid() else 2

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows, or a row's class and probability."""
        if not index.isValid():
            return None
        number, name, probability = self._predictions[index.row()]
        if role == CLASS_ROLE:
            return number
        if role == PROBABILITY_ROLE:
            return probability
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{probability:.3f}" if index.column() else name
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.tr("{name}, class {number}: make it the target").format(
                name=name, number=number
            )
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return the column titles."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("class"), self.tr("probability"))[section]
        return None
