"""Take a function mode off while it is on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import overrides
from torch.overrides import TorchFunctionMode

_torch: Any = overrides  # what puts modes on and off has no public name


@contextmanager
def without(mode: TorchFunctionMode) -> Iterator[None]:
    """Run the block without ``mode``; other modes stay on, in their order.

    Nothing changes where it is not on, as inside of its own ``__torch_function__``.
    """
    if not any(each is mode for each in _torch._get_current_function_mode_stack()):
        yield
        return
    above: list[TorchFunctionMode] = []
    while (top := _torch._pop_mode()) is not mode:
        above.insert(0, top)
    _push(*above)
    try:
        yield
    finally:
        for _ in above:
            _torch._pop_mode()
        _push(mode, *above)


def _push(*modes: TorchFunctionMode) -> None:
    for mode in modes:
        _torch._push_mode(mode)
