"""Put another value in place of what a node hands on."""

from typing import TYPE_CHECKING

from hookviewer.engine.fit import checked
from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("replace")
def replace(value: "Tensor") -> Intervention:
    """Set the whole output to ``value``. The gradient that flows back through it is zero.

    Args:
        value: Of the shape and dtype of the output; it is brought to its device.

    Raises:
        HookviewerError: In the run: the output has another shape or dtype; both are named.
    """
    new = value.detach().clone()

    def replaced(output: "Tensor") -> "Tensor":
        import torch  # late: the window is up before torch is loaded

        fitting = checked(new.to(output.device), output, "This replacement")
        never = torch.zeros((), dtype=torch.bool, device=output.device)
        return torch.where(never, output, fitting)  # which keeps a path for gradients that are zero

    return Intervention(forward=replaced)
