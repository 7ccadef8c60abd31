"""Stop a run from another thread."""

import threading


class Cancelled(BaseException):
    """Raised inside a run that was asked to stop.

    Not an ``Exception``, so that a model that catches its own errors lets it pass.
    """


class Finished(BaseException):
    """Raised inside a forward that has nothing left to record."""


class CancelToken:
    """The one object that two threads may both touch."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked the run to stop."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Ask the run to stop. Safe from any thread, any number of times."""
        self._event.set()

    def check(self) -> None:
        """Raise ``Cancelled`` if the run was asked to stop."""
        if self._event.is_set():
            raise Cancelled
