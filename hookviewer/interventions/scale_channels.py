"""Multiply channels of a node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.channels import check_channels, counted_channels
from hookviewer.interventions.values import scaled

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("scale channels")
def scale_channels(channels: Sequence[int], factor: float = 2.0) -> Intervention:
    """Multiply ``channels`` of the output, (sample, channel, …), by ``factor``.

    Whole numbers and bools stay what they are: results are cut off toward zero.

    Raises:
        HookviewerError: A channel is negative. In the run: the output has no such channel; the
            range is named.
    """
    chosen = counted_channels(channels)

    def with_scaled_channels(output: "Tensor") -> "Tensor":
        check_channels(chosen, output)
        changed = output.clone()
        changed[:, chosen] = scaled(output[:, chosen], factor)
        return changed

    return Intervention(forward=with_scaled_channels)
