"""Name torch's functions as nodes are named."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

QUERIES = frozenset(
    {
        "__get__", "__set__", "__delete__", "__len__", "__bool__", "__int__", "__float__",
        "__index__", "__contains__", "__repr__", "__format__", "__hash__", "__deepcopy__",
        "__reduce_ex__", "_assert", "backward", "data_ptr", "dim", "element_size", "get_device",
        "is_complex", "is_contiguous", "is_floating_point", "is_same_size", "is_signed", "item",
        "ndimension", "nelement", "numel", "numpy", "register_hook", "requires_grad_",
        "retain_grad", "size", "storage", "storage_offset", "stride", "tolist", "untyped_storage",
    }
)  # fmt: skip
"""Functions that ask or tell something about a tensor and compute none."""


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of an operation: ``add``, ``add_`` for ``+=``, ``getitem`` for ``x[…]``."""
    name = getattr(function, "__name__", type(function).__name__)
    if name in QUERIES:
        return name
    if name.startswith("__") and name.endswith("__"):
        plain = name[2:-2]
        # The names of Python's own in-place operators become those of torch's: iand is and_.
        in_place = plain[0] == "i" and hasattr(Tensor, f"__{plain[1:]}__")
        return f"{plain[1:]}_" if in_place else plain
    return str(name.partition(".")[0])
