"""Find the tensor that a target is about, and the classes and samples in it."""

from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.fit import THIS_OUTPUT, check_counted, check_range, kind_text, shape_text

if TYPE_CHECKING:
    from torch import Tensor


def only_leaf(output: Any, leaf: str | None, where: str = THIS_OUTPUT) -> "Tensor":
    """Return the output's leaf at path ``leaf``, or its only one if ``leaf`` is None.

    Args:
        output: What a model or another node returned.
        leaf: A path inside it.
        where: Whose output it is, as a sentence begins.

    Raises:
        TargetError: There is no such leaf, there are several to choose from, or its numbers
            have no gradients.
    """
    from hookviewer.engine.leaves import leaves  # late: the window is up before torch is loaded

    found = leaves(output)
    names = ", ".join(f"'{name}'" for name in found)
    if not found:
        raise TargetError(f"{where} holds no tensor, so there is nothing to differentiate.")
    if leaf is None and len(found) > 1:
        raise TargetError(f"{where} has several leaves; choose one of {names}.")
    if leaf is None:
        (leaf,) = found
    if leaf not in found:
        raise TargetError(f"{where} has no leaf '{leaf}'; it has {names}.")
    tensor = found[leaf]
    if not tensor.is_floating_point():
        raise TargetError(
            f"{where} is {kind_text(tensor)}; only real numbers have a gradient here."
        )
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


def check_sample(sample: int | None) -> None:
    """Raise ``TargetError`` if ``sample`` is negative or no whole number; None is all samples."""
    check_counted(() if sample is None else (sample,), "Samples", TargetError)


def of_sample(
    tensor: "Tensor", sample: int | None, least: int = 2, where: str = THIS_OUTPUT
) -> "Tensor":
    """Return the part of ``tensor``, (sample, ...), that is about ``sample``, or all for None.

    Args:
        tensor: Its first axis stays, with the length 1.
        sample: From 0.
        least: With fewer axes than this the first one is not that of samples.
        where: Whose output it is, as a sentence begins.

    Raises:
        TargetError: There is no such sample; the range is named.
    """
    if sample is None:
        return tensor
    if tensor.ndim < least:
        raise TargetError(f"{where} is {shape_text(tensor.shape)}, without samples to choose from.")
    check_range(sample, tensor.shape[0], "samples", where, TargetError)
    return tensor[sample : sample + 1]
