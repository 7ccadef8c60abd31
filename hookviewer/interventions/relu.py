"""Check that what has its own rule for gradients can be a ReLU."""

from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.fit import shape_text

if TYPE_CHECKING:
    from torch import Tensor


def check_relu(gradient: "Tensor", given: "Tensor", rule: str) -> None:
    """Check that what came out, as its ``gradient``, has the shape of what was ``given``.

    Raises:
        HookviewerError: It has another; the sentence begins with the name of the ``rule``.
    """
    if gradient.shape != given.shape:
        came, went = shape_text(gradient.shape), shape_text(given.shape)
        raise HookviewerError(f"{rule} is for ReLUs; this node makes {came} of {went}.")
