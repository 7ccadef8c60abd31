"""A combo box that the mouse wheel does not change in passing."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QWidget


class Chooser(QComboBox):
    """Says in its tool tip what it is for; leaves the wheel alone until it has the focus."""

    def __init__(self, name: str, purpose: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setToolTip(purpose or name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Choose only what the user means to choose."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
