"""Put what a run needs on the device that a user names, and leave what is the user's in place."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hookviewer.engine.errors import CannotRunError
from hookviewer.engine.leaves import map_leaves
from hookviewer.engine.plan import Inputs


def known_device(name: str) -> torch.device:
    """Return the device called ``name``, with its number where it has one.

    Raises:
        CannotRunError: There is no such device, or this torch cannot use it.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # what torch raises depends on the device
        reason = str(error).partition("\n")[0].rstrip(".")
        raise CannotRunError(f"The device '{name}' cannot be used: {reason}.") from None


def model_on(device: torch.device, model: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``model`` if all of it is on ``device``, or else a copy of it there.

    A callable that is no module has nothing to be moved.

    Raises:
        CannotRunError: The model cannot be copied, or has no room there.
    """
    if not isinstance(model, nn.Module):
        return model
    tensors = [*model.parameters(), *model.buffers()]
    if all(tensor.device == device for tensor in tensors):
        return model
    try:
        return copy.deepcopy(model).to(device)
    except Exception as error:  # whatever an attribute of the model raises when it is copied
        reason = str(error).partition("\n")[0].rstrip(".")
        raise CannotRunError(
            f"No copy of this model can be put on '{device}': {reason}. Move the model there "
            "yourself, and name no device."
        ) from None


def inputs_on(device: torch.device, inputs: Inputs) -> Inputs:
    """Return ``inputs`` with every tensor on ``device``; one given twice is one there too."""
    moved: dict[int, Tensor] = {}

    def placed(_leaf: str, tensor: Tensor) -> Tensor:
        return moved.setdefault(id(tensor), tensor.to(device))

    args, kwargs = map_leaves((inputs.args, dict(inputs.kwargs)), placed)
    return Inputs(*args, **kwargs)
