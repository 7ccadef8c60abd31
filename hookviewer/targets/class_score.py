"""The score of one class."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.fit import check_counted, check_range
from hookviewer.engine.plan import Target
from hookviewer.extension import targets
from hookviewer.targets.output import check_sample, class_axis, of_sample, only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("class score")
def class_score(index: int, leaf: str | None = None, sample: int | None = None) -> Target:
    """Return the target that sums the scores of class ``index`` over samples and pixels.

    Args:
        index: From 0, along axis 1 of (sample, class, ...), or along the only axis.
        leaf: Which tensor of an output that holds several.
        sample: Which sample of the batch; None sums over all.

    Raises:
        TargetError: ``index`` or ``sample`` is negative.
    """
    check_counted([index], "Classes", TargetError)
    check_sample(sample)

    def score(output: Any) -> "Tensor":
        tensor = of_sample(only_leaf(output, leaf), sample)
        axis = class_axis(tensor)
        check_range(index, tensor.shape[axis], "classes", error=TargetError)
        return tensor.select(axis, index).sum()

    return score
