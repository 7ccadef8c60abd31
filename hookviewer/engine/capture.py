"""One recorded tensor, copied so that nobody can change it any more."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookviewer.engine.plan import Tap

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Capture:
    """One leaf of one quantity of one call, copied to the host.

    Attributes:
        tap: The wish that it fulfils.
        call: Which use of the node in this run, from 0.
        leaf: The tensor's path inside what the call took or returned, as ``0`` or ``0/boxes``;
            for parameters its name, as ``weight``.
        tensor: The values, detached, on the CPU, in the model's own dtype. Do not write to it.
    """

    tap: Tap
    call: int
    leaf: str
    tensor: "Tensor" = field(repr=False)

    @property
    def byte_count(self) -> int:
        """How much memory the values take."""
        return self.tensor.numel() * self.tensor.element_size()
