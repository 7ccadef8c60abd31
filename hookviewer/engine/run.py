"""A finished plan, and how its captures are found again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hookviewer.engine.absence import FORWARD_ONLY, NOT_CALLED
from hookviewer.engine.capture import Capture
from hookviewer.engine.errors import HookviewerError, UnknownPathError
from hookviewer.engine.plan import Quantity, Tap

if TYPE_CHECKING:
    from torch import Tensor

Absences = Mapping[tuple[Tap, int | None, str | None], str]
"""Why there is nothing, by tap, call and leaf; None stands for all of them."""


@dataclass(frozen=True, slots=True)
class Timings:
    """How long the parts of a run took, in seconds; None where a part did not run."""

    forward: float | None = None
    backward: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What came out of a plan.

    Attributes:
        taps: What was asked for.
        output: What the model returned, every tensor in it detached.
        leaves: The paths of the tensors in the output, as far as the forward came to its end.
        score: The value of the target, or None when there was none.
        captures: Everything recorded, in the order of recording.
        absences: Why something that was asked for is not there.
        shapes: With ``Plan.survey``: the shapes of each called module's output, one per call.
        timings: Durations of the parts.
        class_names: The names along the output's class axis; empty when unknown.
    """

    taps: frozenset[Tap]
    output: Any = field(default=None, repr=False)
    leaves: tuple[str, ...] = ()
    score: float | None = None
    captures: tuple[Capture, ...] = ()
    absences: Absences = field(default_factory=dict)
    shapes: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict, repr=False)
    timings: Timings = Timings()
    class_names: tuple[str, ...] = ()

    @property
    def byte_count(self) -> int:
        """Memory that the captures take."""
        return sum(capture.byte_count for capture in self.captures)

    def of(self, quantity: Quantity, path: str) -> tuple[Capture, ...]:
        """Return the captures of ``quantity`` at ``path``, ordered by call."""
        wanted = Tap(path, quantity)
        return tuple(capture for capture in self.captures if capture.tap == wanted)

    def absence(
        self, quantity: Quantity, path: str, call: int | None = None, leaf: str | None = None
    ) -> str | None:
        """Return why there is no such capture, or None when there is one."""
        tap = Tap(path, quantity)
        if any(
            call in (None, found.call) and leaf in (None, found.leaf)
            for found in self.of(quantity, path)
        ):
            return None
        for key, reason in self.absences.items():
            if (
                key[0] == tap
                and (None in (call, key[1]) or call == key[1])
                and (None in (leaf, key[2]) or leaf == key[2])
            ):
                return reason
        if quantity.is_gradient and self.score is None:
            return FORWARD_ONLY
        return NOT_CALLED

    def __getitem__(self, path: str) -> "NodeRecord":
        """Return what was recorded at ``path``.

        Raises:
            UnknownPathError: Nothing was asked for there; the sentence names near paths.
        """
        known = {tap.path for tap in self.taps}
        if path not in known:
            raise UnknownPathError(path, known, "This run")
        return NodeRecord(self, path)

    def top(self, count: int = 5) -> list[tuple[int, str, float]]:
        """Return the likeliest classes of the first sample: (index, name, probability).

        Raises:
            HookviewerError: The output is not one score per class, (sample, class).
        """
        scores = self.output
        if getattr(scores, "ndim", None) != 2 or 0 in scores.shape:
            raise HookviewerError("The output is not a table of class scores (sample, class).")
        probabilities = scores[0].double().softmax(0)
        best = probabilities.topk(min(count, len(probabilities)))
        return [
            (index, self._class_name(index), value)
            for value, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]

    def _class_name(self, index: int) -> str:
        return self.class_names[index] if index < len(self.class_names) else f"class {index}"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Everything recorded in one call of a node: ``{leaf: tensor}`` for each quantity."""

    inputs: Mapping[str, "Tensor"]
    outputs: Mapping[str, "Tensor"]
    grad_inputs: Mapping[str, "Tensor"]
    grad_outputs: Mapping[str, "Tensor"]


@dataclass(frozen=True, slots=True, eq=False)
class NodeRecord:
    """What a run recorded at one node. All tensors are detached and on the CPU."""

    run: Run = field(repr=False)
    path: str

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """One record per call of the node in this run."""
        found = [
            c for c in self.run.captures if c.tap.path == self.path and c.tap.quantity in _PER_CALL
        ]
        missed = [call for tap, call, _ in self.run.absences if tap.path == self.path]
        numbers = [*(c.call for c in found), *(call for call in missed if call is not None)]
        count = max(numbers, default=-1) + 1
        return tuple(
            CallRecord(
                *(
                    _by_leaf(c for c in found if c.call == call and c.tap.quantity is quantity)
                    for quantity in _PER_CALL
                )
            )
            for call in range(count)
        )

    @property
    def output(self) -> "Tensor | None":
        """The only output leaf of call 0; None when absent, ValueError when several."""
        return self._only(Quantity.OUTPUT)

    @property
    def input(self) -> "Tensor | None":
        """The only input leaf of call 0; None when absent, ValueError when several."""
        return self._only(Quantity.INPUT)

    @property
    def grad_output(self) -> "Tensor | None":
        """The gradient of the only output leaf of call 0, like ``output``."""
        return self._only(Quantity.GRAD_OUTPUT)

    @property
    def grad_input(self) -> "Tensor | None":
        """The gradient through this node to its only input leaf of call 0, like ``input``."""
        return self._only(Quantity.GRAD_INPUT)

    @property
    def parameters(self) -> Mapping[str, "Tensor"]:
        """The node's own parameters and buffers by name."""
        return _by_leaf(self.run.of(Quantity.PARAMETER, self.path))

    @property
    def parameter_gradients(self) -> Mapping[str, "Tensor"]:
        """The gradients of the node's own parameters by name."""
        return _by_leaf(self.run.of(Quantity.PARAMETER_GRADIENT, self.path))

    def absence(self, quantity: str, call: int = 0, leaf: str | None = None) -> str | None:
        """Return why ``quantity`` was not recorded, or None when it was."""
        wanted = Quantity(quantity)
        return self.run.absence(wanted, self.path, None if wanted.is_of_parameters else call, leaf)

    def _only(self, quantity: Quantity) -> "Tensor | None":
        found = [c for c in self.run.of(quantity, self.path) if c.call == 0]
        if len(found) > 1:
            leaves = ", ".join(capture.leaf for capture in found)
            raise ValueError(f"'{self.path}' has several leaves of {quantity}: {leaves}.")
        return found[0].tensor if found else None


_PER_CALL = (Quantity.INPUT, Quantity.OUTPUT, Quantity.GRAD_INPUT, Quantity.GRAD_OUTPUT)


def _by_leaf(captures: Iterable[Capture]) -> Mapping[str, "Tensor"]:
    return {capture.leaf: capture.tensor for capture in captures}
