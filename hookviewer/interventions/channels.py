"""Check the channels that an intervention is about: axis 1 of (sample, channel, …)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.fit import check_counted, check_range, shape_text

if TYPE_CHECKING:
    from torch import Tensor


def counted_channels(channels: Sequence[int]) -> list[int]:
    """Return a copy of ``channels``.

    Raises:
        HookviewerError: One is negative or no whole number.
    """
    check_counted(channels, "Channels")
    return list(channels)


def check_channels(channels: Sequence[int], output: "Tensor") -> None:
    """Check that ``output`` has ``channels``.

    Raises:
        HookviewerError: One is beyond the last, which is named, or there is no channel axis.
    """
    if output.ndim < 2:
        raise HookviewerError(
            f"This output is {shape_text(output.shape)}; channels are axis 1 of (sample, channel)."
        )
    for channel in channels:
        check_range(channel, output.shape[1], "channels")
