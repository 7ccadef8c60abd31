"""What a model returned as JSON with its tensors apart, and back."""

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

Put = Callable[[str, Tensor], Any]
"""Takes the path of a tensor, as ``/0/boxes``, and the tensor; returns what stands for it."""


def to_json(value: Any, put: Put, path: str = "") -> Any:
    """Return ``value`` as JSON.

    Tuples, lists, mappings, numbers, strings and None keep what they are, named tuples and
    dataclasses become mappings, and anything else becomes its text.
    """
    return _Writer(put).value(value, path, frozenset())


def from_json(content: Any, get: Callable[[Any], Tensor]) -> Any:
    """Return the value that ``to_json`` was given; ``get`` is the way back from ``put``.

    What ``to_json`` did not write raises anything.
    """
    if isinstance(content, list):
        return [from_json(item, get) for item in content]
    if not isinstance(content, dict):
        return content
    ((kind, held),) = content.items()
    if kind == "tensor":
        return get(held)
    if kind == "tuple":
        return tuple(from_json(item, get) for item in held)
    if kind == "mapping":
        return {from_json(key, get): from_json(item, get) for key, item in held}
    return _PLAIN[kind](held)


class _Writer:
    def __init__(self, put: Put) -> None:
        self._put = put

    def value(self, value: Any, path: str, above: frozenset[int]) -> Any:
        if isinstance(value, Tensor):
            return {"tensor": self._put(path, value)}
        if id(value) in above:
            return {"text": "..."}  # a container that holds itself
        above = above | {id(value)}
        fields = _fields(value)
        if fields is not None:
            pairs = fields.items()
            return {"mapping": [[_key(k), self.value(v, f"{path}/{k}", above)] for k, v in pairs]}
        if isinstance(value, tuple | list):
            items = [self.value(v, f"{path}/{i}", above) for i, v in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        return plain_to_json(value)


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """Return what a mapping, a named tuple or a dataclass holds; None for anything else."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    return None


def _key(key: Any) -> Any:
    return {"tuple": [_key(part) for part in key]} if type(key) is tuple else plain_to_json(key)


def plain_to_json(value: Any) -> Any:
    """Return a number, a string, None, or the text of anything else, as JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, numbers.Complex):
        return {"complex": str(complex(value))}
    return {"text": _text(value)}


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # the text is made by code of the model's
        return f"<{type(value).__name__}>"


_PLAIN: Mapping[str, Callable[[Any], Any]] = {"float": float, "complex": complex, "text": str}
