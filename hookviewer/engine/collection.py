"""What a run has recorded so far, and the names of what it could not record."""

from torch import Tensor

from hookviewer.engine.absence import NO_DATA
from hookviewer.engine.buffers import Buffers
from hookviewer.engine.capture import Capture
from hookviewer.engine.errors import TooLargeError
from hookviewer.engine.plan import Tap


class Collection:
    """Captures and absences, in the order in which they came.

    Args:
        buffers: Where copies get their memory from.
        byte_limit: How much captures may take, gradients that are to come included.
    """

    def __init__(self, buffers: Buffers, byte_limit: int | None = None) -> None:
        self._buffers, self._byte_limit = buffers, byte_limit
        self._byte_count = 0
        buffers.begin_run()
        self.captures: list[Capture] = []
        self.absences: dict[tuple[Tap, int | None, str | None], str] = {}
        self._known: set[Tap] = set()

    def keep(self, tap: Tap, call: int, leaf: str, tensor: Tensor) -> None:
        """Copy ``tensor`` now, before anything can change it.

        Raises:
            TooLargeError: The captures would take more than they may.
        """
        if tensor.is_meta:
            self.miss(tap, call, leaf, NO_DATA)
            return
        if not tap.quantity.is_gradient:
            self.expect(tap, tensor)
        self._known.add(tap)
        self.captures.append(Capture(tap, call, leaf, self._buffers.copy_of(tensor)))

    def expect(self, tap: Tap, tensor: Tensor) -> None:
        """Count ``tensor``, or a gradient of its size, as one that is going to be kept.

        Raises:
            TooLargeError: The captures would take more than they may.
        """
        if self._byte_limit is not None:
            self._byte_count += tensor.numel() * tensor.element_size()
            if self._byte_count > self._byte_limit:
                raise TooLargeError(tap.path, self._byte_limit)

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
