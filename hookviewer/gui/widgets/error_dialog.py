"""Tell what went wrong, with the details to copy."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget


class ErrorDialog(QMessageBox):
    """Does not block the window; copying the details leaves it open."""

    def __init__(self, sentence: str, details: str, parent: QWidget | None = None) -> None:
        super().__init__(QMessageBox.Icon.Warning, "hookviewer", sentence, parent=parent)
        self._details = details
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.addButton(QMessageBox.StandardButton.Close)
        self.copy_button = self.addButton(
            self.tr("Copy details"), QMessageBox.ButtonRole.ActionRole
        )
        self.copy_button.clicked.disconnect()  # a message box closes on any button
        self.copy_button.clicked.connect(self._on_copy)
        if details:
            self.setDetailedText(details)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self.text()}\n\n{self._details}".strip())


def show_error(sentence: str, details: str, window: QWidget) -> None:
    """Open a dialog, unless one says the very same: an error in painting comes again and again."""
    dialogs = [dialog for dialog in window.findChildren(ErrorDialog) if dialog.isVisible()]
    if sentence not in [dialog.text() for dialog in dialogs]:
        ErrorDialog(sentence, details, window).open()
