"""A call of a module, from what goes in to what comes out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hookviewer.engine.gradients import Passage, Values
from hookviewer.engine.graph import value_of


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that has begun.

    Attributes:
        numbers: The how-manieth call it is, by path.
        kwargs: Its keywords; no other call has this very dictionary.
        given: Every tensor that went in, by leaf.
        inputs: What is known of those whose gradients are wanted.
        since: The first sequence number of the graph nodes it makes.
    """

    numbers: Mapping[str, int]
    kwargs: Mapping[str, Any]
    given: Mapping[str, Tensor]
    inputs: Values
    since: int

    def told_apart(self, _leaf: str, returned: Tensor) -> Tensor:
        """Return ``returned``, or a view of all of it where the call hands on what it was given.

        What flows through an identity can then be told from what flows around it, and what is done
        to the view in place is done to the tensor, as before.
        """
        if not (torch.is_grad_enabled() and returned.requires_grad):
            return returned  # without gradient mode a view would have no place in the graph
        own = any(returned is tensor for tensor in self.given.values())
        plain = returned.layout is torch.strided and not returned.is_nested
        return returned.view_as(returned) if own and plain else returned

    def passage(self, path: str, number: int, returned: Mapping[str, Tensor]) -> Passage:
        """Return the call's part of the graph, now that it is finished."""
        ends = [*returned.values(), *self.given.values()]  # an input may have changed in place
        roots = tuple(tensor.grad_fn for tensor in ends if tensor.grad_fn is not None)
        values = {leaf: value_of(tensor) for leaf, tensor in returned.items()}
        outputs = {leaf: value for leaf, value in values.items() if value is not None}
        return Passage(path, number, self.inputs, outputs, roots, self.since)


def named(args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name: positional ones are ``0``, ``1`` and so on."""
    return {**{str(index): value for index, value in enumerate(args)}, **kwargs}


def unnamed(
    arguments: Mapping[str, Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments, the latter named as in ``kwargs``."""
    positional = tuple(value for name, value in arguments.items() if name not in kwargs)
    return positional, {name: arguments[name] for name in kwargs}
