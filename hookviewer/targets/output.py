"""Find, in what the model returned, the tensor that a target is about."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError

if TYPE_CHECKING:
    from torch import Tensor


def only_leaf(output: Any, leaf: str | None) -> "Tensor":
    """Return the output's leaf at path ``leaf``, or its only one if ``leaf`` is None.

    Raises:
        TargetError: There is no such leaf, there are several to choose from, or its numbers
            have no gradients.
    """
    from hookviewer.engine.leaves import leaves  # late: the window is up before torch is loaded

    found = leaves(output)
    names = ", ".join(f"'{name}'" for name in found)
    if not found:
        raise TargetError("This output holds no tensor, so there is nothing to differentiate.")
    if leaf is None and len(found) > 1:
        raise TargetError(f"This output has several leaves; choose one of {names}.")
    if leaf is None:
        (leaf,) = found
    if leaf not in found:
        raise TargetError(f"This output has no leaf '{leaf}'; it has {names}.")
    tensor = found[leaf]
    if not tensor.is_floating_point():
        kind = str(tensor.dtype).removeprefix("torch.")
        raise TargetError(f"This output is {kind}; only real numbers have a gradient here.")
    return tensor


def class_axis(tensor: "Tensor") -> int:
    """Return the axis of the classes: 1 in (sample, class, ...), 0 where there is only one axis.

    Raises:
        TargetError: The output is a single number, or has no classes.
    """
    if tensor.ndim == 0:
        raise TargetError("This output is a single number without classes; take all of it.")
    axis = min(tensor.ndim - 1, 1)
    if tensor.shape[axis] == 0:
        raise TargetError("This output has no classes.")
    return axis
