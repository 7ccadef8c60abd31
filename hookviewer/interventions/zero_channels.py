"""Switch channels of a node off."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("zero channels")
def zero_channels(channels: Sequence[int]) -> Intervention:
    """Set ``channels`` of the output, (sample, channel, …), to zero for all that comes after.

    Raises:
        HookviewerError: In the run: the output has no such channel; the range is named.
    """

    def silence(output: "Tensor") -> "Tensor":
        count = output.shape[1] if output.ndim > 1 else 0
        for channel in channels:
            if not 0 <= channel < count:
                raise HookviewerError(
                    f"This output has channels 0 to {count - 1}; {channel} is not among them."
                )
        return output.index_fill(1, output.new_tensor(list(channels)).long(), 0)

    return Intervention(forward=silence)
