"""Put other values in place of single units of a node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.units import counted_units, places
from hookviewer.interventions.values import fitted, kept

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("replace units")
def replace_units(indices: Sequence[tuple[int, ...]], value: "float | Tensor") -> Intervention:
    """Set the units at ``indices`` to ``value`` in every sample.

    No gradient flows back through what is replaced.

    Args:
        indices: From 0, one number for each axis after the sample's: (channel, row, column).
        value: A number, or a tensor that broadcasts to (sample, unit).

    Raises:
        HookviewerError: An index is negative. In the run: the output has no such unit, the first
            and the last are named; or ``value`` does not fit.
    """
    chosen, new = counted_units(indices), kept(value)

    def replaced(output: "Tensor") -> "Tensor":
        where = places(chosen, output)
        changed = output.clone()
        changed[where] = fitted(new, output, (output.shape[0], len(chosen)))
        return changed

    return Intervention(forward=replaced)
