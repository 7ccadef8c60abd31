"""Put other values in place of channels of a node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.channels import check_channels, counted_channels
from hookviewer.interventions.values import fitted, kept

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("replace channels")
def replace_channels(channels: Sequence[int], value: "float | Tensor") -> Intervention:
    """Set ``channels`` of the output, (sample, channel, …), to ``value``.

    No gradient flows back through what is replaced.

    Args:
        channels: From 0, along axis 1.
        value: A number, or a tensor that broadcasts to one channel, (sample, …).

    Raises:
        HookviewerError: A channel is negative. In the run: the output has no such channel, the
            range is named; or ``value`` does not fit.
    """
    chosen, new = counted_channels(channels), kept(value)

    def replaced(output: "Tensor") -> "Tensor":
        check_channels(chosen, output)
        changed = output.clone()
        one_channel = (output.shape[0], *output.shape[2:])
        changed[:, chosen] = fitted(new, output, one_channel).unsqueeze(1)
        return changed

    return Intervention(forward=replaced)
