"""Multiply what a node hands on."""

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.values import scaled


@interventions.register("scale")
def scale(factor: float = 2.0) -> Intervention:
    """Multiply the whole output by ``factor``.

    Whole numbers and bools stay what they are: results are cut off toward zero.
    """
    return Intervention(forward=lambda output: scaled(output, factor))
