"""Choose a model: a built-in one, one of torchvision's, or one made by the user's Python code."""

from pathlib import Path

from PySide6.QtCore import QStringListModel, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from hookviewer.sources.script import candidates


class OpenModelDialog(QDialog):
    """One line to type in, a list that follows it, a button for Python files.

    Nothing is run before the user accepts; what is typed is what is opened.
    """

    spec_chosen = Signal(str)

    def __init__(
        self, torchvision_names: tuple[str, ...], folder: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._specs: list[str] = []
        self._folder, self._is_about_file = folder, False
        self.setWindowTitle(self.tr("Open model"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(520, 460)
        self.edit = QLineEdit(placeholderText=self.tr("search, or type script.py:factory"))
        self.edit.textEdited.connect(self._on_text_edited)
        self._model = QStringListModel(self)
        self.list = QListView()
        self.list.setAccessibleName(self.tr("Models"))
        self.list.setModel(self._model)
        self.list.clicked.connect(self._on_row_chosen)
        self.list.activated.connect(self._on_row_accepted)
        browse = QPushButton(self.tr("Python file …"))
        browse.clicked.connect(self._on_browse)
        row = QHBoxLayout()
        row.addWidget(self.edit, stretch=1)
        row.addWidget(browse)
        help_text = QLabel(
            self.tr(
                "torchvision's models open with random weights; add ?weights=DEFAULT for trained "
                "ones that are already on this machine. Your own: script.py:factory or "
                "package.module:factory, a function that returns the model. Opening it runs it."
            )
        )
        help_text.setWordWrap(True)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(row)
        layout.addWidget(self.list, stretch=1)
        layout.addWidget(help_text)
        layout.addWidget(self.buttons)
        self._enable()
        self.offer(torchvision_names)

    @property
    def spec(self) -> str:
        """What the user wants to open; a part of a listed name stands for the first that has it."""
        text, found = self.edit.text().strip(), self._model.stringList()
        is_search = bool(text) and ":" not in text and "." not in text
        return found[0] if is_search and found else text

    def offer(self, torchvision_names: tuple[str, ...]) -> None:
        """List the models that have names, which are known only a while after the start."""
        self._specs = ["demo", *(f"torchvision:{name}" for name in torchvision_names)]
        if not self._is_about_file:
            self._on_text_edited(self.edit.text())

    def accept(self) -> None:
        """Announce the choice."""
        if self.spec:
            self.spec_chosen.emit(self.spec)
            super().accept()

    def suggest_file(self, path: str) -> None:
        """Offer the functions of a Python file, which is read but not run."""
        self._is_about_file = True
        factories = candidates(Path(path))
        self._model.setStringList([f"{path}:{name}" for name in factories])
        self.edit.setText(f"{path}:{factories[0]}" if factories else f"{path}:")
        self._enable()

    def _enable(self) -> None:
        self.buttons.button(QDialogButtonBox.StandardButton.Open).setEnabled(bool(self.spec))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from the line to the list with the arrow key."""
        if event.key() == Qt.Key.Key_Down and self.edit.hasFocus():
            self.list.setFocus(Qt.FocusReason.TabFocusReason)
            self.list.setCurrentIndex(self._model.index(0))
        else:
            super().keyPressEvent(event)

    @Slot(str)
    def _on_text_edited(self, text: str) -> None:
        self._is_about_file = False
        words = text.lower().split()
        found = [spec for spec in self._specs if all(word in spec for word in words)]
        found.sort(key=lambda spec: spec.rpartition(":")[2] != text.strip().lower())
        self._model.setStringList(found)
        self._enable()

    @Slot()
    def _on_row_chosen(self) -> None:
        self.edit.setText(self.list.currentIndex().data(Qt.ItemDataRole.DisplayRole))
        self._enable()

    @Slot()
    def _on_row_accepted(self) -> None:
        self._on_row_chosen()
        self.accept()

    @Slot()
    def _on_browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, self.tr("Python file"), self._folder, self.tr("Python files (*.py)")
        )
        if path:
            self.suggest_file(path)
