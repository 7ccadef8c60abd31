"""Plain tensors: three leaves, two steps and a sum, without any module.

Open this file as a model (tensors.py:model) and as its input (tensors.py:inputs). The steps of a
function are its operations: /add, /mul and /sum stand below the function in the model tree, and
each shows the value that it gave and the gradient of the result with respect to that value.

What to expect, with the sum as target:

    tensor        value      gradient
    a             [1, 2]     [2, 2]
    b             [3, 4]     [2, 2]
    d             [2]        [10]
    c = a + b     [4, 6]     [2, 2]     at /add
    e = c * d     [8, 12]    [1, 1]     at /mul
    o = e.sum()   20         1          at /sum

a, b and d are leaves: in plain PyTorch their gradients are kept in a.grad, b.grad and d.grad. c, e
and o are not: their gradients flow past and are gone, unless a hook catches them.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def run(a: Tensor, b: Tensor, d: Tensor) -> Tensor:
    """Compute o from the leaves."""
    c = a + b
    e = c * d
    return e.sum()


def model() -> Callable[..., Tensor]:
    """Return what is to be looked into. A function of tensors is as good as a module."""
    return run


def inputs() -> tuple[Tensor, ...]:
    """Return the arguments of the model, in their order."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    d = torch.tensor([2.0], requires_grad=True)
    return a, b, d
