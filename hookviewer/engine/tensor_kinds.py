"""Take a tensor of any kind apart into plain ones, and put it together again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

PLAIN = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    }
)
"""The dtypes that every safetensors file can hold."""

Recipe = str | Mapping[str, Any]
"""How to make a tensor, as JSON: the name of a plain one, or its kind and its parts' recipes."""
Put = Callable[[Tensor, str], Recipe]
"""Takes a part and its name; returns its recipe."""
Get = Callable[[Recipe], Tensor]
"""Makes a part from its recipe."""


@dataclass(frozen=True, slots=True)
class TensorKind:
    """A kind of tensor that is not plain.

    Attributes:
        fits: Whether a tensor is of this kind; of several kinds that fit the first is meant.
        apart: From a tensor to what its recipe holds besides the kind.
        together: From the recipe to the tensor.
    """

    fits: Callable[[Tensor], bool]
    apart: Callable[[Tensor, Put], Mapping[str, Any]]
    together: Callable[[Mapping[str, Any], Get], Tensor]


def is_plain(tensor: Tensor) -> bool:
    """Whether a file can hold ``tensor`` as it is."""
    ordinary = tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_meta
    return ordinary and tensor.dtype in PLAIN


def _nested_apart(tensor: Tensor, put: Put) -> Mapping[str, Any]:
    parts = [put(part, str(index)) for index, part in enumerate(tensor.unbind())]
    return {"parts": parts, "dtype": _name(tensor.dtype), "layout": _name(tensor.layout)}


def _nested_together(recipe: Mapping[str, Any], get: Get) -> Tensor:
    return torch.nested.nested_tensor(
        [get(part) for part in recipe["parts"]],
        dtype=_named(recipe["dtype"], torch.dtype),
        layout=_named(recipe["layout"], torch.layout),
    )


def _meta_apart(tensor: Tensor, _put: Put) -> Mapping[str, Any]:
    return {"dtype": _name(tensor.dtype), "shape": list(tensor.shape)}


def _meta_together(recipe: Mapping[str, Any], _get: Get) -> Tensor:
    dtype = _named(recipe["dtype"], torch.dtype)
    return torch.empty(recipe["shape"], dtype=dtype, device="meta")


def _coordinates_apart(tensor: Tensor, put: Put) -> Mapping[str, Any]:
    return {
        "indices": put(tensor._indices(), "indices"),
        "values": put(tensor._values(), "values"),
        "shape": list(tensor.shape),
        "is_coalesced": tensor.is_coalesced(),
    }


def _coordinates_together(recipe: Mapping[str, Any], get: Get) -> Tensor:
    return torch.sparse_coo_tensor(
        get(recipe["indices"]),
        get(recipe["values"]),
        recipe["shape"],
        is_coalesced=recipe["is_coalesced"],
        check_invariants=True,  # a file may hold anything
    )


def _compressed_apart(tensor: Tensor, put: Put) -> Mapping[str, Any]:
    if tensor.layout in _BY_ROWS:
        compressed, plain = tensor.crow_indices(), tensor.col_indices()
    else:
        compressed, plain = tensor.ccol_indices(), tensor.row_indices()
    return {
        "layout": _name(tensor.layout),
        "compressed_indices": put(compressed, "compressed_indices"),
        "plain_indices": put(plain, "plain_indices"),
        "values": put(tensor.values(), "values"),
        "shape": list(tensor.shape),
    }


def _compressed_together(recipe: Mapping[str, Any], get: Get) -> Tensor:
    return torch.sparse_compressed_tensor(
        get(recipe["compressed_indices"]),
        get(recipe["plain_indices"]),
        get(recipe["values"]),
        recipe["shape"],
        layout=_named(recipe["layout"], torch.layout),
        check_invariants=True,
    )


def _quantized_apart(tensor: Tensor, put: Put) -> Mapping[str, Any]:
    values = {"values": put(tensor.int_repr(), "values")}
    if tensor.qscheme() == torch.per_tensor_affine:
        return {**values, "scale": tensor.q_scale(), "zero_point": tensor.q_zero_point()}
    return {
        **values,
        "scales": put(tensor.q_per_channel_scales(), "scales"),
        "zero_points": put(tensor.q_per_channel_zero_points(), "zero_points"),
        "axis": tensor.q_per_channel_axis(),
    }


def _quantized_together(recipe: Mapping[str, Any], get: Get) -> Tensor:
    values = get(recipe["values"])
    if "scale" in recipe:
        return torch._make_per_tensor_quantized_tensor(
            values, recipe["scale"], recipe["zero_point"]
        )
    scales, zero_points = get(recipe["scales"]), get(recipe["zero_points"])
    return torch._make_per_channel_quantized_tensor(values, scales, zero_points, recipe["axis"])


def _complex_apart(tensor: Tensor, put: Put) -> Mapping[str, Any]:
    return {"real_and_imaginary": put(torch.view_as_real(tensor.resolve_conj()), "real")}


def _complex_together(recipe: Mapping[str, Any], get: Get) -> Tensor:
    return torch.view_as_complex(get(recipe["real_and_imaginary"]))


def _other_apart(tensor: Tensor, put: Put) -> Mapping[str, Any]:
    flat = tensor.reshape(-1).view(torch.uint8)
    return {"bytes": put(flat, "bytes"), "dtype": _name(tensor.dtype), "shape": list(tensor.shape)}


def _other_together(recipe: Mapping[str, Any], get: Get) -> Tensor:
    dtype = _named(recipe["dtype"], torch.dtype)
    return get(recipe["bytes"]).view(dtype).reshape(recipe["shape"])


def _name(of: torch.dtype | torch.layout) -> str:
    return str(of).removeprefix("torch.")


def _named(name: str, kind: type) -> Any:
    """Return torch's dtype or layout of that name; a file may name anything.

    Raises:
        ValueError: There is none.
    """
    found = vars(torch).get(name)
    if not isinstance(found, kind):
        raise ValueError(f"torch has no {kind.__name__} {name}")  # noqa: TRY004
    return found


_BY_ROWS = (torch.sparse_csr, torch.sparse_bsr)
_COMPRESSED = (*_BY_ROWS, torch.sparse_csc, torch.sparse_bsc)
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
_QUANTIZED = (torch.qint8, torch.quint8, torch.qint32)

KINDS: Mapping[str, TensorKind] = {
    "nested": TensorKind(lambda tensor: tensor.is_nested, _nested_apart, _nested_together),
    "meta": TensorKind(lambda tensor: tensor.is_meta, _meta_apart, _meta_together),
    "coordinates": TensorKind(
        lambda tensor: tensor.layout is torch.sparse_coo,
        _coordinates_apart,
        _coordinates_together,
    ),
    "compressed": TensorKind(
        lambda tensor: tensor.layout in _COMPRESSED, _compressed_apart, _compressed_together
    ),
    "quantized": TensorKind(
        lambda tensor: tensor.dtype in _QUANTIZED, _quantized_apart, _quantized_together
    ),
    "complex": TensorKind(
        lambda tensor: tensor.dtype in _COMPLEX,
        _complex_apart,
        _complex_together,
    ),
    "other": TensorKind(
        lambda tensor: tensor.layout is torch.strided and not tensor.is_quantized,
        _other_apart,
        _other_together,
    ),
}
"""Every kind but the plain one, by its name in a file."""
