"""Compute the weights that a module's forward does not take as they are stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm


def computed_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return what ``module`` computes of its parameters for its next forward, by name.

    That is what weight norm, spectral norm, pruning and parametrizations make. Nothing is changed
    by looking: buffers that are written to, and random numbers, are put back.
    """
    makers = [*_by_hooks(module)]
    parametrized = list(module.parametrizations) if parametrize.is_parametrized(module) else []  # type: ignore[arg-type]
    if not (makers or parametrized):
        return {}
    with torch.no_grad(), _unchanged([*module.buffers()]):
        found = {name: compute() for name, compute in makers}
        found.update((name, getattr(module, name)) for name in parametrized)
        return {name: tensor.clone() for name, tensor in found.items()}


def _by_hooks(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm):
            yield hook.name, lambda hook=hook: hook.compute_weight(module)
        elif isinstance(hook, SpectralNorm):
            steps = module.training
            yield hook.name, lambda hook=hook, steps=steps: hook.compute_weight(module, steps)
        elif isinstance(hook, BasePruningMethod):
            yield hook._tensor_name, lambda hook=hook: hook.apply_mask(module)


@contextmanager
def _unchanged(buffers: list[Tensor]) -> Iterator[None]:
    before = [buffer.clone() for buffer in buffers]
    with torch.random.fork_rng(devices=[]):
        yield
    for buffer, values in zip(buffers, before, strict=True):
        if not torch.equal(buffer, values):
            buffer.copy_(values)
