"""Leave the model, and everything random, exactly as it was found."""

import random
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hookviewer.engine.graph import is_strided
from hookviewer.engine.paths import Paths, is_scripted, is_uninitialised

_MUTABLE = (list, dict, set, deque)
_DICTIONARIES = frozenset({dict, OrderedDict})
_SMALL = 1 << 16
"""How many numbers a tensor may have to be compared together with others."""
_SIMPLE = frozenset({bool, int, float, str, type(None)})
"""What most attributes are; looking at each of thousands in turn is what takes time here."""


@contextmanager
def preserved(paths: Paths, *, train: bool, seed: int | None) -> Iterator[None]:
    """Run the block in the wanted mode and put back whatever it changed in the model.

    Every module gets its own attributes back, ``training`` included: the same objects, and the same
    contents of those that are containers or arrays. Every parameter and buffer is the same tensor
    with the same memory, ``requires_grad`` and ``.grad``, which is None meanwhile. The bytes of
    buffers are what they were; those of parameters too where train mode, or a switch of the mode by
    a method of the model's own, might write to them. The random states of torch, numpy and Python
    are what they were.
    """
    switch = any(module.training != train for module in paths.by_module)
    at_risk = paths.parameters() if train else _parameters_switched_by_hand(paths) if switch else []
    with ExitStack() as stack, _random_states(seed):
        for module in filter(is_scripted, paths.by_module):  # its mode is no attribute of Python's
            stack.callback(setattr, module, "training", module.training)
        parameters = {id(parameter): parameter for parameter in paths.parameters()}
        gradients = [(p, p.grad) for p in parameters.values()]
        attributes = [_Attributes(module) for module in paths.by_module]
        held = {id(tensor): tensor for each in attributes for tensor in each.tensors}
        every = [t for t in (held | parameters).values() if not is_uninitialised(t)]
        stack.callback(_put_back_gradients, gradients)
        stack.callback(
            _Contents([*(t for t in every if id(t) not in parameters), *at_risk]).restore
        )
        stack.callback(_restore, [_Identity(tensor) for tensor in every])
        stack.callback(_restore, attributes)
        for parameter, gradient in gradients:
            if gradient is not None:
                parameter.grad = None
        if switch:
            paths.modules[""].train(train)
        yield


def _parameters_switched_by_hand(paths: Paths) -> list[Tensor]:
    """Return the parameters of modules with a ``train`` of their own, which may merge weights."""
    modules = [module for module in paths.by_module if type(module).train is not nn.Module.train]
    return [tensor for module in modules for tensor in module.parameters(recurse=False)]


def _put_back_gradients(gradients: Iterable[tuple[Tensor, Tensor | None]]) -> None:
    for parameter, gradient in gradients:
        if parameter.grad is not gradient:
            parameter.grad = gradient


def _restore(parts: Iterable[Any]) -> None:
    for part in parts:
        part.restore()


class _Attributes:
    """What a module held, and what the containers among it held.

    Attributes:
        tensors: Every tensor that it held.
    """

    __slots__ = ("_arrays", "_attributes", "_empty", "_filled", "_present", "_seen", "tensors")

    def __init__(self, module: nn.Module) -> None:
        self._present = vars(module)
        self._attributes = dict(self._present)
        self._empty: list[Any] = []
        self._filled: list[tuple[Any, Any]] = []
        self._arrays: list[tuple[Any, Any]] = []
        self._seen: set[int] = set()
        self.tensors: list[Tensor] = []
        for value in self._attributes.values():
            kind = type(value)
            if kind in _DICTIONARIES and not value:  # nearly all are, those of hooks
                self._empty.append(value)
            elif kind not in _SIMPLE:
                self._note(value)

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
        for array, before in self._arrays:
            array[...] = before

    def _note(self, value: Any) -> None:
        if isinstance(value, _MUTABLE):
            self._note_parts(value)
        elif isinstance(value, tuple):
            for part in value:
                if type(part) not in _SIMPLE:
                    self._note(part)
        elif isinstance(value, Tensor):
            self.tensors.append(value)
        elif isinstance(value, np.ndarray):
            self._arrays.append((value, value.copy()))

    def _note_parts(self, container: Any) -> None:
        if id(container) in self._seen:
            return
        self._seen.add(id(container))
        self._filled.append((container, container.copy()))
        for part in container.values() if isinstance(container, dict) else container:
            if type(part) not in _SIMPLE:
                self._note(part)


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


class _Identity:
    """Which memory a tensor had, and how autograd knew it."""

    __slots__ = ("_had_graph", "_memory", "_requires_grad", "_tensor")

    def __init__(self, tensor: Tensor) -> None:
        self._tensor, self._memory = tensor, tensor.detach() if is_strided(tensor) else None
        self._requires_grad, self._had_graph = tensor.requires_grad, tensor.grad_fn is not None

    def restore(self) -> None:
        """Give the tensor its own memory again, and take away a graph that it was put into."""
        tensor = self._tensor
        if not self._had_graph and tensor.grad_fn is not None and not tensor._is_view():
            tensor.detach_()
        if self._memory is not None and not tensor.is_set_to(self._memory):
            tensor.data = self._memory
        if tensor.requires_grad != self._requires_grad and tensor.is_leaf:
            tensor.requires_grad_(self._requires_grad)


class _Contents:
    """What the memory of many tensors held, small ones of a kind in one piece, and the way back.

    Tensors that were not written to, as nearly always, are compared and not touched.
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        pieces: dict[Any, list[Tensor]] = defaultdict(list)
        for tensor in filter(_has_bytes, tensors):
            alone = id(tensor) if tensor.numel() > _SMALL else None
            pieces[tensor.dtype, tensor.device, alone].append(tensor.detach())
        self._kept = [(memories, _joined(memories).clone()) for memories in pieces.values()]

    def restore(self) -> None:
        """Copy the old bytes back where there are others now."""
        for memories, before in self._kept:
            if not torch.equal(_joined(memories), before):
                parts = torch.split(before, [memory.numel() for memory in memories])
                for memory, part in zip(memories, parts, strict=True):
                    _copy_back(memory, part.view(memory.shape))


def _has_bytes(tensor: Tensor) -> bool:
    return (
        not is_uninitialised(tensor)
        and is_strided(tensor)
        and not tensor.is_quantized
        and not tensor.is_meta
    )


def _joined(memories: list[Tensor]) -> Tensor:
    flat = [memory.reshape(-1) for memory in memories]
    return torch.cat(flat) if len(flat) > 1 else flat[0]


def _copy_back(memory: Tensor, before: Tensor) -> None:
    if not torch.equal(memory, before):
        with torch.no_grad():
            memory.copy_(before)


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
