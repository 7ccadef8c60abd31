"""The gradient of a deconvnet."""

from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.relu import check_relu

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("deconvnet")
def deconvnet() -> Intervention:
    """Let the gradient through a ReLU where it is positive, whatever went in.

    At every ReLU, module or operation, this makes the backward pass that of a deconvnet.

    Source: Zeiler and Fergus, Visualizing and Understanding Convolutional Networks, 2013.

    Raises:
        HookviewerError: In the run: the node is no ReLU, as its output has another shape.
    """

    def rectified(gradient: "Tensor", given: "Tensor") -> "Tensor":
        check_relu(gradient, given, "A deconvnet's rule")
        return gradient.clamp(min=0)

    return Intervention(rule=rectified)
