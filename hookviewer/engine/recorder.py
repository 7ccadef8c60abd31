"""The only module that registers hooks, and the one that removes them all."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from hookviewer.engine.absence import NO_TENSORS, STOPPED
from hookviewer.engine.backward import FullBackward, needs_full_backward, partial_backward
from hookviewer.engine.call import Call, named, unnamed
from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.collection import Collection
from hookviewer.engine.gradients import Gradients, Values
from hookviewer.engine.graph import (
    next_sequence_number,
    nodes_between,
    with_changed_gradient,
)
from hookviewer.engine.leaves import leaves, map_leaves
from hookviewer.engine.paths import Paths, is_scripted
from hookviewer.engine.plan import Inputs, Intervention, Plan, Quantity, Tap
from hookviewer.engine.roots import Roots, is_differentiable


class Recorder:
    """Hooks a model for the length of a ``with`` block and collects captures.

    Values are copied inside the hooks; gradients are awaited in the graph, so the model computes
    with its own tensors, also in place. A tensor without a graph whose gradient is wanted is made
    the root of one, if it comes from a call that no gradient can flow into, as of token numbers.

    After the forward the hooks see activation checkpoints computing calls again inside backward.
    Then everything is done as the first time, but nothing is counted or recorded.
    """

    def __init__(self, paths: Paths, plan: Plan, token: CancelToken) -> None:
        self._paths, self._plan, self._token = paths, plan, token
        self._thread = threading.get_ident()
        self._stack = ExitStack()
        self._recording = True
        self._calls: Counter[str] = Counter()
        self._taken: set[tuple[Tap, str]] = set()
        self._begun: dict[nn.Module, list[Call]] = {}
        self.collection = Collection()
        self._gradients, self._roots = Gradients(self.collection), Roots()
        self.output_leaves: tuple[str, ...] = ()
        self.shapes: dict[str, tuple[tuple[int, ...], ...]] = {}

    def __enter__(self) -> Self:
        used = {*(tap.path for tap in self._plan.taps), *self._plan.interventions}
        with ExitStack() as stack:
            stack.callback(self._roots.remove)
            stack.callback(register_module_forward_pre_hook(self._guard).remove)
            for module, paths in self._paths.by_module.items():
                if not is_scripted(module):  # which refuses hooks
                    self._hook(stack, module, paths, [path for path in paths if path in used])
            self._stack = stack.pop_all()
        return self

    def _hook(self, stack: ExitStack, module: nn.Module, paths: list[str], used: list[str]) -> None:
        if used:
            begin, end = partial(self._on_begin, used), partial(self._on_end, used)
            before = module.register_forward_pre_hook(begin, with_kwargs=True)
            stack.callback(before.remove)
            stack.callback(module.register_forward_hook(end, with_kwargs=True).remove)
        if self._plan.survey:
            survey = partial(self._on_survey, paths)
            stack.callback(module.register_forward_hook(survey).remove)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def feed(self, inputs: Inputs, device: torch.device | None) -> Inputs:
        """Return copies of ``inputs`` on ``device``, able to receive gradients that are wanted.

        The model may write to what it is fed; the user's tensors must not change. A tensor that is
        given twice is one tensor for the model too.
        """
        copies: dict[int, Tensor] = {}

        def fed(_leaf: str, tensor: Tensor) -> Tensor:
            if id(tensor) not in copies:
                copies[id(tensor)] = tensor.detach().to(device or tensor.device, copy=True)
            return copies[id(tensor)]

        arguments = map_leaves(named(inputs.args, inputs.kwargs), fed)
        for name, value in arguments.items():
            path = f"input:{name}"
            self._calls[path] = 1
            if self._wants(path, Quantity.GRAD_OUTPUT):
                self._roots.plant(value)
            self._record_value(path, 0, leaves(value))
        args, kwargs = unnamed(arguments, inputs.kwargs)
        return Inputs(*args, **kwargs)

    def was_called(self, path: str) -> bool:
        """Whether the node at ``path`` was used in the forward."""
        return self._calls[path] > 0

    @property
    def forward_has_ended(self) -> bool:
        """Whether the forward came to its end."""
        return not self._recording

    def end_forward(self) -> None:
        """Record no further calls: those that come now are recomputation inside backward."""
        self._token.check()  # a model may have caught what was raised to stop it
        self._recording = False

    def drop_open_calls(self) -> None:
        """Name what calls that will not return any more have not recorded."""
        for begun in self._begun.values():
            while begun:
                self._drop(begun.pop())

    def take_parameters(self, parameters: Mapping[Tap, Mapping[str, Tensor]]) -> None:
        """Record ``parameters``, by tap and name, as they are now, unless that was done before."""
        for tap, tensors in parameters.items():
            for name, tensor in tensors.items():
                if (tap, name) in self._taken:
                    continue
                self._taken.add((tap, name))
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
        between = list(nodes_between(score, edges))
        with ExitStack() as hooks:
            for node, tell in self._gradients.ways(between):
                hooks.callback(node.register_hook(tell).remove)
            for node in between:
                hooks.callback(node.register_prehook(self._check).remove)
            if needs_full_backward(between):
                full = FullBackward(score, edges, self._paths.parameters())
                for node, tell in full.arrivals():
                    hooks.callback(node.register_prehook(tell).remove)
                arrived = full.run()
            else:
                arrived = partial_backward(score, edges)
        self._gradients.settle(arrived)

    def _wants(self, path: str, quantity: Quantity) -> bool:
        gradient_is_due = self._plan.needs_backward or not quantity.is_gradient
        return gradient_is_due and Tap(path, quantity) in self._plan.taps

    def _wants_any(self, paths: Iterable[str], *quantities: Quantity) -> bool:
        return any(self._wants(path, quantity) for path in paths for quantity in quantities)

    def _guard(self, *_: object) -> None:
        if threading.get_ident() == self._thread:  # this hook sees every module of the process
            self._token.check()

    def _check(self, *_: object) -> None:
        self._token.check()

    def _on_begin(
        self, paths: list[str], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = leaves(named(args, kwargs))
        if self._wants_any(paths, Quantity.GRAD_INPUT) and not _any_has_graph(given):
            args, kwargs = self._planted(args, kwargs)
            given = leaves(named(args, kwargs))
        numbers: dict[str, int] = {}
        if self._recording:
            numbers = {path: self._calls[path] for path in paths}
            self._calls.update(paths)
        inputs: Values = {}
        for path, call in numbers.items():
            if self._wants(path, Quantity.INPUT):
                self._keep_all(Tap(path, Quantity.INPUT), call, given)
            if self._wants(path, Quantity.GRAD_INPUT):
                tap = Tap(path, Quantity.GRAD_INPUT)
                inputs = self._gradients.values_of(tap, call, self._some(tap, call, given))
        begun = Call(numbers, kwargs, given, inputs, next_sequence_number())
        self._begun.setdefault(module, []).append(begun)
        return args, kwargs

    def _planted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments that can receive gradients, keywords only where nothing else can.

        torch's own backward hooks know no keywords either. Most are masks, and attention takes
        another kernel, which gives other bits, for a mask that wants a gradient.
        """
        if any(map(is_differentiable, leaves(args).values())):
            return self._roots.plant(args), kwargs
        return args, self._roots.plant(kwargs)

    def _on_end(
        self,
        paths: list[str],
        module: nn.Module,
        _args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
    ) -> Any:
        begun = self._matching_call(module, kwargs)
        handed_on = self._changed(paths, output)
        if self._wants_any(paths, Quantity.GRAD_OUTPUT, Quantity.GRAD_INPUT):
            handed_on = map_leaves(handed_on, begun.told_apart)
            if not _any_has_graph(begun.given):
                handed_on = self._roots.plant(handed_on)
        returned = leaves(handed_on)
        for path, call in begun.numbers.items():
            self._record_value(path, call, returned)
            if self._wants(path, Quantity.GRAD_INPUT) and begun.inputs:
                self._gradients.want_passage(begun.passage(path, call, returned))
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

    def _matching_call(self, module: nn.Module, kwargs: Mapping[str, Any]) -> Call:
        """Take back what ``_on_begin`` noted; calls that raised inside the model are dropped."""
        begun = self._begun[module]
        while begun[-1].kwargs is not kwargs:
            self._drop(begun.pop())
        return begun.pop()

    def _drop(self, raised: Call) -> None:
        for path, call in raised.numbers.items():
            for quantity in (Quantity.OUTPUT, Quantity.GRAD_OUTPUT, Quantity.GRAD_INPUT):
                if self._wants(path, quantity):
                    self.collection.miss(Tap(path, quantity), call, None, STOPPED)

    def _record_value(self, path: str, call: int, values: Mapping[str, Tensor]) -> None:
        if self._wants(path, Quantity.OUTPUT):
            self._keep_all(Tap(path, Quantity.OUTPUT), call, values)
        if self._wants(path, Quantity.GRAD_OUTPUT):
            tap = Tap(path, Quantity.GRAD_OUTPUT)
            self._gradients.want_values(tap, call, self._some(tap, call, values))

    def _keep_all(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> None:
        for leaf, tensor in self._some(tap, call, values).items():
            self.collection.keep(tap, call, leaf, tensor)

    def _some(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        if not values:
            self.collection.miss(tap, call, None, NO_TENSORS)
        return values


def _any_has_graph(tensors: Mapping[str, Tensor]) -> bool:
    return any(tensor.requires_grad for tensor in tensors.values())


def _intervene(intervention: Intervention, _leaf: str, tensor: Tensor) -> Tensor:
    if intervention.forward is not None:
        tensor = intervention.forward(tensor)
    if intervention.backward is not None and tensor.requires_grad:
        tensor = with_changed_gradient(tensor, intervention.backward)
    return tensor
