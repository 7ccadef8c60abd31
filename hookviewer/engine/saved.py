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
    is_on = True

    def packed(tensor: Tensor) -> _Packed:
        nonlocal is_on
        if not wanted():
            return None
        is_on = False  # that this function is called shows that these hooks are the innermost
        hooks.__exit__()
        return tensor, version_of(tensor)

    hooks = saved_tensors_hooks(packed, _unpacked)
    hooks.__enter__()
    try:
        yield
    finally:
        if is_on:
            hooks.__exit__()


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
