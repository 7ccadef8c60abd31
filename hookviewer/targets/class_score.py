"""The score of one class."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.plan import Target
from hookviewer.extension import targets
from hookviewer.targets.output import class_axis, only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("class score")
def class_score(index: int, leaf: str | None = None) -> Target:
    """Return the target that sums the scores of class ``index`` over samples and pixels.

    Args:
        index: From 0, along axis 1 of (sample, class, ...), or along the only axis.
        leaf: Which tensor of an output that holds several.
    """

    def score(output: Any) -> "Tensor":
        tensor = only_leaf(output, leaf)
        axis = class_axis(tensor)
        last = tensor.shape[axis] - 1
        if not 0 <= index <= last:
            raise TargetError(f"This output has classes 0 to {last}; {index} is not among them.")
        return tensor.select(axis, index).sum()

    return score
