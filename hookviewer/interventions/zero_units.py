"""Switch single units of a node off."""

from collections.abc import Sequence

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.replace_units import replace_units


@interventions.register("zero units")
def zero_units(indices: Sequence[tuple[int, ...]]) -> Intervention:
    """Set the units at ``indices`` to zero in every sample.

    Args:
        indices: From 0, one number for each axis after the sample's: (channel, row, column).

    Raises:
        HookviewerError: An index is negative. In the run: the output has no such unit; the first
            and the last are named.
    """
    return replace_units(indices, 0)
