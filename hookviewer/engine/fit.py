"""Say in a sentence what does not fit a tensor: what shall take its place, or a place in it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError

if TYPE_CHECKING:
    from torch import Tensor

THIS_OUTPUT = "This output"


def checked(result: object, given: "Tensor", who: str) -> "Tensor":
    """Return ``result`` if it can take the place of ``given``.

    Args:
        result: What a function made of ``given``.
        given: The tensor whose shape, dtype and device are needed.
        who: The function, as a sentence begins: "The intervention at 'layer1'".

    Raises:
        HookviewerError: It is no tensor, or of another shape, dtype or device; both are named.
    """
    from torch import Tensor  # late: the window is up before torch is loaded

    if not isinstance(result, Tensor):
        kind = type(result).__name__
        raise HookviewerError(f"{who} gives no tensor but {kind}; {_described(given)} is needed.")
    if result.device != given.device:
        raise HookviewerError(
            f"{who} gives a tensor on {result.device}; one on {given.device} is needed."
        )
    if result.shape != given.shape or result.dtype != given.dtype:
        raise HookviewerError(
            f"{who} gives {_described(result)} where {_described(given)} is needed."
        )
    return result


def check_counted(
    numbers: Iterable[int], what: str, error: type[HookviewerError] = HookviewerError
) -> None:
    """Raise ``error`` unless all ``numbers`` are whole and at least 0.

    Args:
        numbers: Positions along an axis.
        what: What they count, as a sentence begins: "Channels".
        error: What is raised.
    """
    for number in numbers:
        if not hasattr(number, "__index__") or number < 0:
            raise error(f"{what} are whole numbers from 0; {number!r} is none.")


def check_range(
    number: int,
    count: int,
    what: str,
    where: str = THIS_OUTPUT,
    error: type[HookviewerError] = HookviewerError,
) -> None:
    """Raise ``error`` with the range unless ``number``, at least 0, is below ``count``.

    Args:
        number: A position along an axis.
        count: How long the axis is.
        what: What the axis holds: "channels".
        where: Whose axis it is, as a sentence begins.
        error: What is raised.
    """
    if count == 0:
        raise error(f"{where} has no {what}.")
    if number >= count:
        raise error(f"{where} has {what} 0 to {count - 1}; {number} is not among them.")


def check_unit(
    index: Sequence[int],
    shape: Sequence[int],
    where: str = THIS_OUTPUT,
    error: type[HookviewerError] = HookviewerError,
) -> None:
    """Raise ``error`` with the range unless there is a unit ``index`` in a tensor of ``shape``.

    Args:
        index: Numbers of at least 0, one for each axis after the sample's.
        shape: (sample, channel, row, column), or any other with two axes or more.
        where: Whose shape it is, as a sentence begins.
        error: What is raised.
    """
    if len(shape) < 2 or 0 in shape[1:]:
        raise error(f"{where} is {shape_text(shape)}: it has no units behind a sample.")
    inside = len(index) == len(shape) - 1
    if not inside or any(number >= count for number, count in zip(index, shape[1:], strict=True)):
        first, last = tuple(0 for _ in shape[1:]), tuple(count - 1 for count in shape[1:])
        raise error(
            f"{where} has units {first} to {last} in each sample; {tuple(index)} is not among them."
        )


def shape_text(shape: Sequence[int]) -> str:
    """Return ``shape`` as people write it: "2 × 3", or "a single number"."""
    return " × ".join(map(str, shape)) or "a single number"


def kind_text(tensor: "Tensor") -> str:
    """Return the name of the tensor's dtype: "float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def _described(tensor: "Tensor") -> str:
    return f"{shape_text(tensor.shape)} of {kind_text(tensor)}"
