"""To compute a weight for show is no call of the model's."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from hookviewer.engine.errors import ForwardError
from hookviewer.engine.plan import Quantity

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
PART = "0.parametrizations.weight.0"
BOTH = ("output", "parameter")


class Symmetric(nn.Module):
    """Copies the upper half into the lower, or fails."""

    def __init__(self, fails=False):
        super().__init__()
        self.fails = fails

    def forward(self, weight):
        if self.fails:
            raise ValueError("on purpose")
        return weight.triu() + weight.triu(1).T


class Shaken(nn.Module):
    """Multiplies by a random number."""

    def forward(self, weight):
        return weight * torch.rand(())


@pytest.fixture
def net():
    """Two layers, the first with a symmetric weight."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    parametrize.register_parametrization(net[0], "weight", Symmetric())
    return net


@pytest.mark.parametrize("complete", [False, True])
def test_what_makes_the_weight_has_the_calls_of_the_forward_only(record, net, complete):
    options = {"target": None, "quantities": BOTH, "complete": complete}
    run = record(net, X, ["0", PART], **options)
    assert len(run[PART].calls) == 1
    assert torch.equal(run[PART].output, net[0].weight)
    assert torch.equal(run["0"].parameters["weight"], net[0].weight)


def test_operations_inside_it_are_counted_as_the_model_calls_them(record, net):
    taps = ["0", f"{PART}/add"]
    run = record(net, X, taps, quantities=BOTH)
    assert len(run.of(Quantity.OUTPUT, f"{PART}/add")) == 1


def test_the_users_hooks_on_it_fire_as_often_as_without_us(record, net):
    fired = []
    net.get_submodule(PART).register_forward_hook(lambda *_: fired.append(1))
    net(X)
    record(net, X, "0", quantities=BOTH)
    assert fired == [1, 1]


def test_its_error_is_a_sentence(record, net):
    net.get_submodule(PART).fails = True
    with pytest.raises(ForwardError, match="on purpose"):
        record(net, X, "0", quantities=BOTH)


def test_its_error_stops_no_run_that_does_not_use_it(record, net, around):
    net.get_submodule(PART).fails = True
    run = record(around(net, lambda body, x: x * 1), X, ["body.0", ""], quantities=BOTH)
    assert torch.equal(run.output, X)


def test_a_random_weight_is_shown_as_the_forward_uses_it(record):
    layer = nn.Linear(2, 2, bias=False)
    parametrize.register_parametrization(layer, "weight", Shaken())
    node = record(layer, X, "", quantities=BOTH, seed=1)[""]
    assert torch.equal(node.output, X @ node.parameters["weight"].T)
