"""One unit of any node."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.fit import check_counted, check_unit
from hookviewer.engine.plan import LiveTarget
from hookviewer.extension import targets
from hookviewer.targets.live import LiveValue

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("unit")
def unit(
    path: str,
    index: tuple[int, ...],
    call: int = 0,
    leaf: str | None = None,
    sample: int | None = None,
) -> LiveTarget:
    """Return the target that sums one unit of the node at ``path`` over the samples.

    Args:
        path: That of a module, an operation or an input.
        index: From 0, one number for each axis after the sample's: (channel, row, column).
        call: Which call of the node, from 0.
        leaf: Which tensor of an output that holds several.
        sample: Which sample of the batch; None sums over all.

    Raises:
        TargetError: A number is negative.
    """
    check_counted(index, "The numbers of a unit", TargetError)
    value = LiveValue(path, call, leaf, sample)

    def score(values: Mapping[str, tuple[Any, ...]]) -> "Tensor":
        tensor = value.of(values)
        check_unit(index, tensor.shape, value.where, TargetError)
        place: tuple[slice | int, ...] = (slice(None), *index)
        return tensor[place].sum()

    return LiveTarget((path,), score)
