"""What one run shall do, decided in full before it starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class LiveTarget:
    """A target on the live values of nodes instead of the output.

    Attributes:
        nodes: The paths of the modules, operations or inputs that it needs.
        score: Turns what each call of these handed on, by path, into the scalar.
    """

    nodes: tuple[str, ...]
    score: "Callable[[Mapping[str, tuple[Any, ...]]], Tensor]"


Target = Callable[[Any], "Tensor"] | LiveTarget
"""Turns the model's output, or the live values of nodes, into the scalar that is differentiated."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """Replaces what passes at a node: a value in forward, a gradient in backward.

    Each function returns a tensor of the same shape and dtype; it must not write to those it is
    given. None leaves that direction alone.

    Attributes:
        forward: From the output to what is handed on in its place.
        backward: From the gradient that arrives at the output to the one that flows on.
        rule: From the gradient at the output and the value that went in to the gradient at the
            input, in place of the derivative of the node with respect to its first input.
    """

    forward: "Callable[[Tensor], Tensor] | None" = None
    backward: "Callable[[Tensor], Tensor] | None" = None
    rule: "Callable[[Tensor, Tensor], Tensor] | None" = None


class Quantity(StrEnum):
    """What can be recorded at a node."""

    INPUT = "input"
    OUTPUT = "output"
    GRAD_INPUT = "grad_input"
    GRAD_OUTPUT = "grad_output"
    PARAMETER = "parameter"
    PARAMETER_GRADIENT = "parameter_gradient"
    ATTENTION = "attention"

    __hash__ = str.__hash__  # that of enumerations is slower, and taps are looked up all the time

    @property
    def is_gradient(self) -> bool:
        """Whether it needs a backward pass."""
        return self in _GRADIENTS

    @property
    def is_of_parameters(self) -> bool:
        """Whether it belongs to a module's parameters, not to its calls."""
        return self in _OF_PARAMETERS


_GRADIENTS = frozenset({Quantity.GRAD_INPUT, Quantity.GRAD_OUTPUT, Quantity.PARAMETER_GRADIENT})
_OF_PARAMETERS = frozenset({Quantity.PARAMETER, Quantity.PARAMETER_GRADIENT})


class Tap(NamedTuple):
    """A wish to record one quantity at one path."""

    path: str
    quantity: Quantity


class Inputs:
    """What the model is called with: positional and keyword arguments."""

    __slots__ = ("args", "kwargs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args: tuple[Any, ...] = args
        self.kwargs: Mapping[str, Any] = kwargs

    def __len__(self) -> int:
        return len(self.args) + len(self.kwargs)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The complete, immutable description of one run.

    Attributes:
        taps: What is to be recorded; their paths may be globs.
        inputs: What the model is called with.
        target: The scalar whose gradients are recorded; None runs forward only.
        train: Whether modules are in train mode for this run; eval otherwise.
        seed: Seed of all random numbers of the run; None goes on from the present state.
        survey: Whether to note the shapes of every module's output too. Copies nothing.
        class_names: The names along the output's class axis, for ``Run.top``.
        interventions: What is changed on the way, by path or glob; of several at a path the first
            acts first in forward and last in backward, as layers behind each other would.
        complete: Whether to run to the end; else the forward stops once each node that something is
            wanted of has been called, unless the target needs the output.
        byte_limit: How much memory the captures may take; None sets no limit.
    """

    taps: frozenset[Tap]
    inputs: Inputs
    target: Target | None = None
    train: bool = False
    seed: int | None = None
    survey: bool = False
    class_names: tuple[str, ...] = ()
    interventions: Mapping[str, tuple[Intervention, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    complete: bool = True
    byte_limit: int | None = None

    @property
    def may_stop_early(self) -> bool:
        """Whether the forward need not come to its end."""
        return not self.complete and (self.target is None or isinstance(self.target, LiveTarget))

    @property
    def needs_backward(self) -> bool:
        """Whether there is a gradient to record and a target to take it from."""
        return self.target is not None and any(tap.quantity.is_gradient for tap in self.taps)

    def paths(self, *quantities: Quantity) -> frozenset[str]:
        """Return the paths tapped for any of ``quantities``."""
        return frozenset(tap.path for tap in self.taps if tap.quantity in quantities)
