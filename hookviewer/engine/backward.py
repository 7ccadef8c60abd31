"""Differentiate a score, and leave nothing of it behind: no gradient, no unfinished work."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from hookviewer.engine.graph import Key, edge_key, leaf_of, leaves_behind

Arrived = Mapping[Key, Tensor | None]
"""A gradient, or None, for each edge's key."""

_REENTRANT_CHECKPOINT = "CheckpointFunctionBackward"


def partial_backward(score: Tensor, edges: list[GradientEdge]) -> Arrived:
    """Return the gradients at ``edges``, computing only what leads to them."""
    with _finished():
        start, ones = _start(score)
        found = torch.autograd.grad(start, edges, ones, allow_unused=True)
    return dict(zip(map(edge_key, edges), found, strict=True))


def needs_full_backward(nodes: Iterable[Node]) -> bool:
    """Whether one of ``nodes``, a reentrant checkpoint, refuses anything but a full backward."""
    return any(node.name() == _REENTRANT_CHECKPOINT for node in nodes)


class FullBackward:
    """The gradients at edges from a backward that goes through everything.

    What it adds to the ``.grad`` of tensors is taken away again, and hooks that wait for these, as
    those of optimisers do, are not called.
    """

    def __init__(
        self, score: Tensor, edges: Iterable[GradientEdge], parameters: Iterable[Tensor]
    ) -> None:
        self._score, self._edges, self._parameters = score, list(edges), list(parameters)
        self._arrived: dict[Key, Tensor | None] = {}

    def arrivals(self) -> Iterator[tuple[Node, Callable[[tuple[Tensor | None, ...]], None]]]:
        """Yield the nodes of the edges, and what must be told of what arrives at each."""
        for edge in self._edges:
            if leaf_of(edge.node) is None:
                yield edge.node, partial(self._note, edge)

    def run(self) -> Arrived:
        """Go through the graph and return what arrived at each edge."""
        leaves = {*self._parameters, *leaves_behind(self._score)}  # not all are to be seen here
        with _finished(), _without_gradients(leaves):
            torch.autograd.backward(*_start(self._score))
            for edge in self._edges:
                leaf = leaf_of(edge.node)
                if leaf is not None:
                    self._arrived[edge_key(edge)] = leaf.grad
        return self._arrived

    def _note(self, edge: GradientEdge, gradients: tuple[Tensor | None, ...]) -> None:
        self._arrived[edge_key(edge)] = gradients[edge.output_nr]


def _start(score: Tensor) -> tuple[list[GradientEdge], list[Tensor]]:
    """Return where to begin, as an edge, and with what.

    For a tensor, torch would call itself through a function mode, with the mode switched off:
    operations that checkpoints compute again would not be seen.
    """
    with torch.no_grad():  # so that this is not taken for recomputation
        return [get_gradient_edge(score)], [torch.ones_like(score)]


@contextmanager
def _without_gradients(leaves: Iterable[Tensor]) -> Iterator[None]:
    """Put every ``.grad``, and the hooks that wait for it, aside for the length of the block."""
    aside = []
    for leaf in leaves:
        waiting = leaf._post_accumulate_grad_hooks
        aside.append((leaf, leaf.grad, waiting, dict(waiting or {})))
        leaf.grad = None
        if waiting:
            waiting.clear()
    try:
        yield
    finally:
        for leaf, gradient, waiting, hooks in aside:
            leaf.grad = gradient
            if waiting is not None:
                waiting.update(hooks)


@contextmanager
def _finished() -> Iterator[None]:
    """Let no work of an aborted backward wait in this thread.

    Autograd keeps it queued until the next backward or the end of the thread. There it is freed
    without regard to whether Python is just shutting down, and the process aborts.
    """
    try:
        yield
    except BaseException:
        torch.zeros((), requires_grad=True).clone().backward()  # type: ignore[no-untyped-call]
        raise
