"""Leave the model, and everything random, exactly as it was found."""

import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_MUTABLE = (list, dict, set, deque)


@contextmanager
def preserved(model: Callable[..., Any], *, train: bool, seed: int | None) -> Iterator[None]:
    """Run the block in the wanted mode and put back whatever it changed.

    Every module gets its own attributes back (the same objects, with the same contents),
    ``training``, buffers, ``requires_grad`` and ``.grad`` included, and the random states of torch,
    numpy and Python are what they were. Parameters are not copied: a forward that writes to one
    is the only thing not undone.
    """
    with ExitStack() as stack:
        stack.enter_context(_random_states(seed))
        if isinstance(model, nn.Module):
            for module in model.modules():
                stack.callback(_restorer(module))
            for parameter in model.parameters():
                stack.callback(_restore, parameter, parameter.requires_grad, parameter.grad)
            model.train(train)
        yield


def _restorer(module: nn.Module) -> Callable[[], None]:
    """Remember what ``module`` holds and return the function that puts it back."""
    attributes = dict(vars(module))
    contents = {
        name: value.copy() for name, value in attributes.items() if isinstance(value, _MUTABLE)
    }
    buffers = [_Bytes(tensor) for tensor in module._buffers.values() if tensor is not None]
    buffers += [_Bytes(value) for value in attributes.values() if type(value) is Tensor]

    def restore() -> None:
        present = vars(module)
        for name in present.keys() - attributes.keys():
            del present[name]
        present.update(attributes)
        for name, before in contents.items():
            _refill(attributes[name], before)
        for buffer in buffers:
            buffer.restore()

    return restore


def _refill(container: Any, before: Any) -> None:
    """Give ``container`` the items of ``before``, unless it holds these very objects."""
    if [id(part) for part in _parts(container)] == [id(part) for part in _parts(before)]:
        return
    container.clear()
    if isinstance(container, dict | set):
        container.update(before)
    else:
        container.extend(before)


def _parts(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


class _Bytes:
    """What a buffer held, and the way back that touches it only if it was written to."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._version = tensor._version
        self._copy = None if tensor.is_meta else tensor.detach().clone()

    def restore(self) -> None:
        if self._copy is None or self._tensor._version == self._version:
            return
        with torch.no_grad():
            self._tensor.copy_(self._copy)


def _restore(parameter: Tensor, requires_grad: bool, grad: Tensor | None) -> None:
    if parameter.requires_grad != requires_grad:
        parameter.requires_grad_(requires_grad)
    if parameter.grad is not grad:
        parameter.grad = grad


@contextmanager
def _random_states(seed: int | None) -> Iterator[None]:
    numpy_state, python_state = np.random.get_state(), random.getstate()
    devices: list[int] = []
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        try:
            if seed is not None:
                torch.manual_seed(seed)
                np.random.seed(seed % 2**32)
                random.seed(seed)
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)
