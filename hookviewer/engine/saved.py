"""Let the graph keep no values for a backward that will not come by."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from hookviewer.engine.again import NothingSaved
from hookviewer.engine.graph import version_of

_Packed = tuple[Tensor, int] | None


@contextmanager
def nothing_saved_until(wanted: Callable[[], bool]) -> Iterator[None]:
    """Let what the block computes keep values for backward only once ``wanted()`` is true.

    A gradient flows from the target to where it is wanted through operations that came later, so
    what earlier ones would need is not. Tensors require gradients as ever, and every operation is
    the same; only the memory of the values is not held.

    Raises:
        NothingSaved: In the block or in a later backward: values were needed after all, as by a
            model that differentiates in its forward.
    """
    if wanted():
        yield
        return
    saving = _Saving(wanted)
    try:
        yield
    finally:
        saving.end()


class _Saving:
    """Hooks that keep nothing at first, and take themselves away.

    The graph holds them for as long as it lives, so at the end they let go of all that they hold.
    """

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted: Callable[[], bool] | None = wanted
        self._hooks: saved_tensors_hooks | None = saved_tensors_hooks(self._packed, _unpacked)
        self._hooks.__enter__()

    def end(self) -> None:
        """Take the hooks away, unless that was done."""
        hooks, self._hooks, self._wanted = self._hooks, None, None
        if hooks is not None:
            hooks.__exit__()

    def _packed(self, tensor: Tensor) -> _Packed:
        if self._wanted is not None and not self._wanted():
            return None
        self.end()  # that this function is called shows that these hooks are the innermost
        kept = tensor.detach()  # with its graph, the output of a node would hold that node
        return kept, version_of(kept)


def is_about_hooks(error: Exception) -> bool:
    """Whether ``error`` is torch's refusal to compute while there are such hooks."""
    return "saved tensor hooks" in str(error)


def _unpacked(packed: _Packed) -> Tensor:
    if packed is None:
        raise NothingSaved
    tensor, version = packed
    if version_of(tensor) != version:  # torch itself does not look where there are hooks
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation"
        )
    return tensor
