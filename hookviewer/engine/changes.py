"""Apply interventions to a tensor that passes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hookviewer.engine.fit import checked
from hookviewer.engine.plan import Intervention

_WHO = "The intervention"


def changed(intervention: Intervention, given: Tensor | None, _leaf: str, value: Tensor) -> Tensor:
    """Return what is handed on in the place of ``value``.

    Args:
        intervention: What to do.
        given: What went into the node, with its graph; needed for a rule.
        value: What came out.
    """
    if intervention.forward is not None:
        value = checked(intervention.forward(value), value, _WHO)
    if intervention.rule is not None and given is not None and given.requires_grad:
        value = _Ruled.apply(given, value.detach(), intervention.rule)
    if intervention.backward is not None and value.requires_grad:
        value = _ChangedGradient.apply(value, intervention.backward)
    return value


class _ChangedGradient(torch.autograd.Function):
    """The identity, with a backward of the user's."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.change = change
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return checked(ctx.change(gradients[0]), gradients[0], _WHO), None


class _Ruled(torch.autograd.Function):
    """What a node made of its input, with a derivative of the user's."""

    @staticmethod
    def forward(
        ctx: Any, given: Tensor, value: Tensor, rule: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        ctx.save_for_backward(given)
        ctx.rule = rule
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (given,) = ctx.saved_tensors
        return checked(ctx.rule(gradients[0], given), given, _WHO), None, None
