"""A finished plan, and how its captures are found again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from hookviewer.engine.absence import FORWARD_ONLY, NOT_CALLED
from hookviewer.engine.capture import Capture
from hookviewer.engine.description import RunDescription
from hookviewer.engine.errors import HookviewerError, UnknownPathError
from hookviewer.engine.node import OperationRecord
from hookviewer.engine.node_record import NodeRecord
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.engine.run_index import Absences, RunIndex

if TYPE_CHECKING:
    from torch import Tensor


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
        operations: With ``Plan.survey``: every operation, in the order of first calls.
        timings: Durations of the parts.
        class_names: The names along the output's class axis; empty when unknown.
        description: The model, the plan and the versions behind the run.
    """

    taps: frozenset[Tap]
    output: Any = field(default=None, repr=False)
    leaves: tuple[str, ...] = ()
    score: float | None = None
    captures: tuple[Capture, ...] = ()
    absences: Absences = field(default_factory=dict)
    shapes: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict, repr=False)
    operations: tuple[OperationRecord, ...] = field(default=(), repr=False)
    timings: Timings = Timings()
    class_names: tuple[str, ...] = ()
    description: RunDescription = field(default=RunDescription(), repr=False)
    _made: list[RunIndex] = field(default_factory=list, init=False, repr=False)

    @property
    def byte_count(self) -> int:
        """Memory that the captures take."""
        return sum(capture.byte_count for capture in self.captures)

    def of(self, quantity: Quantity, path: str) -> tuple[Capture, ...]:
        """Return the captures of ``quantity`` at ``path``, ordered by call."""
        return self._index().captures(Tap(path, quantity))

    def absence(
        self, quantity: Quantity, path: str, call: int | None = None, leaf: str | None = None
    ) -> str | None:
        """Return why there is no such capture, or None when there is one."""
        tap = Tap(path, quantity)
        if self._index().has(tap, call, leaf):
            return None
        reason = self._index().reason(tap, call, leaf)
        if reason is None:
            return FORWARD_ONLY if quantity.is_gradient and self.score is None else NOT_CALLED
        return reason

    def call_count(self, path: str) -> int:
        """Return how many calls of the node at ``path`` this run knows something of."""
        return self._index().call_count(path)

    def _index(self) -> RunIndex:
        """Return what finds captures again; it is made for the first question."""
        if not self._made:
            self._made.append(RunIndex(self.taps, self.captures, self.absences))
        return self._made[0]

    def __getitem__(self, path: str) -> NodeRecord:
        """Return what was recorded at ``path``.

        Raises:
            UnknownPathError: Nothing was asked for there; the sentence names near paths.
        """
        if path not in self._index().paths:
            raise UnknownPathError(path, self._index().paths, "This run")
        return NodeRecord(self, path)

    def top(self, count: int = 5) -> list[tuple[int, str, float]]:
        """Return the likeliest classes of the first sample: (index, name, probability).

        Raises:
            HookviewerError: There is no output, or it is not one score per class, (sample, class).
        """
        scores: Tensor | None = self.output
        if scores is None:
            raise HookviewerError(
                "There is no output to take classes from: the model returned nothing, "
                "or the run ended before it could."
            )
        if getattr(scores, "ndim", None) != 2 or 0 in scores.shape:
            raise HookviewerError("The output is not a table of class scores (sample, class).")
        probabilities = scores[0].double().softmax(0)
        best = probabilities.topk(min(count, len(probabilities)))
        return [
            (index, self._class_name(index), value)
            for value, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]

    def save(self, path: str | PathLike[str]) -> None:
        """Write this run to a safetensors file, which ``open_run`` reads.

        A file that is there is replaced, but only once the new one is whole.

        Raises:
            HookviewerError: The file cannot be written, or a tensor is of a kind that no file
                can hold.
        """
        # Late, so that torch is not loaded by all who only know what a run is.
        from hookviewer.engine.run_file import save_run

        save_run(self, path)

    def _class_name(self, index: int) -> str:
        return self.class_names[index] if index < len(self.class_names) else f"class {index}"
