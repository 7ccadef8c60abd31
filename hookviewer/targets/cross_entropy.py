"""The loss against a label."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.fit import check_counted, check_range
from hookviewer.engine.plan import Target
from hookviewer.extension import targets
from hookviewer.targets.output import check_sample, class_axis, of_sample, only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@targets.register("cross entropy")
def cross_entropy(label: int, leaf: str | None = None, sample: int | None = None) -> Target:
    """Return the target that sums the cross entropy against ``label`` over samples and pixels.

    The output holds scores before any softmax. The loss is minus log p(label), in nats.

    Args:
        label: The class, from 0, that is right for every sample and pixel; along axis 1 of
            (sample, class, ...), or along the only axis.
        leaf: Which tensor of an output that holds several.
        sample: Which sample of the batch; None sums over all.

    Raises:
        TargetError: ``label`` or ``sample`` is negative.
    """
    check_counted([label], "Labels", TargetError)
    check_sample(sample)

    def loss(output: Any) -> "Tensor":
        tensor = of_sample(only_leaf(output, leaf), sample)
        axis = class_axis(tensor)
        check_range(label, tensor.shape[axis], "classes", error=TargetError)
        return -tensor.log_softmax(axis).select(axis, label).sum()

    return loss
