"""Switch a node off."""

from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("zero")
def zero() -> Intervention:
    """Set the whole output to zero. The gradient that flows back through it is zero."""

    def silence(output: "Tensor") -> "Tensor":
        import torch  # late: the window is up before torch is loaded

        return torch.fill(output, 0)  # which keeps a path for gradients, unlike zeros_like

    return Intervention(forward=silence)
