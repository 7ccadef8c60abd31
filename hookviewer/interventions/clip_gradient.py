"""Limit the gradient that flows through a node."""

from typing import TYPE_CHECKING, Literal

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("clip gradient")
def clip_gradient(limit: float = 1.0, by: Literal["value", "norm"] = "value") -> Intervention:
    """Limit the gradient, a common remedy where gradients explode.

    Args:
        limit: In units of the gradient: change of the target for each unit of the output.
        by: "value" cuts every number off at ±``limit``. "norm" divides all of them, those of all
            samples together, so that their Euclidean norm is at most ``limit``.

    Raises:
        HookviewerError: ``limit`` is negative, or ``by`` is neither.
    """
    if not limit >= 0:
        raise HookviewerError(f"A gradient is clipped at a limit of at least 0, not at {limit}.")
    if by not in ("value", "norm"):
        raise HookviewerError(f"A gradient is clipped by value or by norm, not by {by}.")

    def with_clipped_norm(gradient: "Tensor") -> "Tensor":
        import torch  # late: the window is up before torch is loaded

        wide = torch.promote_types(gradient.dtype, torch.float32)  # squares overflow in float16
        norm = torch.linalg.vector_norm(gradient, dtype=wide)
        return gradient * (limit / norm) if norm > limit else gradient

    if by == "norm":
        return Intervention(backward=with_clipped_norm)
    return Intervention(backward=lambda gradient: gradient.clamp(-limit, limit))
