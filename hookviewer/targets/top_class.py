"""The score of whatever class each sample scores highest."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.plan import Target
from hookviewer.extension import targets
from hookviewer.targets.output import check_sample, class_axis, of_sample, only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("top class")
def top_class(leaf: str | None = None, sample: int | None = None) -> Target:
    """Return the target that sums each sample's highest class score over the samples.

    Of maps, (sample, class, row, column), it is the class with the highest sum over its pixels.

    Args:
        leaf: Which tensor of an output that holds several.
        sample: Which sample of the batch; None sums over all.

    Raises:
        TargetError: ``sample`` is negative.
    """
    check_sample(sample)

    def score(output: Any) -> "Tensor":
        tensor = of_sample(only_leaf(output, leaf), sample)
        axis = class_axis(tensor)
        scores = tensor.flatten(axis + 1).sum(axis + 1) if tensor.ndim > 2 else tensor
        # One winner per sample even in a tie, where amax would split the gradient.
        return scores.max(axis).values.sum()

    return score
