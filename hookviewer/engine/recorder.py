"""The only module that registers hooks, and the one that removes them all."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node
from torch.nn.modules.module import register_module_forward_pre_hook

from hookviewer.engine.absence import (
    FROZEN,
    NO_PATH,
    NO_TENSORS,
    WITHOUT_GRADIENT,
    not_differentiable,
)
from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.collection import Collection
from hookviewer.engine.graph import (
    as_root,
    edge_key,
    edge_of,
    next_sequence_number,
    nodes_behind,
    ways_in,
)
from hookviewer.engine.leaves import leaves, map_leaves
from hookviewer.engine.paths import Paths
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap

Place = tuple[Tap, int, str]
"""Where a capture belongs: tap, call, leaf."""


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A call of a module that has begun: its number per path, where its inputs came from."""

    args: tuple[Any, ...]
    numbers: Mapping[str, int]
    input_edges: Mapping[str, GradientEdge]
    since: int


@dataclass(frozen=True, slots=True, eq=False)
class _Through:
    """A finished call whose gradients to its inputs are wanted, and its part of the graph."""

    path: str
    call: int
    input_edges: Mapping[str, GradientEdge]
    roots: tuple[Node, ...]
    since: int

    def place(self, leaf: str) -> Place:
        return Tap(self.path, Quantity.GRAD_INPUT), self.call, leaf


class Recorder:
    """Hooks a model for the length of a ``with`` block and collects captures.

    Values are copied inside the hooks. Of gradients only the edge of the graph at which they will
    arrive is noted, so the model computes with its own tensors, also in place. Only a view is
    handed on as a copy where its gradient is wanted: changed in place, it would lose its edge.
    """

    def __init__(self, paths: Paths, plan: Plan, token: CancelToken) -> None:
        self._paths, self._plan, self._token = paths, plan, token
        self._thread = threading.get_ident()
        self._stack = ExitStack()
        self._recording = True
        self._is_rooted = False
        self._calls: Counter[str] = Counter()
        self._begun: dict[nn.Module, list[_Call]] = {}
        self._arriving: dict[Place, GradientEdge] = {}
        self._through: list[_Through] = []
        self.collection = Collection()
        self.shapes: dict[str, tuple[tuple[int, ...], ...]] = {}

    def __enter__(self) -> Self:
        tapped = {tap.path for tap in self._plan.taps}
        with ExitStack() as stack:
            stack.callback(register_module_forward_pre_hook(self._guard).remove)
            for module, paths in self._paths.by_module().items():
                wanted = [path for path in paths if path in tapped]
                if wanted:
                    begin, end = partial(self._on_begin, wanted), partial(self._on_end, wanted)
                    handle = module.register_forward_pre_hook(begin, with_kwargs=True)
                    stack.callback(handle.remove)
                    stack.callback(module.register_forward_hook(end).remove)
                if self._plan.survey:
                    survey = partial(self._on_survey, paths)
                    stack.callback(module.register_forward_hook(survey).remove)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def feed(self, inputs: Inputs, device: torch.device | None) -> Inputs:
        """Return copies of ``inputs`` on ``device``, able to receive gradients if any are wanted.

        The model may write to what it is fed; the user's tensors must not change.
        """
        named = _named(inputs.args, inputs.kwargs)
        fed = map_leaves(named, lambda _, tensor: self._fed(tensor, device))
        for name, value in fed.items():
            self._calls[f"input:{name}"] = 1
            self._record_value(f"input:{name}", 0, leaves(value))
        return Inputs(
            *(fed[str(index)] for index in range(len(inputs.args))),
            **{name: fed[name] for name in inputs.kwargs},
        )

    def was_called(self, path: str) -> bool:
        """Whether the node at ``path`` was used in the forward."""
        return self._calls[path] > 0

    def end_forward(self, parameters: Mapping[Tap, Mapping[str, Tensor]]) -> None:
        """Record ``parameters`` by tap; calls after this are recomputation inside backward."""
        self._recording = False
        for tap, tensors in parameters.items():
            for name, tensor in tensors.items():
                if not tap.quantity.is_gradient:
                    self.collection.keep(tap, 0, name, tensor)
                elif self._plan.needs_backward:
                    self._await_parameter((tap, 0, name), tensor)

    def differentiate(self, score: Tensor) -> None:
        """Record the gradients of ``score``, touching no ``.grad``.

        Only what lies between the score and the recorded values is computed.
        """
        edges = {edge_key(edge): edge for edge in self._arriving.values()}
        for through in self._through:
            edges |= {edge_key(edge): edge for edge in through.input_edges.values()}
        passed: dict[Place, Tensor] = {}
        gradients: dict[tuple[Node, int], Tensor | None] = {}
        if edges and score.requires_grad:
            with ExitStack() as hooks:
                self._hook_graph(hooks, score, passed)
                found = torch.autograd.grad(score, list(edges.values()), allow_unused=True)
            gradients = dict(zip(edges, found, strict=True))
        for place, edge in self._arriving.items():
            self._keep_gradient(place, gradients.get(edge_key(edge)))
        for through in self._through:
            for leaf, edge in through.input_edges.items():
                gradient = passed.get(through.place(leaf))
                if gradient is None and edge.node in through.roots:  # it returned its own input
                    gradient = gradients.get(edge_key(edge))
                self._keep_gradient(through.place(leaf), gradient)

    def _hook_graph(self, hooks: ExitStack, score: Tensor, passed: dict[Place, Tensor]) -> None:
        for through in self._through:
            edges = through.input_edges
            for node, index, leaves_there in ways_in(through.roots, through.since, edges):
                places = [through.place(leaf) for leaf in leaves_there]
                add = partial(_add_passed, passed, places, index)
                hooks.callback(node.register_hook(add).remove)
        for node in nodes_behind(score):
            hooks.callback(node.register_prehook(self._check).remove)

    def _keep_gradient(self, place: Place, gradient: Tensor | None) -> None:
        if gradient is None:
            self.collection.miss(*place, NO_PATH)
        else:
            self.collection.keep(*place, gradient)

    def _wants(self, path: str, quantity: Quantity) -> bool:
        gradient_is_due = self._plan.needs_backward or not quantity.is_gradient
        return gradient_is_due and Tap(path, quantity) in self._plan.taps

    def _guard(self, *_: object) -> None:
        if threading.get_ident() == self._thread:  # this hook sees every module of the process
            self._token.check()

    def _check(self, *_: object) -> None:
        self._token.check()

    def _on_begin(
        self, paths: list[str], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if not self._recording:
            return
        given = leaves(_named(args, kwargs))
        numbers = {path: self._calls[path] for path in paths}
        self._calls.update(paths)
        edges: dict[str, GradientEdge] = {}
        for path, call in numbers.items():
            if self._wants(path, Quantity.INPUT):
                self._keep_all(Tap(path, Quantity.INPUT), call, given)
            if self._wants(path, Quantity.GRAD_INPUT):
                edges = self._edges(Tap(path, Quantity.GRAD_INPUT), call, given)
        begun = _Call(args, numbers, edges, next_sequence_number())
        self._begun.setdefault(module, []).append(begun)

    def _on_end(
        self, paths: list[str], module: nn.Module, args: tuple[Any, ...], output: Any
    ) -> Any:
        if not self._recording:
            return None
        begun = self._matching_call(module, args)
        gradients = (Quantity.GRAD_OUTPUT, Quantity.GRAD_INPUT)
        wants_gradient = any(self._wants(path, q) for path in paths for q in gradients)
        handed_on = map_leaves(output, _without_view) if wants_gradient else output
        returned = leaves(handed_on)
        for path, call in begun.numbers.items():
            self._record_value(path, call, returned)
            if self._wants(path, Quantity.GRAD_INPUT) and begun.input_edges:
                roots = tuple(t.grad_fn for t in returned.values() if t.grad_fn is not None)
                self._through.append(_Through(path, call, begun.input_edges, roots, begun.since))
        return None if handed_on is output else handed_on

    def _on_survey(self, paths: list[str], _module: nn.Module, _args: object, output: Any) -> None:
        if self._recording:
            shape = next((tuple(tensor.shape) for tensor in leaves(output).values()), ())
            for path in paths:
                self.shapes[path] = (*self.shapes.get(path, ()), shape)

    def _matching_call(self, module: nn.Module, args: tuple[Any, ...]) -> _Call:
        """Take back what ``_on_begin`` noted; calls that raised inside the model are dropped."""
        begun = self._begun[module]
        while len(begun) > 1 and begun[-1].args is not args:
            begun.pop()
        return begun.pop()

    def _record_value(self, path: str, call: int, values: Mapping[str, Tensor]) -> None:
        if self._wants(path, Quantity.OUTPUT):
            self._keep_all(Tap(path, Quantity.OUTPUT), call, values)
        if self._wants(path, Quantity.GRAD_OUTPUT):
            tap = Tap(path, Quantity.GRAD_OUTPUT)
            for leaf, edge in self._edges(tap, call, values).items():
                self._arriving[tap, call, leaf] = edge

    def _keep_all(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> None:
        for leaf, tensor in values.items():
            self.collection.keep(tap, call, leaf, tensor)
        if not values:
            self.collection.miss(tap, call, None, NO_TENSORS)

    def _edges(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> dict[str, GradientEdge]:
        """Return where the gradients of ``values`` will arrive, and name those that will not."""
        edges: dict[str, GradientEdge] = {}
        for leaf, tensor in values.items():
            if not _is_differentiable(tensor):
                self.collection.miss(tap, call, leaf, not_differentiable(tensor.dtype))
                continue
            edge = edge_of(tensor if self._is_rooted else as_root(tensor))
            if edge is None:
                self.collection.miss(tap, call, leaf, WITHOUT_GRADIENT)
            else:
                edges[leaf] = edge
        if not values:
            self.collection.miss(tap, call, None, NO_TENSORS)
        return edges

    def _await_parameter(self, place: Place, tensor: Tensor) -> None:
        edge = edge_of(tensor)
        if edge is not None:
            self._arriving[place] = edge
        elif _is_differentiable(tensor):
            self.collection.miss(*place, FROZEN)
        else:
            self.collection.miss(*place, not_differentiable(tensor.dtype))

    def _fed(self, tensor: Tensor, device: torch.device | None) -> Tensor:
        fed = tensor.detach().to(device or tensor.device, copy=True)
        if not self._plan.needs_backward or not _is_differentiable(fed):
            return fed
        self._is_rooted = True
        return fed.requires_grad_().clone()  # a leaf itself could not be changed in place


def _named(args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{str(index): value for index, value in enumerate(args)}, **kwargs}


def _is_differentiable(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _without_view(_leaf: str, tensor: Tensor) -> Tensor:
    return tensor.clone() if tensor.requires_grad and tensor._is_view() else tensor


def _add_passed(
    passed: dict[Place, Tensor],
    places: list[Place],
    index: int,
    gradients: tuple[Tensor | None, ...],
    _arrived: object,
) -> None:
    gradient = gradients[index]
    if gradient is not None:
        for place in places:
            passed[place] = passed[place] + gradient if place in passed else gradient
