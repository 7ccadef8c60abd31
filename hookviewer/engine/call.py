"""A call of a node, from what goes in to what comes out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hookviewer.engine.gradients import Passage, Values
from hookviewer.engine.graph import is_since, is_strided, next_sequence_number, value_of
from hookviewer.engine.leaves import leaves, map_leaves
from hookviewer.engine.plan import Inputs
from hookviewer.engine.sites import Watch


@dataclass(slots=True, eq=False)
class Call:
    """A call that has begun.

    Attributes:
        watch: What is wanted of it.
        key: What no other call of the node has: its very tuple or dictionary of arguments.
        since: The first sequence number of the graph nodes it makes.
        given: The tensors that went in, by leaf, as far as anything is to be known of them.
        had_graph: Whether a gradient can flow to any of these.
        numbers: The how-manieth call it is, by path; empty for recomputation.
        inputs: Those inputs whose gradients are wanted.
        ruled: The first value that went in, for an intervention with a rule.
    """

    watch: Watch
    key: object
    since: int
    given: Mapping[str, Tensor] = field(default_factory=dict)
    had_graph: bool = False
    numbers: dict[str, int] = field(default_factory=dict)
    inputs: Values = field(default_factory=dict)
    ruled: Tensor | None = None

    def give(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
        """Note what goes in."""
        self.given = leaves(named(args, kwargs))
        self.had_graph = any(tensor.requires_grad for tensor in self.given.values())

    def told_apart(self, _leaf: str, returned: Tensor) -> Tensor:
        """Return ``returned``, or a view of all of it where the call hands on what it was given.

        What flows through an identity can then be told from what flows around it, and what is done
        to the view in place is done to the tensor, as before.
        """
        if not (torch.is_grad_enabled() and returned.requires_grad):
            return returned  # without gradient mode a view would have no place in the graph
        own = any(returned is tensor for tensor in self.given.values())
        if own and returned.grad_fn is not None and is_since(returned.grad_fn, self.since):
            return returned  # changed in place, it is another value than the one given
        if not (own and is_strided(returned)):
            return returned
        alias: Tensor = torch.ops.aten.alias(returned)  # view_as would compute other strides
        return alias

    def passage(self, path: str, number: int, returned: Mapping[str, Tensor]) -> Passage:
        """Return the call's part of the graph, now that it is finished."""
        values = {leaf: value_of(tensor) for leaf, tensor in returned.items()}
        outputs = {leaf: value for leaf, value in values.items() if value is not None}
        until = next_sequence_number()
        return Passage(path, number, self.inputs, outputs, range(self.since, until))


def named(args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name: positional ones are ``0``, ``1`` and so on."""
    return {**{str(index): value for index, value in enumerate(args)}, **kwargs}


def unnamed(
    arguments: Mapping[str, Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments, the latter named as in ``kwargs``."""
    positional = tuple(value for name, value in arguments.items() if name not in kwargs)
    return positional, {name: arguments[name] for name in kwargs}


def copies_of(inputs: Inputs, device: torch.device | None) -> dict[str, Any]:
    """Return copies of ``inputs`` by name, on ``device`` or where they are.

    The model may write to what it is fed; the user's tensors must not change. A tensor that is
    given twice is one tensor for the model too.
    """
    copies: dict[int, Tensor] = {}

    def copied(_leaf: str, tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            copies[id(tensor)] = tensor.detach().to(device or tensor.device, copy=True)
        return copies[id(tensor)]

    arguments: dict[str, Any] = map_leaves(named(inputs.args, inputs.kwargs), copied)
    return arguments
