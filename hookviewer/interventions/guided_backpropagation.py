"""Guided backpropagation."""

from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.relu import check_relu

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("guided backpropagation")
def guided_backpropagation() -> Intervention:
    """Let the gradient through a ReLU where both it and what went in are positive.

    Put it at every ReLU, module or operation, to see what the target's evidence in the input is.

    Source: Springenberg et al., Striving for Simplicity: The All Convolutional Net, 2014.

    Raises:
        HookviewerError: In the run: the node is no ReLU, as its output has another shape.
    """

    def guided(gradient: "Tensor", given: "Tensor") -> "Tensor":
        check_relu(gradient, given, "Guided backpropagation")
        return gradient.masked_fill((gradient <= 0) | (given <= 0), 0)

    return Intervention(rule=guided)
