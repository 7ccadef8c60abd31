"""Tell whether torch's attention would run fused, in one operation that calls no inner module."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

_FUSED = frozenset(
    {
        "aten::_native_multi_head_attention",
        "aten::_transformer_encoder_layer_fwd",
        "aten::_nested_tensor_from_mask",
    }
)
"""What only the fast path runs; the last is how an encoder begins to leave its padding out."""
_NOT_FUSED = frozenset({"aten::linear", "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"})
"""What the way without fusion begins with, once it has looked at the masks."""
FUSIBLE = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""The modules that may run fused."""
_PARAMETRIZATIONS = "parametrizations"
"""The name under which torch keeps the modules that compute a module's parameters."""


def has_hooks(module: nn.Module) -> bool:
    """Whether there are hooks on ``module`` that keep an encoder layer from running fused."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


def runs_fused(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    hooked: Callable[[nn.Module], bool] = has_hooks,
) -> bool:
    """Return whether calling ``module`` now would take torch's fused or nested fast path.

    What torch's own ``forward`` does decides, as far as its first fused or plain operation, in the
    present grad mode and under the function modes that are on: one that is on keeps torch from it.
    A stand-in of ``module`` runs instead of it, so no hook fires and nothing is written to.

    Args:
        module: Only a ``MultiheadAttention``, ``TransformerEncoderLayer`` or ``TransformerEncoder``
            with torch's own ``forward`` can run fused.
        args: The positional arguments of the call, requiring gradients where they would.
        kwargs: Its keywords.
        hooked: Which modules are to count as having hooks: those with hooks of the user's.
    """
    attention = _first_attention(module)
    if attention is None or module.training or not torch.backends.mha.get_fastpath_enabled():
        return False
    given = args[0] if args else kwargs.get("query", kwargs.get("src"))
    if torch.is_grad_enabled() and (
        _wants_gradient(given) or _wants_gradient(attention._parameters.get("in_proj_weight"))
    ):
        return False
    try:
        with _Probe():  # type: ignore[no-untyped-call]
            _StandIns(hooked).of(module).forward(*args, **kwargs)
    except _Fused:
        return True
    except (_NotFused, Exception):  # what the call itself raises, the user will see there
        return False
    return False


def may_run_fused(module: nn.Module) -> bool:
    """Whether ``module`` is one of those that can run fused at all, as it is now."""
    return _first_attention(module) is not None and not module.training


def run_without_hooks(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what calling ``module`` gives where ``runs_fused`` says that it runs fused.

    Hooks in the module are not seen. The layers of an encoder are called as ever: each decides.
    """
    stands_in = not isinstance(module, nn.TransformerEncoder)
    called = _StandIns(lambda _: False).of(module) if stands_in else module
    return type(module).forward(called, *args, **kwargs)


def _first_attention(module: nn.Module) -> nn.MultiheadAttention | None:
    """Return the attention inside ``module`` whose state decides; None where none can be fused."""
    if "forward" in vars(module):  # put there by the user
        return None
    found: Any = None
    if _is_torchs(module, nn.MultiheadAttention):
        found = module
    elif _is_torchs(module, nn.TransformerEncoderLayer):
        found = module._modules.get("self_attn")
    elif _is_torchs(module, nn.TransformerEncoder):
        layers: Any = module._modules.get("layers")
        found = getattr(layers[0], "self_attn", None) if layers else None
    return found if isinstance(found, nn.MultiheadAttention) else None


def _is_torchs(module: nn.Module, kind: type[nn.Module]) -> bool:
    return isinstance(module, kind) and type(module).forward is kind.forward


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


class _Fused(BaseException):
    """The probe has met a fused operation."""


class _NotFused(BaseException):
    """The probe has met what is only called without fusion."""


class _Probe(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Ends the block at the first operation that tells."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function._schema.name
        if name in _FUSED:
            raise _Fused
        if name in _NOT_FUSED:
            raise _NotFused
        return function(*args, **(kwargs or {}))


class _Inner:
    """What an inner module is in the stand-in: its call is the end of the probe."""

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        raise _NotFused


class _Silent:
    """What a module that computes a parameter is in the stand-in: it fires no hooks."""

    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


class _StandIns:
    """Makes modules that have the attributes of others, and other hooks and inner modules."""

    def __init__(self, hooked: Callable[[nn.Module], bool]) -> None:
        self._hooked = hooked
        self._kinds: dict[tuple[type, type], type] = {}

    def of(self, module: nn.Module, manner: type | None = None) -> nn.Module:
        """Return a stand-in of ``module``, that is called in the given manner."""
        stand_in: nn.Module = object.__new__(self._kind(module, manner))
        hooks = {0: None} if self._hooked(module) else {}
        vars(stand_in).update(
            vars(module),
            _modules=dict(self._inner(module, manner)),
            _forward_hooks=hooks,
            _forward_pre_hooks={},
        )
        return stand_in

    def _kind(self, module: nn.Module, manner: type | None) -> type:
        own = type(module)
        if manner is None:
            return own
        if (manner, own) not in self._kinds:
            self._kinds[manner, own] = type(own.__name__, (manner, own), {})
        return self._kinds[manner, own]

    def _inner(
        self, module: nn.Module, manner: type | None
    ) -> Iterator[tuple[str, nn.Module | None]]:
        for name, inner in module._modules.items():
            computes = manner is _Silent or name == _PARAMETRIZATIONS
            yield name, inner and self.of(inner, _Silent if computes else _Inner)
