"""Record calls, and change what passes, at whatever node: a module, an operation, an input."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from hookviewer.engine.absence import IN_TRANSFORM, NO_TENSORS, STOPPED
from hookviewer.engine.call import Call
from hookviewer.engine.callers import is_in_reentrant_checkpoint, is_in_transform
from hookviewer.engine.cancel import Finished
from hookviewer.engine.changes import changed
from hookviewer.engine.collection import Collection
from hookviewer.engine.gradients import Gradients
from hookviewer.engine.graph import next_sequence_number
from hookviewer.engine.leaves import leaves, map_leaves
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.engine.roots import Roots, is_differentiable
from hookviewer.engine.sites import Site, Watch

_OF_THE_END = (Quantity.OUTPUT, Quantity.GRAD_OUTPUT, Quantity.GRAD_INPUT)


class Recording:
    """What becomes of each call, from what goes in to what comes out.

    Values are copied at once; gradients are awaited in the graph, so the model computes with its
    own tensors, also in place. A tensor without a graph whose gradient is wanted is made the root
    of one, if it comes from a call of a module that no gradient can flow into, as of token numbers.
    What operations make of such values is left alone: models do with it what no graph would allow.

    Once ``is_counting`` is False, calls are recomputation, by activation checkpoints inside
    backward. Then everything is done as the first time, but nothing is counted or recorded.
    """

    def __init__(self, collection: Collection, gradients: Gradients, roots: Roots) -> None:
        self._collection, self._gradients, self._roots = collection, gradients, roots
        self.awaited: set[str] | None = None
        """The paths of those not yet called; the forward is finished once there are none."""
        self.is_in_checkpoint = False
        """Whether a gradient is wanted inside a reentrant checkpoint."""
        self._taken: set[tuple[Tap, str]] = set()
        self._attentions: Counter[tuple[str, int]] = Counter()
        self.is_counting = True
        self.live: dict[str, list[Any]] = defaultdict(list)
        """What each call of a node handed on, with its graph, where the target needs it."""

    def begin(
        self, watch: Watch, key: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Call, tuple[Any, ...], dict[str, Any]]:
        """Record what goes in; return the call, and the arguments to make it with.

        Args:
            watch: What is wanted of it.
            key: What no other call of this node has.
            args: The positional arguments, as far as they are known.
            kwargs: The keywords, as far as they are known.
        """
        if is_in_transform():
            return self._begin_unseen(watch, key), args, kwargs
        call = Call(watch, key, next_sequence_number())
        if watch.takes_inputs:
            call.give(args, kwargs)
            if watch.plants and watch.wants_grad_input and not call.had_graph:
                args, kwargs = self.planted(args, kwargs)
                call.give(args, kwargs)
                call.since = next_sequence_number()
        if watch.has_rule:
            call.ruled = _kept_for_a_rule(call.given)
        if self.is_counting:
            for site in watch.sites:
                call.numbers[site.path] = site.calls
                site.calls += 1
                if watch.takes_inputs:
                    self._take_inputs(site, call)
        return call, args, kwargs

    def end(self, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any) -> Any:
        """Record what came out; return what is to be handed on.

        Raises:
            Finished: Nothing is left to record.
        """
        watch = call.watch
        handed_on = output
        for intervention in watch.interventions:
            handed_on = map_leaves(handed_on, partial(changed, intervention, call.ruled))
        if watch.wants_gradient:
            if not watch.takes_inputs:
                call.give(args, kwargs)
            handed_on = map_leaves(handed_on, call.told_apart)
            if watch.plants and not call.had_graph:
                handed_on = self._roots.plant(handed_on)
        if watch.wants_value and self.is_counting:
            self._take_outputs(call, handed_on)
        if self.awaited is not None and self.is_counting:
            self.awaited.difference_update(site.path for site in watch.sites)
            self.check_awaited()
        return handed_on

    def check_awaited(self) -> None:
        """Raise ``Finished`` if the forward may stop early and all nodes have been called."""
        if self.awaited is not None and not self.awaited:
            raise Finished

    def take_input(self, watch: Watch, value: Any) -> Any:
        """Record what the model is fed; return what to feed it."""
        for intervention in watch.interventions:
            value = map_leaves(value, partial(changed, intervention, None))
        if watch.wants_gradient:
            self._roots.plant(value)
        call = Call(watch, None, next_sequence_number())
        for site in watch.sites:
            call.numbers[site.path] = 0
            site.calls = 1
        self._take_outputs(call, value)
        if self.awaited is not None:
            self.awaited.difference_update(call.numbers)
        return value

    def take_parameters(
        self, parameters: Mapping[Tap, Mapping[str, Tensor]], wants_gradients: bool
    ) -> None:
        """Record ``parameters``, by tap and name, as they are now, unless that was done before."""
        for tap, tensors in parameters.items():
            for name, tensor in tensors.items():
                if (tap, name) in self._taken:
                    continue
                self._taken.add((tap, name))
                if not tap.quantity.is_gradient:
                    self._collection.keep(tap, 0, name, tensor)
                elif wants_gradients:
                    self._gradients.want_parameter(tap, name, tensor)

    def take_attention(self, sites: Iterable[Site], weights: Tensor) -> None:
        """Record the weights of an attention in the newest call of each site.

        What several attentions in one call of a module see are its leaves ``0``, ``1`` and so on.
        """
        for site in sites:
            place = site.path, site.calls - 1
            leaf = str(self._attentions[place])
            self._attentions[place] += 1
            self._collection.keep(site.taps[Quantity.ATTENTION], place[1], leaf, weights)

    def drop(self, call: Call) -> None:
        """Name what a call that will not return has not recorded."""
        for site in call.watch.sites:
            for quantity in _OF_THE_END:
                if quantity in site.taps and site.path in call.numbers:
                    number = call.numbers[site.path]
                    self._collection.miss(site.taps[quantity], number, None, STOPPED)

    def withdraw(self, call: Call) -> None:
        """Forget a call that turned out to be none of an operation."""
        for site in call.watch.sites:
            if site.path in call.numbers:
                site.calls -= 1
                self._collection.withdraw(site.path, call.numbers[site.path])

    def _begin_unseen(self, watch: Watch, key: object) -> Call:
        """Begin a call inside a transform of torch.func, whose tensors are none to keep."""
        for site in watch.sites:
            for tap in site.taps.values():
                self._collection.miss(tap, None, None, IN_TRANSFORM)
        return Call(Watch(()), key, 0)

    def _take_inputs(self, site: Site, call: Call) -> None:
        number = call.numbers[site.path]
        if Quantity.INPUT in site.taps:
            self._keep_all(site.taps[Quantity.INPUT], number, call.given)
        if Quantity.GRAD_INPUT in site.taps:
            tap = site.taps[Quantity.GRAD_INPUT]
            given = self._some(tap, number, call.given)
            call.inputs = self._gradients.values_of(tap, number, given)

    def _take_outputs(self, call: Call, handed_on: Any) -> None:
        returned = leaves(handed_on)
        for site in call.watch.sites:
            number = call.numbers[site.path]
            if Quantity.OUTPUT in site.taps:
                self._keep_all(site.taps[Quantity.OUTPUT], number, returned)
            if Quantity.GRAD_OUTPUT in site.taps:
                tap = site.taps[Quantity.GRAD_OUTPUT]
                values = self._some(tap, number, returned)
                if not torch.is_grad_enabled() and is_in_reentrant_checkpoint(sys._getframe()):
                    self.is_in_checkpoint = True
                self._gradients.want_values(tap, number, values, call.since)
            if Quantity.GRAD_INPUT in site.taps and call.inputs:
                self._gradients.want_passage(call.passage(site.path, number, returned))
            if site.is_live:
                self.live[site.path].append(map_leaves(handed_on, _as_now))

    def _keep_all(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> None:
        for leaf, tensor in self._some(tap, call, values).items():
            self._collection.keep(tap, call, leaf, tensor)

    def _some(self, tap: Tap, call: int, values: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        if not values:
            self._collection.miss(tap, call, None, NO_TENSORS)
        return values

    def planted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments that can receive gradients, keywords only where nothing else can.

        torch's own backward hooks know no keywords either. Most are masks, and attention takes
        another kernel, which gives other bits, for a mask that wants a gradient.
        """
        if any(map(is_differentiable, leaves(args).values())):
            return self._roots.plant(args), kwargs
        return args, self._roots.plant(kwargs)


def _kept_for_a_rule(given: Mapping[str, Tensor]) -> Tensor | None:
    """Return the first value that went in as it is now, with the graph that leads to it."""
    first = next(filter(is_differentiable, given.values()), None)
    return first.clone() if first is not None else None


def _as_now(_leaf: str, tensor: Tensor) -> Tensor:
    """Return ``tensor`` with its graph, out of reach of what is done to it in place later."""
    return tensor.clone()
