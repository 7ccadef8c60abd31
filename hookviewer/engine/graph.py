"""Read the autograd graph: edges, the nodes behind a score, the nodes of one module call."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

_ACCUMULATE_GRAD = 2**64 - 1
"""The sequence number of the nodes that end in a leaf tensor."""


def next_sequence_number() -> int:
    """Return the number that the next graph node of this thread will get."""
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]


def edge_key(edge: GradientEdge) -> tuple[Node, int]:
    """Return what identifies the value behind ``edge``."""
    return edge.node, edge.output_nr


def edge_of(tensor: Tensor) -> GradientEdge | None:
    """Return where the gradient of ``tensor``, as it is now, will arrive; None without a graph."""
    return get_gradient_edge(tensor) if tensor.requires_grad else None


def nodes_between(score: Tensor, edges: Iterable[GradientEdge]) -> Iterator[Node]:
    """Yield every node that a backward pass from ``score`` to ``edges`` may visit.

    Nodes older than all edges cannot lead to one; those of leaf tensors are left out.
    """
    numbers = [edge.node._sequence_nr() for edge in edges]
    since = min(0 if number == _ACCUMULATE_GRAD else number for number in numbers)
    yield from _walk([score.grad_fn], since)


def ways_in(
    roots: Iterable[Node], since: int, edges: Mapping[str, GradientEdge]
) -> Iterator[tuple[Node, int, list[str]]]:
    """Yield where a gradient is handed to ``edges``: (node, output index of the node, leaves).

    Only nodes made after sequence number ``since`` are looked at, those of one call, so that what
    flows around the call is not counted. A tensor that was passed in several times has several
    leaves, and the graph cannot tell them apart: each of them gets all that flows to the tensor.
    """
    leaves_of: dict[tuple[Node, int], list[str]] = {}
    for leaf, edge in edges.items():
        leaves_of.setdefault(edge_key(edge), []).append(leaf)
    for node in _walk(roots, since):
        for index, key in enumerate(node.next_functions):
            if key in leaves_of:
                yield node, index, leaves_of[key]


def _walk(roots: Iterable[Any], since: int) -> Iterator[Node]:
    seen: set[Node] = set()
    waiting = [node for node in roots if node is not None]
    while waiting:
        node = waiting.pop()
        if node in seen or not since <= node._sequence_nr() < _ACCUMULATE_GRAD:
            continue
        seen.add(node)
        yield node
        waiting.extend(below for below, _ in node.next_functions if below is not None)


def as_root(tensor: Tensor) -> Tensor:
    """Let ``tensor`` receive gradients from here on, where it has no graph yet, and return it.

    It stays the same object. A tensor computed without gradient mode, or a view, cannot be made a
    root and comes back as it is.
    """
    if tensor.requires_grad or not torch.is_grad_enabled():
        return tensor
    if tensor.is_inference() or tensor._is_view():
        return tensor
    anchor = torch.zeros((), dtype=tensor.dtype, device=tensor.device, requires_grad=True)
    rooted: Tensor = _Root.apply(tensor, anchor)
    return rooted


def with_changed_gradient(tensor: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a copy of ``tensor`` behind which every gradient becomes ``change(gradient)``."""
    changed: Tensor = _ChangedGradient.apply(tensor, change)
    return changed


class _ChangedGradient(torch.autograd.Function):
    """The identity, with a backward of the user's."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.change = change
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.change(gradients[0]), None


class _Root(torch.autograd.Function):
    """The identity on its first argument.

    Marking it dirty, as an in-place operation would, makes autograd put the graph behind the
    tensor itself; in-place operations may follow, which a fresh leaf would refuse.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, _anchor: Tensor) -> Tensor:
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(_ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None
