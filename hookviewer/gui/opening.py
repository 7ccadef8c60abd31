"""Ask the user what to open: dialogs, and what is dropped on the window."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Signal, Slot
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QFileDialog, QWidget

from hookviewer.engine.errors import HookviewerError
from hookviewer.gui.conductor import Conductor
from hookviewer.gui.examples import EXAMPLES
from hookviewer.gui.model_tasks import Surroundings
from hookviewer.gui.settings import Settings
from hookviewer.gui.widgets.open_model_dialog import OpenModelDialog
from hookviewer.resources import path_of

PICTURE_SUFFIXES = ("png", "jpg", "jpeg", "webp", "gif", "tif", "tiff", "bmp", "ppm")


class Opening(QObject):
    """Opens what the user chooses through the conductor. Choosing alone runs no code."""

    refused = Signal(str)
    """A sentence on what could not be done."""

    def __init__(self, window: QWidget, conductor: Conductor, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._conductor, self._settings = window, conductor, settings
        self._names: tuple[str, ...] = ()
        conductor.surroundings_found.connect(self._on_surroundings_found)

    @Slot()
    def open_model(self) -> None:
        """Let the user choose a model."""
        self._dialog().open()

    @Slot()
    def open_input(self) -> None:
        """Let the user choose a picture file."""
        patterns = " ".join(f"*.{suffix}" for suffix in PICTURE_SUFFIXES)
        kinds = self.tr("Pictures ({patterns})").format(patterns=patterns)
        dialog = QFileDialog(self._window, self.tr("Open input"), self._settings.folder)
        dialog.setNameFilters([kinds, self.tr("All files (*)")])
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.open_file)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot(str)
    def open_file(self, path: str) -> None:
        """Open a picture as input; of a Python file, ask which function makes the model."""
        self._settings.folder = str(Path(path).parent)
        if Path(path).suffix.lower() == ".py":
            dialog = self._dialog()
            dialog.suggest_file(path)
            dialog.open()
        else:
            self._conductor.open_input(path)

    @Slot()
    def save_screenshot(self) -> None:
        """Let the user choose where a picture of the window, as it is now, is written."""
        picture = self._window.grab()
        dialog = QFileDialog(self._window, self.tr("Save picture"), self._settings.folder)
        dialog.setNameFilter(self.tr("PNG pictures (*.png)"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.fileSelected.connect(partial(self._save, picture))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def open_example(self, name: str) -> None:
        """Open one of the examples that come with hookviewer."""
        example = EXAMPLES[name]
        try:
            file = path_of("examples", example.file)
        except HookviewerError as error:
            self.refused.emit(str(error))
            return
        model, given = f"{file}:{example.model}", f"{file}:{example.input}"
        self._conductor.open_model(model, given, example.path, example.target)

    def _save(self, picture: QPixmap, path: str) -> None:
        self._settings.folder = str(Path(path).parent)
        if not picture.save(path):
            self.refused.emit(self.tr("'{path}' cannot be written.").format(path=path))

    @staticmethod
    def accepts(dropped: QMimeData) -> bool:
        """Whether ``dropped`` is one local file."""
        return len(dropped.urls()) == 1 and dropped.urls()[0].isLocalFile()

    def open_dropped(self, dropped: QMimeData) -> None:
        """Open the file that was dropped on the window."""
        self.open_file(dropped.urls()[0].toLocalFile())

    def _dialog(self) -> OpenModelDialog:
        dialog = OpenModelDialog(self._names, self._settings.folder, self._window)
        dialog.spec_chosen.connect(self._conductor.open_model)
        return dialog

    @Slot(object)
    def _on_surroundings_found(self, surroundings: Surroundings) -> None:
        self._names = surroundings.torchvision_names
        for dialog in self._window.findChildren(OpenModelDialog):
            dialog.offer(self._names)
