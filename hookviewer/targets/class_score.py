"""The score of one class."""

from dataclasses import dataclass
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
    return ClassScore(index, leaf, sample)


@dataclass(frozen=True, slots=True)
class ClassScore:
    """The score of one class, as ``class_score`` makes it."""

    index: int
    leaf: str | None
    sample: int | None

    def __call__(self, output: Any) -> "Tensor":
        """Return the sum of the scores."""
        tensor = of_sample(only_leaf(output, self.leaf), self.sample)
        axis = class_axis(tensor)
        self.check(tensor.shape[axis])
        return tensor.select(axis, self.index).sum()

    def __str__(self) -> str:
        return f"class_score({self.index})"

    def check(self, count: int) -> None:
        """Raise ``TargetError`` with the range unless there is such a class among ``count``."""
        check_range(self.index, count, "classes", error=TargetError)
