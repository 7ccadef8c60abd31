"""The whole output."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.plan import Target
from hookviewer.extension import targets
from hookviewer.targets.output import check_sample, of_sample, only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("whole output")
def whole(leaf: str | None = None, sample: int | None = None) -> Target:
    """Return the target that takes the output itself, summed if it is no scalar.

    Args:
        leaf: Which tensor of an output that holds several.
        sample: Which sample of the batch, along axis 0; None sums over all.

    Raises:
        TargetError: ``sample`` is negative.
    """
    check_sample(sample)

    def score(output: Any) -> "Tensor":
        tensor = of_sample(only_leaf(output, leaf), sample, least=1)
        return tensor.sum() if tensor.ndim else tensor

    return score
