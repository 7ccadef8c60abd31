"""Start the window: on the screen, or painted to a file where there is none to see it."""

import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, QTimer, Slot
from PySide6.QtWidgets import QApplication

from hookviewer.engine.errors import HookviewerError
from hookviewer.gui.error_report import ErrorReport
from hookviewer.gui.main_window import MainWindow
from hookviewer.gui.settings import Settings
from hookviewer.gui.theme import apply_theme


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """What the window starts with.

    Attributes:
        model: The spec of the model.
        input: The spec of its input.
        path: The node to select; empty chooses one.
        device: Where the model runs.
        train: Whether it runs in train mode.
        seed: Where random numbers start, in train mode.
        screenshot: Paint the window to this file and end, instead of showing it.
        size: Width and height of the window; None takes the last ones.
    """

    model: str = "demo"
    input: str = "demo"
    path: str = ""
    device: str = "cpu"
    train: bool = False
    seed: int = 0
    screenshot: Path | None = None
    size: tuple[int, int] | None = None


def run(options: WindowOptions) -> int:
    """Show the window until it is closed, or paint it to a file; return the exit code."""
    application = QApplication(sys.argv[:1])
    application.setApplicationName("hookviewer")
    with tempfile.TemporaryDirectory() as folder:
        fresh = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        stored = QSettings("hookviewer", "hookviewer")
        settings = Settings(stored if options.screenshot is None else fresh)
        apply_theme(dark=settings.dark)
        report = ErrorReport()
        report.install()
        window = MainWindow(settings, report)
        start = _Start(window, options)
        if options.size is not None:
            window.resize(*options.size)
        if options.screenshot is not None:
            _Photographer(window, report, options.screenshot)
        window.painted.connect(start.begin)
        window.show()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Qt's loop would never see Ctrl+C
        code = application.exec()
        report.uninstall()
    if not window.shutdown(patience=0):  # closing has waited for them
        sys.stderr.flush()
        os._exit(code)  # destroying a thread that cannot be stopped would abort the process
    return code


class _Start(QObject):
    """Begins the work once the window can be seen, and not before."""

    def __init__(self, window: MainWindow, options: WindowOptions) -> None:
        super().__init__(window)
        self._window, self._options = window, options

    @Slot()
    def begin(self) -> None:
        window, options = self._window, self._options
        window.workspace.set_train(options.train)
        window.tools.show_train(options.train)
        window.workspace.set_seed(options.seed)
        window.conductor.look_around()
        window.conductor.set_device(options.device)
        window.conductor.open_model(options.model, options.input, options.path)


class _Photographer(QObject):
    """Saves the window once everything is painted, then closes it; an error ends it too."""

    def __init__(self, window: MainWindow, report: ErrorReport, path: Path) -> None:
        super().__init__(window)
        self._window, self._report, self._path = window, report, path
        window.settled.connect(self._on_settled)
        window.conductor.failed.connect(self._on_failed)
        report.reported.connect(self._fail)

    @Slot()
    def _on_settled(self) -> None:
        QTimer.singleShot(0, self, self._shoot)  # let the last labels find their places

    @Slot()
    def _shoot(self) -> None:
        if self._window.busy or self._window.workspace.run is None:
            return
        kind = None if self._path.suffix else "PNG"
        if self._window.grab().save(str(self._path), kind):
            self._end(0)
        else:
            sentence = f"'{self._path}' cannot be written; choose a PNG file in an existing folder."
            self._fail(sentence)

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        if isinstance(error, HookviewerError):  # any other is reported
            self._fail(str(error))

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        sys.stderr.write(f"hookviewer: {' '.join(sentence.split())}\n")
        self._end(1)

    def _end(self, code: int) -> None:
        self._window.settled.disconnect(self._on_settled)
        self._window.conductor.failed.disconnect(self._on_failed)
        self._report.reported.disconnect(self._fail)
        self._window.close()
        QApplication.exit(code)
