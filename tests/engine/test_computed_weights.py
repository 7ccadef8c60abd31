"""The weight that is shown is the one that the forward uses, however it is computed."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize, prune, spectral_norm, weight_norm

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])

pytestmark = pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")


class Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).T


WAYS = {
    "old weight norm": weight_norm,
    "weight norm": parametrizations.weight_norm,
    "old spectral norm": spectral_norm,
    "spectral norm": parametrizations.spectral_norm,
    "symmetric": lambda layer: parametrize.register_parametrization(layer, "weight", Symmetric()),
    "pruned": lambda layer: prune.l1_unstructured(layer, "weight", 1),
}


def dressed(way):
    """Return a layer whose stored weight is older than its parameters, as after a step."""
    torch.manual_seed(0)
    layer = WAYS[way](nn.Linear(2, 2))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(3)
    return layer


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("train", [False, True])
def test_the_weight_shown_is_the_one_that_gives_the_output(record, way, train):
    node = record(dressed(way), X, "", quantities=["output", "parameter"], train=train)[""]
    parameters = node.parameters
    assert torch.equal(node.output, functional.linear(X, parameters["weight"], parameters["bias"]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("train", [False, True])
def test_showing_it_changes_neither_the_output_nor_the_model(record, digest, way, train):
    expected = dressed(way).train(train)(X)
    layer = dressed(way)
    before = digest(layer)
    run = record(layer, X, "", quantities=["parameter", "parameter_gradient"], train=train)
    assert torch.equal(run.output, expected)
    assert digest(layer) == before


def test_the_weight_of_a_layer_that_is_not_called_is_shown_too(record, around):
    net = around(dressed("weight norm"), lambda body, x: x * 1)
    weight = record(net, X, "body", quantities=["parameter"])["body"].parameters["weight"]
    assert torch.equal(weight, dressed("weight norm").weight)
