"""Compute the weights of an attention beside it, from what it is called with."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.bias import CausalBias

Function = Callable[..., Any]


def is_attention(function: Function) -> bool:
    """Whether ``function`` is one of torch's whose weights can be computed."""
    return function in (
        functional.scaled_dot_product_attention,
        functional.multi_head_attention_forward,
    )


def attention_weights(
    function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Tensor | None:
    """Return the weights of one call of a torch function, ``(sample, head, query, key)``.

    Weights are the numbers that the values are added up with, before dropout. Axes before the heads
    are counted as samples, one after the other; what has three axes is one head of each sample, as
    torch documents it, unless heads are grouped. A query that every key is hidden from has zeros
    where torch takes them for zeros too, and NaN where torch computes NaN, which is when
    ``multi_head_attention_forward`` is asked for its weights.

    ``weights @ value`` is what the attention computes, to 1e-6 in float32. bfloat16 and half are
    computed in float32 from the rounded queries and keys, so that it is the same up to the rounding
    of that dtype; only ``multi_head_attention_forward`` rounds its weights itself.

    Call it after the call itself, which tells what does not fit. Nothing is changed by it: there
    are no gradients, random numbers or hooks in it, and no function mode sees it.

    Args:
        function: As a ``TorchFunctionMode`` sees it.
        args: Its positional arguments.
        kwargs: Its keywords.

    Returns:
        The weights; None for what is no attention, or where tensors are nested.
    """
    if not is_attention(function):
        return None
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if any(map(_is_nested, [*args, *kwargs.values()])):
            return None
        if function is functional.scaled_dot_product_attention:
            return _of_scaled_dot_product(*args, **kwargs)
        return _of_multi_head(args, kwargs)


def _is_nested(argument: Any) -> bool:
    return isinstance(argument, Tensor) and argument.is_nested


def _of_scaled_dot_product(  # noqa: PLR0913  # the arguments are torch's
    query: Tensor,
    key: Tensor,
    value: Tensor,  # noqa: ARG001
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,  # noqa: ARG001
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute weights as torch documents ``scaled_dot_product_attention``."""
    kind = query.device.type
    if torch.is_autocast_enabled(kind) and query.dtype is not torch.float64:
        query, key = (each.to(torch.get_autocast_dtype(kind)) for each in (query, key))
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    with torch.autocast(kind, enabled=False):
        scores = (_precise(query) * factor) @ _precise(key).transpose(-2, -1)
        hidden = _hidden(attn_mask, is_causal, scores)
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        nothing_seen = scores.isneginf().all(-1, keepdim=True)
        weights = scores.softmax(-1).masked_fill_(nothing_seen, 0)
    if weights.dim() == 3 and not enable_gqa:
        return weights.unsqueeze(1)
    heads = weights.shape[-3] if weights.dim() > 2 else 1
    return weights.reshape(-1, heads, *weights.shape[-2:])


def _hidden(mask: Tensor | None, is_causal: bool, scores: Tensor) -> Tensor | None:
    """Return which keys are hidden from which queries, where it is a matter of yes or no."""
    if is_causal:
        return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    if isinstance(mask, CausalBias):  # knows how it is aligned, and has no numbers
        mask = mask._materialize(scores.device)
    return ~mask if mask is not None and mask.dtype is torch.bool else None


def _precise(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.half) else tensor


def _of_multi_head(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
    """Call ``multi_head_attention_forward`` a second time, for its weights and without dropout."""
    call = inspect.signature(functional.multi_head_attention_forward).bind(*args, **kwargs)
    call.apply_defaults()
    names = call.arguments
    own_weights = names["need_weights"]
    if names["is_causal"] and names["key_padding_mask"] is None and not own_weights:
        # torch takes the hint for the mask itself then, whatever the mask says
        queries, keys = names["query"], names["key"]
        everything = torch.ones(len(queries), len(keys), dtype=torch.bool, device=queries.device)
        names["attn_mask"] = everything.triu(1)
    names.update(need_weights=True, average_attn_weights=False, training=False)
    found: Any = functional.multi_head_attention_forward(*call.args, **call.kwargs)[1]
    weights = _precise(found if found.dim() == 4 else found.unsqueeze(0))
    return weights if own_weights else _without_blind_rows(weights, names)


def _without_blind_rows(weights: Tensor, names: Mapping[str, Any]) -> Tensor:
    """Return ``weights`` with zeros for the queries that the masks hide every key from."""
    blocked = torch.zeros_like(weights, dtype=torch.bool)
    for mask in (names["attn_mask"], names["key_padding_mask"]):
        if mask is None:
            continue
        if mask.shape[-1] != weights.shape[-1]:
            return weights  # there are keys beside the given ones, which no mask hides
        hides = mask if mask.dtype is torch.bool else mask.isneginf()
        if mask is names["key_padding_mask"]:
            hides = hides.reshape(-1, 1, 1, mask.shape[-1])
        elif mask.dim() == 3:
            hides = hides.view(weights.shape)
        blocked |= hides
    return weights.masked_fill(blocked.all(-1, keepdim=True), 0)
