"""What torch computes in one fused kernel stays so while it is recorded, and is named."""

import pytest
import torch
from torch import nn

from hookviewer.engine.globs import ALL
from hookviewer.engine.plan import Inputs

WIDTH, HEADS = 16, 4
EVERYTHING = ("input", "output", "grad_input", "grad_output", "attention")


class Frozen(nn.Module):
    """Two projections around a frozen encoder layer, which the plain call runs fused."""

    def __init__(self, first_learns):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(WIDTH, WIDTH)
        self.layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True)
        self.last = nn.Linear(WIDTH, 3)
        self.layer.requires_grad_(False)
        self.first.requires_grad_(first_learns)

    def forward(self, x):
        return self.last(self.layer(self.first(x)))


@pytest.fixture
def sequence():
    torch.manual_seed(1)
    return torch.randn(2, 5, WIDTH)


@pytest.mark.parametrize("first_learns", [False, True])
@pytest.mark.parametrize("at", ["layer.linear1", ALL])
@pytest.mark.parametrize("is_forward_only", [False, True])
def test_the_output_is_that_of_the_fused_call(
    record, sequence, digest, first_learns, at, is_forward_only
):
    net = Frozen(first_learns).eval()
    plain, before = net(sequence), digest(net)
    options = {"target": None} if is_forward_only else {}
    run = record(net, sequence, at, quantities=EVERYTHING, **options)
    assert torch.equal(run.output, plain)
    assert digest(net) == before


def test_what_is_inside_is_named_fused(record, sequence):
    paths = ["layer.linear1", "layer.self_attn", "layer/add"]
    run = record(Frozen(first_learns=False).eval(), sequence, paths, quantities=EVERYTHING)
    assert {run[path].absence(each) for path in paths for each in EVERYTHING} == {"fused"}


def test_gradients_begin_behind_what_runs_fused(record, sequence):
    net = Frozen(first_learns=False).eval()
    run = record(net, sequence, ["first", "layer", "last", "input:0"])
    expected = net.last.weight.sum(0).expand(2, 5, WIDTH)  # the target is the sum of the output
    assert torch.allclose(run["layer"].grad_output, expected)
    assert torch.allclose(run["last"].grad_input, expected)
    assert run["layer"].absence("grad_input") == "fused"
    assert run["first"].absence("grad_output") == "fused"
    assert run["input:0"].absence("grad_output") == "fused"


def test_a_layer_that_learns_before_it_keeps_it_from_being_fused(record, sequence):
    run = record(Frozen(first_learns=True).eval(), sequence, ["layer.linear1", "first"])
    assert run["layer.linear1"].output.shape == (2, 5, 32)
    assert run["first"].grad_output is not None


def test_a_frozen_layer_can_be_run_unfused(record, sequence):
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        run = record(Frozen(first_learns=False).eval(), sequence, ["layer.linear1", "first"])
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    assert run["layer.linear1"].grad_output is not None
    assert run["first"].grad_output is not None


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype")
def test_an_encoder_that_leaves_its_padding_out_still_does(record, sequence):
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True)
    net = nn.TransformerEncoder(layer, 2).eval().requires_grad_(requires_grad=False)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    plain = net(sequence, src_key_padding_mask=padding)
    given = Inputs(sequence, src_key_padding_mask=padding)
    run = record(net, given, ALL, quantities=EVERYTHING)
    assert torch.equal(run.output, plain)
    assert run["layers.0.linear1"].absence("output") == "fused"


def test_a_user_s_hook_inside_keeps_it_from_being_fused(record, sequence):
    net, seen = Frozen(first_learns=False).eval(), []
    net.layer.linear1.register_forward_hook(lambda module, given, output: seen.append(output))
    plain = net(sequence)
    run = record(net, sequence, "layer.linear1")
    assert torch.equal(run.output, plain)
    assert torch.equal(run["layer.linear1"].output, seen[-1])
