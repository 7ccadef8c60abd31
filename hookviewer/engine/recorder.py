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
from torch.nn.modules.module import register_module_forward_pre_hook

from hookviewer.engine.absence import NO_TENSORS
from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.collection import Collection
from hookviewer.engine.gradients import Edges, Gradients, Passage, is_differentiable
from hookviewer.engine.graph import (
    edge_key,
    next_sequence_number,
    nodes_between,
    with_changed_gradient,
)
from hookviewer.engine.leaves import leaves, map_leaves
from hookviewer.engine.paths import Paths
from hookviewer.engine.plan import Inputs, Intervention, Plan, Quantity, Tap


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A call of a module that has begun: its number per path, where its inputs came from."""

    args: tuple[Any, ...]
    numbers: Mapping[str, int]
    input_edges: Edges
    since: int


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
        self._calls: Counter[str] = Counter()
        self._begun: dict[nn.Module, list[_Call]] = {}
        self.collection = Collection()
        self._gradients = Gradients(self.collection)
        self.shapes: dict[str, tuple[tuple[int, ...], ...]] = {}

    def __enter__(self) -> Self:
        used = {*(tap.path for tap in self._plan.taps), *self._plan.interventions}
        with ExitStack() as stack:
            stack.callback(register_module_forward_pre_hook(self._guard).remove)
            for module, paths in self._paths.by_module.items():
                wanted = [path for path in paths if path in used]
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

    @property
    def forward_has_ended(self) -> bool:
        """Whether the forward came to its end."""
        return not self._recording

    def end_forward(self) -> None:
        """Record no further calls: those that come now are recomputation inside backward."""
        self._recording = False

    def take_parameters(self, parameters: Mapping[Tap, Mapping[str, Tensor]]) -> None:
        """Record ``parameters``, by tap and name, as they are now."""
        for tap, tensors in parameters.items():
            for name, tensor in tensors.items():
                if not tap.quantity.is_gradient:
                    self.collection.keep(tap, 0, name, tensor)
                elif self._plan.needs_backward:
                    self._gradients.want_parameter(tap, name, tensor)

    def differentiate(self, score: Tensor) -> None:
        """Record the gradients of ``score``, touching no ``.grad``.

        Only what lies between the score and the recorded values is computed.
        """
        edges = self._gradients.edges()
        if not edges or not score.requires_grad:
            self._gradients.settle({})
            return
        with ExitStack() as hooks:
            for node, tell in self._gradients.ways():
                hooks.callback(node.register_hook(tell).remove)
            for node in nodes_between(score, edges):
                hooks.callback(node.register_prehook(self._check).remove)
            found = torch.autograd.grad(score, edges, allow_unused=True)
        self._gradients.settle(dict(zip(map(edge_key, edges), found, strict=True)))

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
        edges: Edges = {}
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
        handed_on = self._changed(paths, output)
        gradients = (Quantity.GRAD_OUTPUT, Quantity.GRAD_INPUT)
        if any(self._wants(path, quantity) for path in paths for quantity in gradients):
            handed_on = map_leaves(handed_on, _without_view)
        returned = leaves(handed_on)
        for path, call in begun.numbers.items():
            self._record_value(path, call, returned)
            if self._wants(path, Quantity.GRAD_INPUT) and begun.input_edges:
                roots = tuple(t.grad_fn for t in returned.values() if t.grad_fn is not None)
                passage = Passage(path, call, begun.input_edges, roots, begun.since)
                self._gradients.want_passage(passage)
        return None if handed_on is output else handed_on

    def _changed(self, paths: list[str], output: Any) -> Any:
        for path in paths:
            for intervention in self._plan.interventions.get(path, ()):
                output = map_leaves(output, partial(_intervene, intervention))
        return output

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
            self._gradients.want_values(tap, call, self._some(tap, call, values))

    def _edges(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> Edges:
        return self._gradients.edges_of(tap, call, self._some(tap, call, values))

    def _keep_all(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> None:
        for leaf, tensor in self._some(tap, call, values).items():
            self.collection.keep(tap, call, leaf, tensor)

    def _some(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        if not values:
            self.collection.miss(tap, call, None, NO_TENSORS)
        return values

    def _fed(self, tensor: Tensor, device: torch.device | None) -> Tensor:
        fed = tensor.detach().to(device or tensor.device, copy=True)
        if not self._plan.needs_backward or not is_differentiable(fed):
            return fed
        self._gradients.is_rooted = True
        return fed.requires_grad_().clone()  # a leaf itself could not be changed in place


def _named(args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{str(index): value for index, value in enumerate(args)}, **kwargs}


def _without_view(_leaf: str, tensor: Tensor) -> Tensor:
    return tensor.clone() if tensor.requires_grad and tensor._is_view() else tensor


def _intervene(intervention: Intervention, _leaf: str, tensor: Tensor) -> Tensor:
    if intervention.forward is not None:
        tensor = intervention.forward(tensor)
    if intervention.backward is not None and tensor.requires_grad:
        tensor = with_changed_gradient(tensor, intervention.backward)
    return tensor
