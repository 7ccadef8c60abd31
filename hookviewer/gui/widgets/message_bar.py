"""A strip that says what went wrong, until the next thing goes right."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget


class MessageBar(QWidget):
    """One sentence, a button for its details, a button to close it."""

    details_wanted = Signal(str, str)
    """Sentence and details."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._details = ""
        self.setObjectName("message-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet(
            "#message-bar { background: #8f2d2d; } #message-bar QLabel { color: white; }"
        )
        self.label = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.details_button = QToolButton()
        self.details_button.setText(self.tr("Details …"))
        self.details_button.clicked.connect(self._on_details_clicked)
        close = QToolButton()
        close.setText(self.tr("Close"))
        close.clicked.connect(self.hide)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.addWidget(self.label, stretch=1)
        layout.addWidget(self.details_button)
        layout.addWidget(close)
        self.hide()

    def show_message(self, sentence: str, details: str = "") -> None:
        """Say ``sentence``; ``details`` are offered behind a button."""
        self._details = details
        self.label.setText(sentence)
        self.details_button.setVisible(bool(details))
        self.show()

    def _on_details_clicked(self) -> None:
        self.details_wanted.emit(self.label.text(), self._details)
