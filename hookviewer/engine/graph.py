"""Read the autograd graph: where gradients will arrive, the nodes behind a score and in a call."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

Key = tuple[Node | None, int]
"""What identifies the value behind an edge of the graph: the node and which of its outputs."""

_ACCUMULATE_GRAD = 2**64 - 1
"""The sequence number of the nodes that end in a leaf tensor."""
_CHANGE_OF_A_VIEW = "torch::autograd::CopySlices"
"""The name of the node that an in-place operation on a view puts behind what it is a view of."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which elements of a piece of memory a tensor is."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def of(self, memory: Tensor) -> Tensor:
        """Return these elements of ``memory``, as a view."""
        return memory.as_strided(self.size, self.stride, memory.storage_offset() + self.offset)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor as it was at one moment, as autograd knows it.

    Attributes:
        edge: Where its gradient arrives. Once a view is changed in place, autograd no longer comes
            by here: the gradient is then handed on to ``base`` by the node of that change.
        base: Where the gradient of all its memory arrives; the same edge for what is no view.
        layout: Which elements of that memory it is; None where memory is not laid out in strides.
    """

    edge: GradientEdge
    base: GradientEdge
    layout: Layout | None

    @property
    def is_view(self) -> bool:
        """Whether it shares the memory of another tensor."""
        return self.base is not self.edge

    def was_written(self, since: int) -> bool:
        """Whether it is a view through which its memory was changed from number ``since`` on."""
        node = self.base.node
        return self.is_view and is_since(node, since) and changed_memory(node) is not None

    def shares_memory_with(self, other: "Value") -> bool:
        """Whether both are the same piece of memory, or parts of it, at the same moment."""
        return edge_key(self.base) == edge_key(other.base)


def value_of(tensor: Tensor) -> Value | None:
    """Return ``tensor`` as it is now; None without a graph."""
    if not tensor.requires_grad:
        return None
    edge = get_gradient_edge(tensor)
    if not is_strided(tensor):
        return Value(edge, edge, None)
    memory = tensor._base if tensor._is_view() else None
    if memory is None or not memory.requires_grad or not reads_as_stored(tensor, memory):
        return Value(edge, edge, Layout(tuple(tensor.shape), tensor.stride(), 0))
    offset = int(tensor.storage_offset() - memory.storage_offset())
    layout = Layout(tuple(tensor.shape), tensor.stride(), offset)
    return Value(edge, get_gradient_edge(memory), layout)


def is_strided(tensor: Tensor) -> bool:
    """Whether ``tensor`` is laid out in one piece of memory, by strides."""
    return tensor.layout is torch.strided and not tensor.is_nested


def version_of(tensor: Tensor) -> int:
    """Return how often ``tensor`` was changed in place, as far as torch counts it."""
    return 0 if tensor.is_inference() else tensor._version


def reads_as_stored(view: Tensor, memory: Tensor) -> bool:
    """Whether the elements of ``view`` are some of ``memory``, neither conjugated nor reread."""
    plain = not (view.is_conj() or view.is_neg() or memory.is_conj() or memory.is_neg())
    return plain and view.dtype == memory.dtype


def next_sequence_number() -> int:
    """Return the number that the next graph node of this thread will get."""
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]


def is_since(node: Node, number: int) -> bool:
    """Whether ``node`` is an operation's, made when ``number`` was the next one or later."""
    return number <= node._sequence_nr() < _ACCUMULATE_GRAD


def edge_key(edge: GradientEdge) -> Key:
    """Return what identifies the value behind ``edge``."""
    return edge.node, edge.output_nr


def changed_memory(node: Node) -> Key | None:
    """Return whose memory was changed through a view of it, if that is what ``node`` does."""
    return node.next_functions[0] if node.name() == _CHANGE_OF_A_VIEW else None


def nodes_behind(roots: Iterable[Node | None], since: int = 0) -> Iterator[Node]:
    """Yield every node that a backward pass from ``roots`` may visit, leaf tensors' left out.

    Args:
        roots: Where to begin; None is passed over.
        since: Only nodes with this sequence number or a higher one are looked at.
    """
    seen: set[Node] = set()
    waiting = [node for node in roots if node is not None]
    while waiting:
        node = waiting.pop()
        if node in seen or not is_since(node, since):
            continue
        seen.add(node)
        yield node
        waiting.extend(below for below, _ in node.next_functions if below is not None)


def nodes_between(score: Tensor, edges: Iterable[GradientEdge]) -> Iterator[Node]:
    """Yield every node that a backward pass from ``score`` to ``edges`` may visit.

    Nodes older than all edges cannot lead to one.
    """
    numbers = [edge.node._sequence_nr() for edge in edges]
    since = min(0 if number == _ACCUMULATE_GRAD else number for number in numbers)
    return nodes_behind([score.grad_fn], since)


def leaf_of(node: Node | None) -> Tensor | None:
    """Return the leaf tensor that ``node`` hands gradients to, if that is what it does."""
    if node is None or node._sequence_nr() != _ACCUMULATE_GRAD:
        return None
    leaf: Tensor = node.variable  # type: ignore[attr-defined]  # only this kind of node has one
    return leaf


def leaves_behind(score: Tensor) -> Iterator[Tensor]:
    """Yield the leaf tensors that a backward pass from ``score`` may reach."""
    for node in nodes_behind([score.grad_fn]):
        for below, _ in node.next_functions:
            leaf = leaf_of(below)
            if leaf is not None:
                yield leaf
