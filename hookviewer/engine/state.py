"""Leave the model, and everything random, exactly as it was found."""

import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hookviewer.engine.paths import Paths

_CONTAINERS = frozenset({list, dict, set, deque, OrderedDict, defaultdict, Counter})
"""What a module may hold whose contents are put back too; told by their very type, for speed."""


@contextmanager
def preserved(paths: Paths, *, train: bool, seed: int | None) -> Iterator[None]:
    """Run the block in the wanted mode and put back whatever it changed in the model.

    Every module gets its own attributes back (the same objects, with the same contents),
    ``training``, buffers, ``requires_grad`` and ``.grad`` included, and the random states of torch,
    numpy and Python are what they were. Parameters are not copied: a forward that writes to one
    is the only thing not undone.
    """
    parameters = [(p, p.requires_grad, p.grad) for p in paths.parameters()]
    with torch.no_grad():
        modules = [_Attributes(module) for module in paths.by_module]
        buffers = [_Bytes(tensor) for tensor in paths.buffers()]
    try:
        with _random_states(seed):
            if any(module.training != train for module in paths.by_module):
                paths.modules[""].train(train)
            yield
    finally:
        for attributes in modules:
            attributes.restore()
        for parameter, requires_grad, grad in parameters:
            if parameter.requires_grad != requires_grad:
                parameter.requires_grad_(requires_grad)
            if parameter.grad is not grad:
                parameter.grad = grad
        for buffer in buffers:
            buffer.restore()


class _Attributes:
    """What a module held, and what the containers and plain tensors among it held."""

    __slots__ = ("_attributes", "_empty", "_filled", "_present", "_tensors")

    def __init__(self, module: nn.Module) -> None:
        self._present = vars(module)
        self._attributes = dict(self._present)
        self._empty: list[Any] = []
        self._filled: list[tuple[Any, Any]] = []
        self._tensors: list[_Bytes] = []
        for value in self._attributes.values():
            if type(value) in _CONTAINERS:
                if value:
                    self._filled.append((value, value.copy()))
                else:  # nearly all of them, as the dictionaries of hooks
                    self._empty.append(value)
            elif type(value) is Tensor:
                self._tensors.append(_Bytes(value))

    def restore(self) -> None:
        """Put everything back; what was not touched is only looked at."""
        self._present.update(self._attributes)
        if len(self._present) > len(self._attributes):
            for name in self._present.keys() - self._attributes.keys():
                del self._present[name]
        for container in self._empty:
            if container:
                container.clear()
        for container, before in self._filled:
            _refill(container, before)
        for tensor in self._tensors:
            tensor.restore()


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
    """What a tensor held, and the way back that touches it only if it was written to."""

    __slots__ = ("_copy", "_tensor", "_version")

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._version = tensor._version
        self._copy = None if tensor.is_meta else tensor.clone()

    def restore(self) -> None:
        """Copy the old bytes back, if there are others now."""
        if self._copy is None or self._tensor._version == self._version:
            return
        with torch.no_grad():
            self._tensor.copy_(self._copy)


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
