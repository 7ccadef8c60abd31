"""Whether attention runs fused is told without running it, as torch itself decides it."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from hookviewer.engine.fused import runs_fused

X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
WANTED = X.clone().requires_grad_()
PADDING = torch.tensor([[False] * 3 + [True] * 2, [False] * 5])
HOLES = torch.tensor([[False, True, False, False, True], [False] * 5])
NUMBERS = torch.zeros(5, 5)
HIDDEN = torch.ones(5, 5, dtype=torch.bool).triu(1)
THE_MODULES_OWN = {
    nn.MultiheadAttention: "aten::_native_multi_head_attention",
    nn.TransformerEncoderLayer: "aten::_transformer_encoder_layer_fwd",
    nn.TransformerEncoder: "aten::_nested_tensor_from_mask",
}


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function._schema.name)
        return function(*args, **(kwargs or {}))


class Idle(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Subclass(nn.MultiheadAttention):
    """A subclass with torch's own forward."""


class Own(nn.MultiheadAttention):
    """A subclass that does as it likes."""

    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs)


def attention(kind=nn.MultiheadAttention, heads=4, **options):
    return kind(16, heads, batch_first=True, **options)


def layer(**options):
    return nn.TransformerEncoderLayer(16, options.pop("heads", 4), 32, batch_first=True, **options)


def encoder(**options):
    return nn.TransformerEncoder(layer(), 2, **options)


def parametrized():
    module = attention()
    parametrize.register_parametrization(module, "in_proj_weight", nn.Identity())
    return module


def hooked(module):
    inner = [part for part in module.modules() if isinstance(part, nn.Linear)][-1]
    inner.register_forward_hook(lambda *_: None)
    return module


CASES = {
    "attention": (attention, (X, X, X), {}, True),
    "by keyword": (attention, (), {"value": X, "key": X, "query": X}, True),
    "without weights": (attention, (X, X, X), {"need_weights": False}, True),
    "padded": (attention, (X, X, X), {"key_padding_mask": PADDING}, True),
    "masked": (attention, (X, X, X), {"attn_mask": HIDDEN}, True),
    "mask of numbers": (attention, (X, X, X), {"attn_mask": NUMBERS}, False),
    "other keys": (attention, (X, X.clone(), X), {}, False),
    "one sample": (attention, (X[0], X[0], X[0]), {}, False),
    "wanted gradient": (attention, (WANTED,) * 3, {}, False),
    "odd heads": (lambda: attention(heads=1), (X, X, X), {}, False),
    "own keys": (lambda: attention(add_bias_kv=True), (X, X, X), {}, False),
    "no bias": (lambda: attention(bias=False), (X, X, X), {}, False),
    "hooked inside": (lambda: hooked(attention()), (X, X, X), {}, True),
    "parametrized": (parametrized, (X, X, X), {}, True),
    "subclass": (lambda: attention(Subclass), (X, X, X), {}, True),
    "layer": (layer, (X,), {}, True),
    "layer by keyword": (layer, (), {"src_mask": HIDDEN, "src": X}, True),
    "mask that wants a gradient": (
        layer, (), {"src_mask": NUMBERS.clone().requires_grad_(), "src": X}, True,
    ),
    "norm first": (lambda: layer(norm_first=True), (X,), {}, True),
    "gelu": (lambda: layer(activation="gelu"), (X,), {}, True),
    "own activation": (lambda: layer(activation=torch.tanh), (X,), {}, False),
    "odd layer": (lambda: layer(heads=1), (X,), {}, False),
    "hooked layer": (lambda: hooked(layer()), (X,), {}, False),
    "encoder": (encoder, (X,), {}, False),
    "padded encoder": (encoder, (X,), {"src_key_padding_mask": PADDING}, True),
    "padding in between": (encoder, (X,), {"src_key_padding_mask": HOLES}, False),
    "never nested": (
        lambda: encoder(enable_nested_tensor=False), (X,), {"src_key_padding_mask": PADDING}, False,
    ),
}  # fmt: skip


def built(name):
    build, args, kwargs, expected = CASES[name]
    return build().eval().requires_grad_(requires_grad=False), args, kwargs, expected


def really_runs_fused(module, args, kwargs):
    with Operations() as operations:
        module(*args, **kwargs)
    (own,) = (name for kind, name in THE_MODULES_OWN.items() if isinstance(module, kind))
    return own in operations.names


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype")
def test_it_is_told_as_the_plain_call_then_does(name):
    module, args, kwargs, expected = built(name)
    assert runs_fused(module, args, kwargs) is expected
    assert really_runs_fused(module, args, kwargs) is expected


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][3]])
def test_what_can_be_fused_is_not_where_something_keeps_torch_from_it(name):
    module, args, kwargs, _ = built(name)
    with Idle():
        assert not runs_fused(module, args, kwargs)
    torch.backends.mha.set_fastpath_enabled(value=False)
    try:
        assert not runs_fused(module, args, kwargs)
    finally:
        torch.backends.mha.set_fastpath_enabled(value=True)
    assert not runs_fused(module.train(), args, kwargs)


@pytest.mark.parametrize("build", [attention, layer])
def test_a_module_that_learns_is_fused_without_gradient_mode_only(build):
    module = build().eval()
    args = (X, X, X) if build is attention else (X,)
    assert not runs_fused(module, args, {})
    with torch.no_grad():
        assert runs_fused(module, args, {})
        assert really_runs_fused(module, args, {})


def test_a_part_that_learns_is_enough():
    module, args, _, _ = built("layer")
    module.norm2.bias.requires_grad_(requires_grad=True)
    assert not runs_fused(module, args, {})
    assert not really_runs_fused(module, args, {})


def test_hooks_that_do_not_count_do_not_keep_a_layer_from_being_fused():
    module, args, _, _ = built("hooked layer")
    module.dropout.register_forward_pre_hook(lambda *_: None)
    assert runs_fused(module, args, {}, hooked=lambda _: False)


def test_a_forward_of_the_users_own_is_no_torchs():
    assert not runs_fused(attention(Own).eval().requires_grad_(False), (X, X, X), {})
    module = attention().eval().requires_grad_(False)
    module.forward = module.forward
    assert not runs_fused(module, (X, X, X), {})


@pytest.mark.parametrize(
    ("module", "args"),
    [
        (nn.ReLU(), (X,)),
        (nn.Sequential(attention()), (X,)),
        (nn.TransformerDecoderLayer(16, 4, 32), (X, X)),
        (attention(), ()),
        (attention(), ("text",) * 3),
    ],
)
def test_other_modules_and_calls_that_fail_are_not_fused(module, args):
    with torch.no_grad():
        assert not runs_fused(module.eval(), args, {})


@pytest.mark.parametrize("name", CASES)
def test_to_ask_leaves_no_trace_and_calls_no_hook(name, digest):
    module, args, kwargs, _ = built(name)
    called = []
    for part in module.modules():
        part.register_forward_pre_hook(lambda module, _: called.append(module))
    everywhere = nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: called.append(module)
    )
    before = digest(module)
    try:
        runs_fused(module, args, kwargs, hooked=lambda _: False)
        assert digest(module) == before
    finally:
        everywhere.remove()
    assert called == []


def test_what_a_look_can_tell_is_told_without_any_operation():
    module, args, kwargs, _ = built("padded")
    learning = attention().eval()
    with Operations() as operations:
        assert not runs_fused(module, (WANTED,) * 3, kwargs)
        assert not runs_fused(learning, args, kwargs)
        torch.backends.mha.set_fastpath_enabled(value=False)
        try:
            assert not runs_fused(module, args, kwargs)
        finally:
            torch.backends.mha.set_fastpath_enabled(value=True)
        assert not runs_fused(module.train(), args, kwargs)
    assert operations.names == []


def test_to_ask_computes_no_more_than_it_must():
    for name in CASES:
        module, args, kwargs, _ = built(name)
        with Operations() as operations:
            runs_fused(module, args, kwargs)
        assert not {"aten::addmm", "aten::bmm", *THE_MODULES_OWN.values()} & {*operations.names}
