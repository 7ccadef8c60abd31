"""The whole output."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.plan import Target
from hookviewer.extension import targets
from hookviewer.targets.output import only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("whole output")
def whole(leaf: str | None = None) -> Target:
    """Return the target that takes the output itself, summed if it is no scalar.

    Args:
        leaf: Which tensor of an output that holds several.
    """

    def score(output: Any) -> "Tensor":
        tensor = only_leaf(output, leaf)
        return tensor.sum() if tensor.ndim else tensor

    return score
