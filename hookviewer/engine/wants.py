"""Say what a module wants, where it was given something else."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from hookviewer.engine.leaves import leaves

_ABOUT_DEVICES = ("device",)
_ABOUT_DTYPES = ("type", "not implemented for")
_INDICES = (torch.int64, torch.int32)


def wanted(module: nn.Module, given: Mapping[str, Any], said: str) -> str | None:
    """Return what ``module`` wants and was not given, as half a sentence; None if nothing is known.

    Args:
        module: The module whose call raised.
        given: What it was called with, by name.
        said: What torch said, which tells what it is about.
    """
    tensors = list(leaves(given).values())
    if not tensors:
        return None
    own = [*module.parameters(), *module.buffers()]
    found = _device(own, tensors) if _is_about(said, _ABOUT_DEVICES) else None
    if found is None and _is_about(said, _ABOUT_DTYPES):
        found = _dtype(module, own, tensors)
    return _shape(module, tensors[0]) if found is None else found


def _is_about(said: str, words: Iterable[str]) -> bool:
    return any(word in said for word in words)


def _device(own: list[Tensor], tensors: list[Tensor]) -> str | None:
    homes = {str(tensor.device): None for tensor in own}
    if len(homes) > 1:
        return f"its parameters and buffers are on different devices, {' and '.join(homes)}"
    away = (str(tensor.device) for tensor in tensors if str(tensor.device) not in homes)
    other = next(away, None)
    if not homes or other is None:
        return None
    return f"it is on {next(iter(homes))} and was given a tensor on {other}"


def _dtype(module: nn.Module, own: list[Tensor], tensors: list[Tensor]) -> str | None:
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        if tensors[0].dtype in _INDICES:
            return None
        return f"it wants whole numbers (int64) as indices and was given {_name(tensors[0].dtype)}"
    home = next((tensor.dtype for tensor in own if tensor.is_floating_point()), None)
    # Only the first tensor has to be of numbers with a point: others may be masks or lengths.
    numbers = [tensors[0].dtype, *(t.dtype for t in tensors if t.is_floating_point())]
    other = next((dtype for dtype in numbers if dtype != home), None)
    if home is None or other is None:
        return None
    way = f", or the model to {_name(other)}" if other.is_floating_point else ""
    return (
        f"it has {_name(home)} parameters and was given {_name(other)}; convert the input to "
        f"{_name(home)}{way}"
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(module: nn.Module, tensor: Tensor) -> str | None:
    for kinds, objections in _OBJECTIONS:
        if isinstance(module, kinds) and not tensor.is_nested:
            return next(objections(module, tensor), None)
    return None


def _of_convolution(module: Any, tensor: Tensor) -> Iterator[str]:
    size = len(module.kernel_size)
    if tensor.dim() not in (size + 1, size + 2):
        yield f"it wants {size + 2} axes (sample, channel and {size} more), or {size + 1}"
    elif tensor.shape[-size - 1] != module.in_channels:
        yield _count(module.in_channels, "channel")
    elif not isinstance(module, _ConvTransposeNd) and not isinstance(module.padding, str):
        needs = [
            max(1, step * (length - 1) + 1 - 2 * margin)
            for step, length, margin in zip(
                module.dilation, module.kernel_size, module.padding, strict=True
            )
        ]
        if any(have < need for have, need in zip(tensor.shape[-size:], needs, strict=True)):
            yield f"it wants at least {' × '.join(map(str, needs))} positions"


def _of_linear(module: Any, tensor: Tensor) -> Iterator[str]:
    yield from _last_axis(module.in_features, tensor)


def _of_recurrent(module: Any, tensor: Tensor) -> Iterator[str]:
    yield from _last_axis(module.input_size, tensor)


def _of_attention(module: Any, tensor: Tensor) -> Iterator[str]:
    yield from _last_axis(module.embed_dim, tensor)


def _last_axis(wanted: int, tensor: Tensor) -> Iterator[str]:
    if tensor.dim() == 0 or tensor.shape[-1] != wanted:
        yield f"{_count(wanted, 'feature')} in the last axis"


def _of_channel_norm(module: Any, tensor: Tensor) -> Iterator[str]:
    channels = module.num_channels if isinstance(module, nn.GroupNorm) else module.num_features
    if tensor.dim() > 1 and tensor.shape[1] != channels:
        yield _count(channels, "channel")


def _of_layer_norm(module: Any, tensor: Tensor) -> Iterator[str]:
    shape = tuple(module.normalized_shape)
    if tuple(tensor.shape[-len(shape) :]) != shape:
        yield f"it wants {' × '.join(map(str, shape))} in the last {_axes(len(shape))}"


def _of_embedding(module: Any, tensor: Tensor) -> Iterator[str]:
    # Once a GPU has met a wrong index, nothing can be read from it any more.
    if tensor.dtype in _INDICES and tensor.numel() and tensor.device.type == "cpu":
        last = module.num_embeddings - 1
        low, high = (int(each) for each in tensor.aminmax())
        if low < 0 or high > last:
            yield f"it wants indices from 0 to {last} and was given {low if low < 0 else high}"


def _count(number: int, what: str) -> str:
    return f"it wants {number} {what}{'' if number == 1 else 's'}"


def _axes(number: int) -> str:
    return "axis" if number == 1 else f"{number} axes"


_OBJECTIONS: tuple[tuple[Any, Callable[[Any, Tensor], Iterator[str]]], ...] = (
    (_ConvNd, _of_convolution),
    (nn.Linear, _of_linear),
    ((nn.RNNBase, nn.RNNCellBase), _of_recurrent),
    (nn.MultiheadAttention, _of_attention),
    ((_NormBase, nn.GroupNorm), _of_channel_norm),
    (nn.LayerNorm, _of_layer_norm),
    ((nn.Embedding, nn.EmbeddingBag), _of_embedding),
)
