"""Compute the weights that a module's forward does not take as they are stored."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def computed_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return what ``module`` computes of its parameters for its next forward, by name.

    That is what weight norm, spectral norm, pruning and parametrizations make. Nothing is changed
    by looking: buffers that are written to, and random numbers, are put back, and no hook fires.
    What cannot be computed is left out; a forward that needs it will say why.
    """
    makers = [*_by_hooks(module), *_by_parametrizations(module)]
    if not makers:
        return {}
    found: dict[str, Tensor] = {}
    with torch.no_grad(), _unchanged([*module.buffers()]), _silent([*module.modules()]):
        for name, compute in makers:
            with suppress(Exception):  # a parametrization may be code of the user's
                found[name] = compute().clone()
    return found


def _by_hooks(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm):
            yield hook.name, lambda hook=hook: hook.compute_weight(module)
        elif isinstance(hook, SpectralNorm):
            steps = module.training
            yield hook.name, lambda hook=hook, steps=steps: hook.compute_weight(module, steps)
        elif isinstance(hook, BasePruningMethod):
            yield hook._tensor_name, lambda hook=hook: hook.apply_mask(module)


def _by_parametrizations(module: nn.Module) -> Iterator[tuple[str, Any]]:
    if parametrize.is_parametrized(module):
        for name in module.parametrizations:  # type: ignore[union-attr]
            yield name, partial(getattr, module, name)


@contextmanager
def _silent(modules: list[nn.Module]) -> Iterator[None]:
    """Let no hook of ``modules`` fire."""
    own = [(vars(module), {name: vars(module)[name] for name in _HOOKS}) for module in modules]
    for attributes, hooks in own:
        attributes.update((name, type(hooks[name])()) for name in _HOOKS)
    try:
        yield
    finally:
        for attributes, hooks in own:
            attributes.update(hooks)


@contextmanager
def _unchanged(buffers: list[Tensor]) -> Iterator[None]:
    before = [buffer.clone() for buffer in buffers]
    with torch.random.fork_rng(devices=[]):
        yield
    for buffer, values in zip(buffers, before, strict=True):
        if not torch.equal(buffer, values):
            buffer.copy_(values)
