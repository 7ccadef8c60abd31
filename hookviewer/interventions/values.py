"""Bring the numbers that an intervention is given to the dtype, device and shape of a node's."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.fit import kind_text, shape_text

if TYPE_CHECKING:
    from torch import Tensor


def kept(value: "float | Tensor") -> "float | Tensor":
    """Return a copy of ``value`` that nobody changes and that has no graph."""
    return value if isinstance(value, int | float | complex) else value.detach().clone()


def scaled(value: "Tensor", factor: float) -> "Tensor":
    """Return ``factor * value`` in the dtype of ``value``, cut off toward zero if that is whole."""
    if value.is_floating_point() or value.is_complex():
        return factor * value
    return (factor * value.double()).to(value.dtype)


def fitted(value: "float | Tensor", output: "Tensor", shape: Sequence[int]) -> "Tensor":
    """Return ``value`` with the dtype and device of ``output``, broadcast to ``shape``.

    Raises:
        HookviewerError: It cannot be broadcast, or holds numbers that the dtype does not have.
    """
    import torch  # late: the window is up before torch is loaded

    # Not in the default dtype: a number would be rounded before it becomes float64.
    exact = torch.float64 if isinstance(value, float) else None
    given = torch.as_tensor(value, dtype=exact, device=output.device)
    fits = output.is_complex() or not given.is_complex()
    if fits and not (output.is_floating_point() or output.is_complex()):
        fits = torch.equal(given.to(output.dtype).to(given.dtype), given)
    if not fits:
        kind = kind_text(output)
        raise HookviewerError(f"This output is {kind}, which cannot hold the numbers given.")
    try:
        return given.to(output.dtype).expand(*shape)
    except RuntimeError:
        raise HookviewerError(
            f"The value given is {shape_text(given.shape)}; it does not fit {shape_text(shape)}."
        ) from None
