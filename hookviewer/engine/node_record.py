"""What a run recorded at one node, call by call."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookviewer.engine.capture import Capture
from hookviewer.engine.plan import Quantity

if TYPE_CHECKING:
    from torch import Tensor

    from hookviewer.engine.run import Run


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Everything recorded in one call of a node: ``{leaf: tensor}`` for each quantity."""

    inputs: Mapping[str, "Tensor"]
    outputs: Mapping[str, "Tensor"]
    grad_inputs: Mapping[str, "Tensor"]
    grad_outputs: Mapping[str, "Tensor"]
    attentions: Mapping[str, "Tensor"]


@dataclass(frozen=True, slots=True, eq=False)
class NodeRecord:
    """What a run recorded at one node. All tensors are detached and on the CPU."""

    run: "Run" = field(repr=False)
    path: str

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """One record per call of the node in this run."""
        found: dict[tuple[int, Quantity], dict[str, Tensor]] = defaultdict(dict)
        for quantity in _PER_CALL:
            for capture in self.run.of(quantity, self.path):
                found[capture.call, quantity][capture.leaf] = capture.tensor
        return tuple(
            CallRecord(*(found.get((call, quantity), {}) for quantity in _PER_CALL))
            for call in range(self.run.call_count(self.path))
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
    def attention(self) -> "Tensor | None":
        """The only attention weights of call 0, like ``output``."""
        return self._only(Quantity.ATTENTION)

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


_PER_CALL = (
    Quantity.INPUT,
    Quantity.OUTPUT,
    Quantity.GRAD_INPUT,
    Quantity.GRAD_OUTPUT,
    Quantity.ATTENTION,
)


def _by_leaf(captures: Iterable[Capture]) -> Mapping[str, "Tensor"]:
    return {capture.leaf: capture.tensor for capture in captures}
