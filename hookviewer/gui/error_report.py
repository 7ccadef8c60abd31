"""See to it that no error is lost: those of slots and threads reach the user and a log file."""

import logging
import sys
import threading
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    QStandardPaths,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)

from hookviewer.engine.errors import HookviewerError

_logger = logging.getLogger("hookviewer")


def log_path() -> Path:
    """Return where the log file lies."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppDataLocation)
    return Path(folder) / "hookviewer.log"


class ErrorReport(QObject):
    """Lives in the GUI thread; from install to uninstall it gets what nobody caught.

    Errors of other threads arrive through a queued signal.
    """

    reported = Signal(str, str)
    """A sentence and its details."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._log: logging.Handler | None = None
        self._hooks = sys.excepthook, threading.excepthook
        self._qt_handler: Any = None

    def install(self) -> None:
        """Take over the hooks of Python for uncaught errors, and open the log file."""
        self._hooks = sys.excepthook, threading.excepthook
        sys.excepthook = self._on_uncaught
        threading.excepthook = self._on_uncaught_in_thread
        self._qt_handler = qInstallMessageHandler(_log_qt_message)
        try:
            log_path().parent.mkdir(parents=True, exist_ok=True)
            self._log = RotatingFileHandler(log_path(), maxBytes=1_000_000, backupCount=1)
        except OSError:  # a read-only home; the dialog still tells
            return
        self._log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        _logger.addHandler(self._log)
        _logger.setLevel(logging.INFO)
        _logger.propagate = False

    def uninstall(self) -> None:
        """Give the hooks back and close the log file."""
        sys.excepthook, threading.excepthook = self._hooks
        qInstallMessageHandler(self._qt_handler)
        if self._log is not None:
            _logger.removeHandler(self._log)
            self._log.close()
            self._log = None

    def report(self, error: BaseException) -> None:
        """Write ``error`` to the log and tell the user about it. Safe from any thread."""
        sentence = self.sentence_of(error)
        if isinstance(error, HookviewerError):
            details = error.details
            _logger.warning("%s\n%s", sentence, details)
        else:
            details = "".join(traceback.format_exception(error))
            _logger.error("%s\n%s", sentence, details)
        self.reported.emit(sentence, details)

    def sentence_of(self, error: BaseException) -> str:
        """Return what the user reads of ``error``."""
        if isinstance(error, HookviewerError):
            return str(error)
        sentence = self.tr("Something went wrong inside hookviewer: {kind}: {what}")
        return sentence.format(kind=type(error).__name__, what=error)

    def _on_uncaught(
        self,
        kind: type[BaseException],
        error: BaseException,
        place: TracebackType | None,
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, place)
        else:
            self.report(error)

    def _on_uncaught_in_thread(self, caught: threading.ExceptHookArgs) -> None:
        if caught.exc_value is not None:
            self.report(caught.exc_value)


def _log_qt_message(_kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    _logger.info("Qt: %s", text)  # to nobody's use in a terminal, as what a platform lacks
