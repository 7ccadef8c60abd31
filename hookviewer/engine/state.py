"""Leave the model, and everything random, exactly as it was found."""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from operator import is_
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hookviewer.engine.graph import is_strided
from hookviewer.engine.paths import Paths, is_scripted, is_uninitialised
from hookviewer.engine.random_states import GENERATORS, preserved_generator, random_states
from hookviewer.engine.unwrap import is_exported

_MUTABLE = (list, dict, set, deque)
_DICTIONARIES = frozenset({dict, OrderedDict, set})
_SMALL = 1 << 16
"""How many numbers a tensor may have to be compared together with others."""
_SIMPLE = frozenset({bool, int, float, str, type(None)})
"""What most attributes are."""


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
    at_risk = paths.parameters if train else _parameters_written_in_forward(paths)
    if switch and not train:
        at_risk += _parameters_switched_by_hand(paths)
    with ExitStack() as stack, random_states(seed):
        for module in filter(is_scripted, paths.by_module):  # its mode is no attribute of Python's
            stack.callback(setattr, module, "training", module.training)
        parameters = {id(parameter): parameter for parameter in paths.parameters}
        gradients = [(p, p.grad) for p in parameters.values()]
        attributes = _Attributes([*paths.by_module, *paths.wrappers])
        held = {id(tensor): tensor for tensor in attributes.tensors}
        every = [t for t in (held | parameters).values() if not is_uninitialised(t)]
        stack.callback(_put_back_gradients, gradients)
        stack.callback(
            _Contents([*(t for t in every if id(t) not in parameters), *at_risk]).restore
        )
        stack.callback(_Identities(every).restore)
        stack.callback(attributes.restore)
        for parameter, gradient in gradients:
            if gradient is not None:
                parameter.grad = None
        if switch and not any(map(is_exported, paths.by_module)):  # whose mode is fixed
            paths.modules[""].train(train)
        yield


def _parameters_switched_by_hand(paths: Paths) -> list[Tensor]:
    """Return the parameters of modules with a ``train`` of their own, which may merge weights."""
    modules = [module for module in paths.by_module if type(module).train is not nn.Module.train]
    return [tensor for module in modules for tensor in module.parameters(recurse=False)]


def _parameters_written_in_forward(paths: Paths) -> list[Tensor]:
    """Return the parameters of embeddings that cut off long rows whenever they are used."""
    bounded = (nn.Embedding, nn.EmbeddingBag)
    return [m.weight for m in paths.by_module if isinstance(m, bounded) and m.max_norm is not None]


def _put_back_gradients(gradients: Iterable[tuple[Tensor, Tensor | None]]) -> None:
    for parameter, gradient in gradients:
        if parameter.grad is not gradient:
            parameter.grad = gradient


class _Attributes:
    """What modules held, and what the containers among it held.

    Nearly all of it is simple values and empty dictionaries, those of hooks; these are looked at in
    bulk, for of a model with hundreds of modules there are thousands.

    Attributes:
        tensors: Every tensor that they held.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        spaces = [vars(module) for module in modules]
        values = [
            value for space in spaces for value in space.values() if type(value) not in _SIMPLE
        ]
        self._empty = [value for value in values if type(value) in _DICTIONARIES and not value]
        self._sequences: list[tuple[Any, Any]] = []
        self._arrays: list[tuple[Any, Any]] = []
        self._generators: list[Callable[[], object]] = []
        self._seen: set[int] = set()
        self.tensors: list[Tensor] = []
        inner: list[dict[Any, Any]] = []
        for value in values:
            if type(value) not in _DICTIONARIES or value:
                self._note(value, inner)
        self._dictionaries = _Dictionaries([*spaces, *inner])

    def restore(self) -> None:
        """Put everything back; what was not touched is only looked at."""
        self._dictionaries.restore()
        if any(self._empty):
            for container in self._empty:
                container.clear()
        for container, before in self._sequences:
            if len(container) != len(before) or not all(map(is_, container, before)):
                container.clear()
                (container.update if isinstance(container, set) else container.extend)(before)
        for array, before in self._arrays:
            array[...] = before
        for put_back in self._generators:
            put_back()

    def _note(self, value: Any, dictionaries: list[dict[Any, Any]]) -> None:
        if isinstance(value, nn.Module):
            return
        if isinstance(value, Tensor):
            self.tensors.append(value)
        elif isinstance(value, np.ndarray):
            self._arrays.append((value, value.copy()))
        elif isinstance(value, GENERATORS):
            self._generators.append(preserved_generator(value))
        elif isinstance(value, tuple):
            self._note_all(value, dictionaries)
        elif isinstance(value, _MUTABLE) and id(value) not in self._seen:
            self._seen.add(id(value))
            if isinstance(value, dict):
                dictionaries.append(value)
                self._note_all(value.values(), dictionaries)
            else:
                self._sequences.append((value, value.copy()))
                self._note_all(value, dictionaries)

    def _note_all(self, values: Collection[Any], dictionaries: list[dict[Any, Any]]) -> None:
        if not _SIMPLE.issuperset(map(type, values)):
            for value in values:
                if type(value) not in _SIMPLE:
                    self._note(value, dictionaries)


class _Dictionaries:
    """What many dictionaries held."""

    def __init__(self, dictionaries: list[dict[Any, Any]]) -> None:
        self._present = dictionaries
        self._before = [each.copy() for each in dictionaries]
        self._sizes = [*map(len, dictionaries)]

    def restore(self) -> None:
        """Give each its own keys and values, the very same objects."""
        if self._are_unchanged():
            return
        for present, before in zip(self._present, self._before, strict=True):
            present.clear()
            present.update(before)

    def _are_unchanged(self) -> bool:
        present, before = self._present, self._before
        chained = chain.from_iterable
        return (
            self._sizes == [*map(len, present)]
            and all(
                map(is_, chained(d.values() for d in present), chained(d.values() for d in before))
            )
            and all(map(is_, chained(present), chained(before)))
        )


class _Identities:
    """Which memory tensors had, and how autograd knew them."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self._tensors = tensors
        self._memories = [each.detach() if is_strided(each) else None for each in tensors]
        self._were = [(each.requires_grad, each.grad_fn is not None) for each in tensors]

    def restore(self) -> None:
        """Give tensors their own memory again, and take away a graph that they were put into."""
        for tensor, memory, (requires_grad, had_graph) in zip(
            self._tensors, self._memories, self._were, strict=True
        ):
            if not had_graph and tensor.grad_fn is not None and not tensor._is_view():
                tensor.detach_()
            if memory is not None and not tensor.is_set_to(memory):
                tensor.data = memory
            if tensor.requires_grad != requires_grad and tensor.is_leaf:
                tensor.requires_grad_(requires_grad)


class _Contents:
    """What the memory of many tensors held, small ones of a kind in one piece, and the way back.

    Tensors that were not written to, as nearly always, are compared and not touched.
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        pieces: dict[Any, list[Tensor]] = defaultdict(list)
        for tensor in filter(_has_bytes, tensors):
            alone = id(tensor) if tensor.numel() > _SMALL else None
            pieces[tensor.dtype, tensor.device, alone].append(tensor.detach())
        self._kept = [(memories, _copied(memories)) for memories in pieces.values()]

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


def _copied(memories: list[Tensor]) -> Tensor:
    joined = _joined(memories)
    return joined if len(memories) > 1 else joined.clone()


def _copy_back(memory: Tensor, before: Tensor) -> None:
    if not torch.equal(memory, before):
        with torch.no_grad():
            memory.copy_(before)
