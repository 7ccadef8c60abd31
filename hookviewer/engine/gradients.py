"""Which gradients a run wants, where in the graph they will arrive, and what did arrive."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node

from hookviewer.engine.absence import FROZEN, FUSED, NO_PATH, WITHOUT_GRADIENT, not_differentiable
from hookviewer.engine.collection import Collection
from hookviewer.engine.graph import (
    Key,
    Layout,
    Value,
    changed_memory,
    edge_key,
    value_of,
    version_of,
)
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.engine.roots import is_differentiable, is_root

Place = tuple[Tap, int, str]
"""Where a capture belongs: tap, call, leaf."""
Values = Mapping[str, Value]
"""Values by leaf."""


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A finished call whose gradients to its inputs are wanted, and its part of the graph.

    Attributes:
        path: The module.
        call: Its call.
        inputs: What went in, as it was before the call.
        outputs: What came out.
        made: The sequence numbers of the graph nodes that the call has made.
    """

    path: str
    call: int
    inputs: Values
    outputs: Values
    made: range

    def place(self, leaf: str) -> Place:
        """Return where the gradient of an input leaf belongs."""
        return Tap(self.path, Quantity.GRAD_INPUT), self.call, leaf


@dataclass(frozen=True, slots=True, eq=False)
class _Share:
    """What a place takes of a gradient: all of it, or that of some elements of a memory.

    Attributes:
        place: Who takes it.
        seen: The elements that the place is about; None for a gradient of the right shape.
        through: The elements whose gradient is meant, zero being taken for the others.
    """

    place: Place
    seen: Layout | None = None
    through: Layout | None = None

    def of(self, gradient: Tensor) -> Tensor:
        """Return the share of ``gradient``."""
        if self.seen is None:
            return gradient
        if self.through is not None:
            part = torch.empty_strided(
                gradient.shape, gradient.stride(), dtype=gradient.dtype, device=gradient.device
            ).zero_()
            self.through.of(part).copy_(self.through.of(gradient))
            gradient = part
        return self.seen.of(gradient).clone()


class Gradients:
    """The gradients that a run wants; what cannot come is named at once.

    The model computes with its own tensors. What is noted of them is where in the graph their
    gradients will arrive; no copy stands between a tensor and what is done to it in place.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._arriving: dict[Place, Value] = {}
        self._arriving_in_memory: dict[Place, Value] = {}
        """Values whose gradients arrive at the memory that they are views of."""
        self._passages: list[Passage] = []
        self._graphless: list[tuple[Place, Tensor, int]] = []
        self._sums: dict[Place, Tensor] = {}
        self.has_begun = False
        """Whether the graph has come to anything whose gradient is wanted."""

    def values_of(self, tap: Tap, call: int, tensors: Mapping[str, Tensor]) -> Values:
        """Return ``tensors`` as they are now, and name those that will get no gradient."""
        values: dict[str, Value] = {}
        for leaf, tensor in tensors.items():
            value = value_of(tensor) if is_differentiable(tensor) else None
            if value is not None:
                self._collection.expect(tap, tensor)
                self.has_begun = True
                values[leaf] = value
            elif is_differentiable(tensor):
                self._collection.miss(tap, call, leaf, WITHOUT_GRADIENT)
            else:
                self._collection.miss(tap, call, leaf, not_differentiable(tensor.dtype))
        return values

    def want_values(self, tap: Tap, call: int, tensors: Mapping[str, Tensor], since: int) -> None:
        """Want the total derivatives of the values a call handed on.

        Args:
            tap: Where they are wanted.
            call: Which call it was.
            tensors: The values, by leaf.
            since: The first sequence number of the call.
        """
        for leaf, value in self.values_of(tap, call, tensors).items():
            wanted = self._arriving_in_memory if value.was_written(since) else self._arriving
            wanted[tap, call, leaf] = value
        for leaf, tensor in tensors.items():
            if is_differentiable(tensor) and not tensor.requires_grad:
                self._graphless.append(((tap, call, leaf), tensor, version_of(tensor)))

    def want_parameter(self, tap: Tap, name: str, tensor: Tensor) -> None:
        """Want the derivative of a parameter."""
        value = value_of(tensor) if is_differentiable(tensor) else None
        if value is not None:
            self.has_begun = True
            self._arriving[tap, 0, name] = value
        elif is_differentiable(tensor):
            self._collection.miss(tap, 0, name, FROZEN)
        else:
            self._collection.miss(tap, 0, name, not_differentiable(tensor.dtype))

    def want_passage(self, passage: Passage) -> None:
        """Want what flows through one call to its inputs."""
        self._passages.append(passage)

    def edges(self) -> list[GradientEdge]:
        """Return every place of the graph at which a gradient must be computed, once."""
        self._look_again()
        values = [*self._arriving.values(), *self._arriving_in_memory.values()]
        for passage in self._passages:
            values += passage.inputs.values()
        edges = [edge for value in values for edge in (value.edge, value.base)]
        return list({edge_key(edge): edge for edge in edges}.values())

    def ways(self, between: Iterable[Node]) -> Iterator[tuple[Node, Callable[..., None]]]:
        """Yield the nodes of which more must be known than what arrives at an edge.

        Args:
            between: The nodes between the score and ``edges()``.

        Yields:
            A node, and what must be told of the gradients that it hands on.
        """
        between = list(between)
        consumers: dict[Key, list[tuple[Node, int]]] = defaultdict(list)
        for node in between if self._passages else ():
            for index, key in enumerate(node.next_functions):
                consumers[key].append((node, index))
        for passage in self._passages:
            yield from self._ways_into(passage, consumers)
        views = self._views()
        for node in between if views else ():
            memory = changed_memory(node)
            if memory in views:
                yield node, partial(self._add_passed, views[memory], 0)

    def settle(self, arrived: Mapping[Key, Tensor | None], fused_until: int = -1) -> None:
        """Keep what came, and name why the rest did not.

        Args:
            arrived: A gradient, or None, for each edge's key.
            fused_until: The sequence number before which gradients may have been cut off by a
                module that ran fused.
        """
        for place, value in self._arriving.items():
            self._add(place, arrived.get(edge_key(value.edge)))
            self._keep(place, value.edge.node._sequence_nr() < fused_until)
        for place, value in self._arriving_in_memory.items():
            gradient = arrived.get(edge_key(value.base))
            if gradient is not None:
                self._add(place, _Share(place, value.layout).of(gradient))
            self._keep(place, value.edge.node._sequence_nr() < fused_until)
        for passage in self._passages:
            for leaf in passage.inputs:
                self._keep(passage.place(leaf), passage.made.start <= fused_until)

    def _look_again(self) -> None:
        """See whether the model has put values into the graph, as a checkpoint does its output."""
        for place, tensor, version in self._graphless:
            value = value_of(tensor) if version_of(tensor) == version else None
            if value is not None and not is_root(value.edge.node):
                self._arriving[place] = value
                self._collection.forget(*place)
        self._graphless.clear()

    def _ways_into(
        self, passage: Passage, consumers: Mapping[Key, list[tuple[Node, int]]]
    ) -> Iterator[tuple[Node, Callable[..., None]]]:
        """Yield where one call hands gradients to its inputs.

        Only nodes of the call are looked at, so that what flows around it is not counted. A tensor
        that was passed in several times has several leaves, and the graph cannot tell them apart:
        each of them gets all that flows to the tensor.
        """
        for leaf, value in passage.inputs.items():
            share = _Share(passage.place(leaf))
            for node, index in consumers[edge_key(value.edge)]:
                if node._sequence_nr() in passage.made:
                    yield node, partial(self._add_passed, [share], index)
            if not value.is_view:
                continue
            share = _Share(passage.place(leaf), value.layout)
            for node, index in consumers[edge_key(value.base)]:
                if node._sequence_nr() in passage.made and changed_memory(node) is not None:
                    yield node, partial(self._add_passed, [share], index)

    def _views(self) -> dict[Key, list[_Share]]:
        """Return who must be told when one who came later changed a view in place, by memory."""
        views: dict[Key, list[_Share]] = defaultdict(list)
        for place, value in self._arriving.items():
            if value.is_view:
                views[edge_key(value.base)].append(_Share(place, value.layout))
        for passage in self._passages:
            for leaf, given in passage.inputs.items():
                for returned in passage.outputs.values():
                    if returned.is_view and returned.shares_memory_with(given):
                        share = _Share(passage.place(leaf), given.layout, returned.layout)
                        views[edge_key(given.base)].append(share)
        return views

    def _keep(self, place: Place, may_be_cut_off: bool) -> None:
        gradient = self._sums.pop(place, None)
        if gradient is None:
            self._collection.miss(*place, FUSED if may_be_cut_off else NO_PATH)
        else:
            self._collection.keep(*place, gradient)

    def _add_passed(
        self,
        shares: list[_Share],
        index: int,
        gradients: tuple[Tensor | None, ...],
        _arrived: object,
    ) -> None:
        gradient = gradients[index]
        if gradient is not None:
            for share in shares:
                self._add(share.place, share.of(gradient))

    def _add(self, place: Place, gradient: Tensor | None) -> None:
        if gradient is not None:
            before = self._sums.get(place)
            self._sums[place] = gradient if before is None else before + gradient
