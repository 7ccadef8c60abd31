"""Which gradients a run wants, where in the graph they will arrive, and what did arrive."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from torch import Tensor
from torch.autograd.graph import GradientEdge, Node

from hookviewer.engine.absence import FROZEN, NO_PATH, WITHOUT_GRADIENT, not_differentiable
from hookviewer.engine.collection import Collection
from hookviewer.engine.graph import as_root, edge_key, edge_of, ways_in
from hookviewer.engine.plan import Quantity, Tap

Place = tuple[Tap, int, str]
"""Where a capture belongs: tap, call, leaf."""
Edges = Mapping[str, GradientEdge]
"""Edges by leaf."""


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A finished call whose gradients to its inputs are wanted, and its part of the graph.

    Attributes:
        path: The module.
        call: Its call.
        input_edges: Where its inputs came from.
        roots: The nodes of its outputs.
        since: The first sequence number of the call.
    """

    path: str
    call: int
    input_edges: Edges
    roots: tuple[Node, ...]
    since: int

    def place(self, leaf: str) -> Place:
        """Return where the gradient of an input leaf belongs."""
        return Tap(self.path, Quantity.GRAD_INPUT), self.call, leaf


class Gradients:
    """The gradients that a run wants; what cannot come is named at once.

    A tensor without a graph is made the root of one where nothing before it can be: where the
    model's inputs have no gradients (``is_rooted`` is false), as token numbers.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._arriving: dict[Place, GradientEdge] = {}
        self._passages: list[Passage] = []
        self._passed: dict[Place, Tensor] = {}
        self.is_rooted = False

    def edges_of(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> Edges:
        """Return where the gradients of ``values`` will arrive, and name those that will not."""
        edges: dict[str, GradientEdge] = {}
        for leaf, tensor in values.items():
            if not is_differentiable(tensor):
                self._collection.miss(tap, call, leaf, not_differentiable(tensor.dtype))
                continue
            edge = edge_of(tensor if self.is_rooted else as_root(tensor))
            if edge is None:
                self._collection.miss(tap, call, leaf, WITHOUT_GRADIENT)
            else:
                edges[leaf] = edge
        return edges

    def want_values(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> None:
        """Want the total derivatives of the values a call handed on."""
        for leaf, edge in self.edges_of(tap, call, values).items():
            self._arriving[tap, call, leaf] = edge

    def want_parameter(self, tap: Tap, name: str, tensor: Tensor) -> None:
        """Want the derivative of a parameter."""
        edge = edge_of(tensor)
        if edge is not None:
            self._arriving[tap, 0, name] = edge
        elif is_differentiable(tensor):
            self._collection.miss(tap, 0, name, FROZEN)
        else:
            self._collection.miss(tap, 0, name, not_differentiable(tensor.dtype))

    def want_passage(self, passage: Passage) -> None:
        """Want what flows through one call to its inputs."""
        self._passages.append(passage)

    def edges(self) -> list[GradientEdge]:
        """Return every place of the graph at which a gradient must be computed, once."""
        edges = {edge_key(edge): edge for edge in self._arriving.values()}
        for passage in self._passages:
            edges |= {edge_key(edge): edge for edge in passage.input_edges.values()}
        return list(edges.values())

    def ways(self) -> Iterator[tuple[Node, Callable[..., None]]]:
        """Yield the nodes that gradients pass on their way in, and what must be told of each."""
        for passage in self._passages:
            found = ways_in(passage.roots, passage.since, passage.input_edges)
            for node, index, leaves in found:
                places = [passage.place(leaf) for leaf in leaves]
                yield node, partial(self._add_passed, places, index)

    def settle(self, arrived: Mapping[tuple[Node, int], Tensor | None]) -> None:
        """Keep what came; ``arrived`` holds a gradient, or None, for each edge's key."""
        for place, edge in self._arriving.items():
            self._keep(place, arrived.get(edge_key(edge)))
        for passage in self._passages:
            for leaf, edge in passage.input_edges.items():
                gradient = self._passed.get(passage.place(leaf))
                if gradient is None and edge.node in passage.roots:  # it returned its own input
                    gradient = arrived.get(edge_key(edge))
                self._keep(passage.place(leaf), gradient)

    def _keep(self, place: Place, gradient: Tensor | None) -> None:
        if gradient is None:
            self._collection.miss(*place, NO_PATH)
        else:
            self._collection.keep(*place, gradient)

    def _add_passed(
        self,
        places: list[Place],
        index: int,
        gradients: tuple[Tensor | None, ...],
        _arrived: object,
    ) -> None:
        gradient = gradients[index]
        if gradient is not None:
            for place in places:
                before = self._passed.get(place)
                self._passed[place] = gradient if before is None else before + gradient


def is_differentiable(tensor: Tensor) -> bool:
    """Whether values of this dtype can have gradients."""
    return tensor.is_floating_point() or tensor.is_complex()
