"""Switch channels of a node off."""

from collections.abc import Sequence

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.replace_channels import replace_channels


@interventions.register("zero channels")
def zero_channels(channels: Sequence[int]) -> Intervention:
    """Set ``channels`` of the output, (sample, channel, …), to zero for all that comes after.

    Raises:
        HookviewerError: A channel is negative. In the run: the output has no such channel; the
            range is named.
    """
    return replace_channels(channels, 0)
