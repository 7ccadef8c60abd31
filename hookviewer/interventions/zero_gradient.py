"""Stop the gradient at a node."""

from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("zero gradient")
def zero_gradient() -> Intervention:
    """Let a gradient of zero flow on, so that nothing before the node gets a share through it."""

    def silence(gradient: "Tensor") -> "Tensor":
        import torch  # late: the window is up before torch is loaded

        return torch.zeros_like(gradient)

    return Intervention(backward=silence)
