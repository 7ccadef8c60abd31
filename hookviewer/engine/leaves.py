"""Find and replace the tensors inside what a call takes or returns."""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

Change = Callable[[str, Tensor], Tensor]


def leaves(value: Any) -> dict[str, Tensor]:
    """Return every tensor inside ``value`` by its path: ``0``, ``mask``, ``0/boxes``.

    Looks into tuples, lists, mappings and dataclasses. A tensor that stands alone is leaf ``0``.
    """
    found: dict[str, Tensor] = {}

    def note(path: str, tensor: Tensor) -> Tensor:
        found[path] = tensor
        return tensor

    map_leaves(value, note)
    return found


def map_leaves(value: Any, change: Change) -> Any:
    """Return ``value`` with every leaf replaced by ``change(path, leaf)``.

    Containers are copied only where a leaf inside them changed; the rest are the same objects.
    """
    if isinstance(value, Tensor):
        return change("0", value)
    return _map(value, "", change, frozenset())


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape of ``tensor``; of nested ones, which have none, how many there are."""
    if tensor.is_nested and tensor.layout is torch.strided:
        return (tensor.size(0),)
    return tuple(tensor.shape)


def _map(value: Any, path: str, change: Change, above: frozenset[int]) -> Any:
    if isinstance(value, Tensor):
        return change(path, value)
    if id(value) in above:  # a container that holds itself
        return value
    above = above | {id(value)}
    changed = {}
    for key, item in _items(value):
        name = str(key).replace("\\", "\\\\").replace("/", "\\/")
        new = _map(item, f"{path}/{name}" if path else name, change, above)
        if new is not item:
            changed[key] = new
    return _rebuilt(value, changed) if changed else value


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif _is_named_tuple(value):
        yield from zip(value._fields, value, strict=True)
    elif isinstance(value, tuple | list):
        yield from enumerate(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if hasattr(value, field.name):
                yield field.name, getattr(value, field.name)


def _rebuilt(value: Any, changed: dict[Any, Any]) -> Any:
    if _is_named_tuple(value):
        return value._replace(**changed)
    if isinstance(value, tuple):
        return type(value)(changed.get(index, item) for index, item in enumerate(value))
    new = copy.copy(value)
    for key, item in changed.items():
        if isinstance(value, Mapping | list):
            new[key] = item
        else:
            object.__setattr__(new, key, item)
    return new


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")
