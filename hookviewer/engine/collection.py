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

    def withdraw(self, path: str, call: int) -> None:
        """Forget everything of a call that was none."""
        self.captures = [c for c in self.captures if (c.tap.path, c.call) != (path, call)]
        self.absences = {
            key: reason
            for key, reason in self.absences.items()
            if (key[0].path, key[1]) != (path, call)
        }
        self._known = {tap for tap in self._known if tap.path != path} | {
            *(c.tap for c in self.captures if c.tap.path == path),
            *(tap for tap, _, _ in self.absences if tap.path == path),
        }

    def mentions(self, tap: Tap) -> bool:
        """Whether anything is known of ``tap``, a capture or an absence."""
        return tap in self._known
