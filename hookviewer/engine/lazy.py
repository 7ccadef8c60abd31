"""See that a model can be run: not without numbers, and a lazy one on a copy."""

import copy
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn.parameter import UninitializedBuffer

from hookviewer.engine.errors import CannotRunError
from hookviewer.engine.paths import Paths, is_uninitialised


def runnable(paths: Paths) -> Paths:
    """Return ``paths``, or those of a copy of a lazy model: looking must not initialise it.

    Raises:
        CannotRunError: The model has no numbers to compute with, or cannot be copied.
    """
    tensors = [*paths.parameters, *paths.buffers]
    if any(tensor.is_meta for tensor in tensors):
        raise CannotRunError(
            "This model is on the meta device: it has shapes but no numbers. Load weights into it."
        )
    lazy = [tensor for tensor in tensors if is_uninitialised(tensor)]
    return Paths(_copied(paths.model, lazy)) if lazy else paths


def _copied(model: Callable[..., Any], lazy: list[Tensor]) -> Callable[..., Any]:
    try:
        return copy.deepcopy(model, {id(tensor): _empty(tensor) for tensor in lazy})
    except Exception as error:  # whatever an attribute of the model raises
        raise CannotRunError(
            "This model is lazy and cannot be copied. Run it once yourself, which gives it its "
            f"shapes. ({error})"
        ) from error


def _empty(tensor: Tensor) -> Tensor:
    """Return a copy of a lazy tensor; of a buffer, torch itself knows no way to make one."""
    if not isinstance(tensor, UninitializedBuffer):
        return copy.deepcopy(tensor)
    kind: Any = UninitializedBuffer
    buffer: Tensor = kind(
        tensor.requires_grad, tensor.device, tensor.dtype, persistent=tensor.persistent
    )
    return buffer
