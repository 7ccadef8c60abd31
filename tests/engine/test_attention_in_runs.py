"""The weights of attention in whole models, and that the models notice nothing."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torchvision.models import SwinTransformer, VisionTransformer

PICTURE = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
SEQUENCE = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(2))
LAYER = "encoder.layers.encoder_layer_{}.self_attention"
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture
def vit():
    """Two layers of two heads, on four patches and the class's token, with a head that is random.

    torchvision makes it of zeros, and all gradients zero with it.
    """
    torch.manual_seed(0)
    net = VisionTransformer(8, 4, 2, 2, 8, 16, num_classes=3).eval()
    nn.init.normal_(net.heads.head.weight)
    return net


def in_heads(projected):
    """Return (sample, head, token, feature) of two heads."""
    return projected.unflatten(-1, (2, -1)).transpose(1, 2)


@pytest.mark.parametrize("number", [0, 1])
def test_the_weights_of_a_vision_transformer_are_those_of_its_formula(record, vit, number):
    path, module = LAYER.format(number), vit.get_submodule(LAYER.format(number))
    quantities = ["attention", "input", "output"]
    (call,) = record(vit, PICTURE, path, quantities=quantities)[path].calls
    projected = functional.linear(call.inputs["0"], module.in_proj_weight, module.in_proj_bias)
    query, key, value = map(in_heads, projected.detach().chunk(3, -1))
    expected = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
    weights = call.attentions["0"]
    assert weights.shape == (2, 2, 5, 5)
    assert torch.allclose(weights, expected, **CLOSE)
    mixed = (weights @ value).transpose(1, 2).flatten(2)
    assert torch.allclose(module.out_proj(mixed), call.outputs["0"], **CLOSE)


@pytest.mark.parametrize("target", [None, lambda output: output[0, 1]])
def test_a_vision_transformer_gives_the_same_bits(record, vit, target):
    expected = vit(PICTURE)
    run = record(vit, PICTURE, LAYER.format(0), target=target, quantities=["attention"])
    assert torch.equal(run.output, expected)


def test_weights_computed_beside_a_call_are_no_part_of_the_gradients(record, vit):
    path, taps = LAYER.format(0), ["grad_output", "grad_input"]
    runs = [
        record(vit, PICTURE, path, target=lambda output: output[0, 1], quantities=quantities)
        for quantities in (taps, [*taps, "attention"])
    ]
    without, beside = (run[path].calls[0] for run in runs)
    assert torch.equal(beside.grad_outputs["0"], without.grad_outputs["0"])
    assert beside.grad_outputs["0"].any()
    assert torch.equal(beside.grad_inputs["0"], without.grad_inputs["0"])


def test_where_torch_runs_attention_fused_there_are_no_weights_and_the_same_bits(record, vit):
    vit.requires_grad_(False)
    expected, path = vit(PICTURE), LAYER.format(0)
    run = record(vit, PICTURE, path, target=None, quantities=["attention"])
    assert torch.equal(run.output, expected)
    assert run[path].absence("attention") == "fused"


def test_the_projection_behind_attention_is_never_called(record, vit):
    path = f"{LAYER.format(0)}.out_proj"
    assert record(vit, PICTURE, path)[path].absence("output") == "not called"


class Twofold(nn.Module):
    """Attends to itself, then to what came of that, by functions."""

    def forward(self, x):
        y = functional.scaled_dot_product_attention(x, x, x)
        return functional.scaled_dot_product_attention(y, x, x, is_causal=True)


def by_hand(query, key, hidden=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return (scores if hidden is None else scores.masked_fill(hidden, -torch.inf)).softmax(-1)


def test_each_attention_of_a_module_is_a_leaf_and_of_an_operation_a_call(record):
    operation = "/scaled_dot_product_attention"
    run = record(Twofold(), SEQUENCE, ["", operation], quantities=["attention"])
    first = by_hand(SEQUENCE, SEQUENCE)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    second = by_hand(first @ SEQUENCE, SEQUENCE, later)
    (call,) = run[""].calls
    assert list(call.attentions) == ["0", "1"]
    both = [*call.attentions.values(), *(each.attentions["0"] for each in run[operation].calls)]
    for weights, expected in zip(both, [first, second] * 2, strict=True):
        assert torch.allclose(weights, expected.unsqueeze(1), **CLOSE)


def test_each_call_of_a_module_has_weights_of_its_own(record, around):
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    net = around(attention, lambda body, x: body(*[body(x, x, x)[0]] * 3)[0])
    calls = record(net, SEQUENCE, "body", quantities=["attention", "output"])["body"].calls
    again = calls[0].outputs["0"]
    for call, given in zip(calls, [SEQUENCE, again], strict=True):
        expected = attention(given, given, given, average_attn_weights=False)[1]
        assert torch.allclose(call.attentions["0"], expected, **CLOSE)


def test_weights_computed_beside_a_call_use_no_random_numbers(record, around):
    """The second of two calls would draw others."""
    attention = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
    net = around(attention, lambda body, x: body(*[body(x, x, x)[0]] * 3)[0])
    runs = [
        record(net, SEQUENCE, "body", train=True, seed=0, quantities=quantities)
        for quantities in (["output"], ["output", "attention"])
    ]
    assert torch.equal(runs[0].output, runs[1].output)


class Attending(nn.Module):
    """Attends to itself, by a function."""

    def forward(self, x):
        return functional.scaled_dot_product_attention(x, x, x)


def test_attention_that_a_checkpoint_computes_again_is_recorded_once(record, around):
    net = around(Twofold(), lambda body, x: checkpoint(body, x, use_reentrant=False))
    run = record(net, SEQUENCE, ["body", "input:0"], quantities=["attention", "grad_output"])
    (call,) = run["body"].calls
    assert list(call.attentions) == ["0", "1"]
    assert torch.allclose(call.attentions["0"], by_hand(SEQUENCE, SEQUENCE).unsqueeze(1), **CLOSE)
    assert run["input:0"].grad_output.any()


def test_what_attends_to_nothing_or_is_not_called_says_so(record, around):
    parts = nn.ModuleList([nn.Linear(8, 8), Attending()])
    net = around(parts, lambda body, x: body[0](x))
    run = record(net, SEQUENCE, ["body.0", "body.1", "body"], quantities=["attention"])
    assert run["body.0"].absence("attention") == "no tensors"
    assert run["body.1"].absence("attention") == "not called"
    assert run["body"].absence("attention") == "container"


def windows(tokens, size):
    """Return (window, token, feature) of (sample, row, column, feature)."""
    samples, rows, columns, features = tokens.shape
    cut = tokens.view(samples, rows // size, size, columns // size, size, features)
    return cut.transpose(2, 3).reshape(-1, size * size, features)


def test_the_softmax_of_a_swin_transformer_is_that_of_its_formula(record):
    torch.manual_seed(0)
    net = SwinTransformer([2, 2], 8, [2], [2], [4, 4], num_classes=3).eval()
    attention = net.features[1][0].attn
    nn.init.normal_(attention.relative_position_bias_table)
    picture = torch.randn(1, 3, 16, 16)
    path, operation = "features.1.0.attn", "features.1.0.attn/softmax"
    run = record(net, picture, [path, operation])
    given = windows(run[path].calls[0].inputs["0"], 4)
    projected = functional.linear(given, attention.qkv.weight, attention.qkv.bias).detach()
    query, key, _ = map(in_heads, projected.chunk(3, -1))
    bias = attention.get_relative_position_bias().detach()
    expected = ((query * 4**-0.5) @ key.mT + bias).softmax(-1)
    assert torch.allclose(run[operation].output, expected, **CLOSE)
    assert run[operation].grad_output.shape == (4, 2, 16, 16)
    assert torch.equal(run.output, net(picture))
