"""The mean over a map of any node."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.fit import check_counted, check_range, shape_text
from hookviewer.engine.plan import LiveTarget
from hookviewer.extension import targets
from hookviewer.targets.live import LiveValue

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("mean")
def mean(
    path: str,
    channel: int | None = None,
    call: int = 0,
    leaf: str | None = None,
    sample: int | None = None,
) -> LiveTarget:
    """Return the target that sums the mean of each sample at the node ``path`` over the samples.

    Args:
        path: That of a module, an operation or an input.
        channel: Over which map of (sample, channel, ...) the mean goes, from 0; None takes all.
        call: Which call of the node, from 0.
        leaf: Which tensor of an output that holds several.
        sample: Which sample of the batch; None sums over all.

    Raises:
        TargetError: A number is negative.
    """
    check_counted([] if channel is None else [channel], "Channels", TargetError)
    value = LiveValue(path, call, leaf, sample)

    def score(values: Mapping[str, tuple[Any, ...]]) -> "Tensor":
        tensor = value.of(values)
        if tensor.ndim < 2:
            shape = shape_text(tensor.shape)
            raise TargetError(f"{value.where} is {shape}: a sample has nothing to average over.")
        if channel is not None:
            check_range(channel, tensor.shape[1], "channels", value.where, TargetError)
            tensor = tensor[:, channel : channel + 1]
        return tensor.flatten(1).mean(1).sum()

    return LiveTarget((path,), score)
