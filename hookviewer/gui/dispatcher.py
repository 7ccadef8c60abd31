"""Do this elsewhere; only the newest counts: the window's half and the thread's half."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal, Slot

from hookviewer.engine.cancel import Cancelled, CancelToken

Task = Callable[[CancelToken], Any]
Then = Callable[[Any], None]


class _Worker(QObject):
    """Lives in the worker thread and runs one task after the other."""

    succeeded = Signal(int, object)
    failed = Signal(int, object)

    @Slot(int, object, object)
    def perform(self, ticket: int, task: Task, token: CancelToken) -> None:
        """Run ``task`` and report how it ended, unless it was cancelled."""
        try:
            token.check()
            result = task(token)
        except Cancelled:
            return
        except BaseException as error:  # the GUI thread decides what it means, also a SystemExit
            self.failed.emit(ticket, error)
        else:
            self.succeeded.emit(ticket, result)


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    """A task that was handed over and whose answer is still wanted."""

    ticket: int
    token: CancelToken
    then: Then
    otherwise: Then


class Dispatcher(QObject):
    """Lives in the GUI thread and owns one worker thread.

    Tasks of one key replace each other: a new one cancels the one before it, and an answer whose
    ticket is no longer the newest of its key is dropped, as it may already have been on its way.
    """

    busy_changed = Signal(bool)
    _requested = Signal(int, object, object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._last_ticket = 0
        self._pending: dict[str, _Pending] = {}
        self._thread = QThread()
        self._thread.setObjectName(name)
        self._worker = _Worker()
        self._worker.moveToThread(self._thread)
        self._requested.connect(self._worker.perform)
        self._worker.succeeded.connect(self._on_succeeded)
        self._worker.failed.connect(self._on_failed)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether an answer is still awaited."""
        return bool(self._pending)

    def submit(self, key: str, task: Task, then: Then, otherwise: Then) -> None:
        """Run ``task`` in the worker; then ``then(result)`` or ``otherwise(error)`` here."""
        was_busy = self.busy
        if key in self._pending:
            self._pending.pop(key).token.cancel()
        self._last_ticket += 1
        pending = _Pending(self._last_ticket, CancelToken(), then, otherwise)
        self._pending[key] = pending
        if not was_busy:
            self.busy_changed.emit(True)
        self._requested.emit(pending.ticket, task, pending.token)

    def cancel(self, key: str | None = None) -> None:
        """Give up what was submitted under ``key``, or everything. No answer will come."""
        was_busy = self.busy
        for each in [key] if key else list(self._pending):
            pending = self._pending.pop(each, None)
            if pending is not None:
                pending.token.cancel()
        if was_busy:
            self._announce_idle()

    def shutdown(self, patience: int = 5_000) -> bool:
        """Cancel, and wait up to ``patience`` milliseconds for the thread; return if it ended."""
        self.cancel()
        self._thread.quit()
        return self._thread.wait(patience)

    @Slot(int, object)
    def _on_succeeded(self, ticket: int, result: object) -> None:
        pending = self._take(ticket)
        if pending is not None:
            self._answer(pending.then, result)

    @Slot(int, object)
    def _on_failed(self, ticket: int, error: BaseException) -> None:
        pending = self._take(ticket)
        if pending is not None:
            self._answer(pending.otherwise, error)

    def _answer(self, receiver: Then, answer: object) -> None:
        try:
            receiver(answer)
        finally:  # a receiver that fails must not leave the window busy for ever
            self._announce_idle()

    def _take(self, ticket: int) -> _Pending | None:
        for key, pending in self._pending.items():
            if pending.ticket == ticket:
                return self._pending.pop(key)
        return None

    def _announce_idle(self) -> None:
        if not self.busy:
            self.busy_changed.emit(False)
