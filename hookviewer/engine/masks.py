"""Keep the masks of attention out of the graph, where only a recording has put them into it."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from torch import Tensor
from torch.nn import functional

_SCALED_DOT_PRODUCT = ("query", "key", "value", "attn_mask")


def without_planted_masks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_planted: Callable[[Tensor], bool],
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Return arguments with masks that require no gradient, and whether any did.

    For a mask that wants a gradient attention takes another kernel, which gives other bits.

    Args:
        function: What is going to be called.
        args: Its positional arguments.
        kwargs: Its keywords.
        is_planted: Whether a tensor would not require a gradient if nothing was recorded.
    """
    names = _names_of(function)
    planted = {
        name
        for name, value in (*zip(names, args, strict=False), *kwargs.items())
        if "mask" in name and isinstance(value, Tensor) and is_planted(value)
    }
    if not planted:
        return args, kwargs, False
    plain = tuple(
        value.detach() if index < len(names) and names[index] in planted else value
        for index, value in enumerate(args)
    )
    return plain, {k: v.detach() if k in planted else v for k, v in kwargs.items()}, True


@cache
def _names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    if function is functional.scaled_dot_product_attention:
        return _SCALED_DOT_PRODUCT  # which has no signature
    return tuple(inspect.signature(function).parameters)
