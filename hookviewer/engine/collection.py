"""What a run has recorded so far, and the names of what it could not record."""

from torch import Tensor

from hookviewer.engine.capture import Capture
from hookviewer.engine.plan import Tap


class Collection:
    """Captures and absences, in the order in which they came."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.absences: dict[tuple[Tap, int | None, str | None], str] = {}
        self._known: set[Tap] = set()

    def keep(self, tap: Tap, call: int, leaf: str, tensor: Tensor) -> None:
        """Copy ``tensor`` now, before anything can change it."""
        self._known.add(tap)
        copied = tensor.detach().to("cpu", copy=True)
        self.captures.append(Capture(tap, call, leaf, copied))

    def miss(self, tap: Tap, call: int | None, leaf: str | None, reason: str) -> None:
        """Note why there is nothing; None stands for every call or leaf."""
        self._known.add(tap)
        self.absences[tap, call, leaf] = reason

    def forget(self, tap: Tap, call: int, leaf: str) -> None:
        """Take an absence back."""
        del self.absences[tap, call, leaf]

    def mentions(self, tap: Tap) -> bool:
        """Whether anything is known of ``tap``, a capture or an absence."""
        return tap in self._known
