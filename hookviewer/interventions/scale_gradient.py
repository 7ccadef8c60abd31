"""Multiply the gradient that flows through a node."""

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions


@interventions.register("scale gradient")
def scale_gradient(factor: float = 2.0) -> Intervention:
    """Multiply the gradient, so that every value before the node gets ``factor`` times its share.

    A common remedy where gradients vanish on their way to the first layers.
    """
    return Intervention(backward=lambda gradient: factor * gradient)
