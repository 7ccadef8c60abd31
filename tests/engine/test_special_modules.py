import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Intervention, Plan, Quantity, Tap
from hookviewer.targets import whole


def run(model, *taps, x, **options):
    wishes = frozenset(Tap(path, quantity) for path, quantity in taps)
    return execute(model, Plan(wishes, Inputs(x), whole(), **options))


class Watched(nn.Module):
    """Looks at its own value through an identity, without gradient."""

    def __init__(self):
        super().__init__()
        self.twice, self.idle = nn.Linear(1, 1, bias=False), nn.Dropout()
        nn.init.constant_(self.twice.weight, 2)

    def forward(self, x):
        value = self.twice(x)
        with torch.no_grad():
            seen = self.idle(value)
        return value * seen.detach()


def test_an_identity_without_gradient_mode_leaves_the_model_running():
    record = run(Watched().eval(), ("idle", Quantity.GRAD_OUTPUT), x=torch.tensor([[3.0]]))
    assert record.output.tolist() == [[36.0]]


@pytest.fixture
def half_scripted():
    with warnings.catch_warnings(action="ignore"):  # torch.jit is on its way out
        scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    return nn.Sequential(nn.Linear(2, 2), scripted).train()


def test_torchscript_inside_a_model_is_named_and_the_rest_is_recorded(half_scripted):
    x = torch.ones(1, 2)
    record = run(half_scripted, ("0", Quantity.OUTPUT), ("1.0", Quantity.OUTPUT), x=x)
    assert torch.equal(record["0"].output, half_scripted[0](x))
    assert record["1.0"].absence("output") == "not available in TorchScript"


def test_torchscript_gets_its_mode_back(half_scripted):
    run(half_scripted, ("0", Quantity.OUTPUT), x=torch.ones(1, 2))
    assert [module.training for module in half_scripted.modules()] == [True] * 5


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(1, 1, bias=False)
        nn.init.constant_(self.first.weight, 2)

    def segment(self, x):
        return self.first(x).relu() * 3

    def forward(self, x):
        return checkpoint(self.segment, x, use_reentrant=False)


def test_an_intervention_acts_again_where_a_checkpoint_computes_again():
    negate = {"first": (Intervention(forward=lambda value: -value),)}
    taps = [("first", Quantity.GRAD_OUTPUT), ("first", Quantity.OUTPUT)]
    record = run(Checkpointed(), *taps, x=torch.tensor([[1.0], [-2.0]]), interventions=negate)
    assert record["first"].output.tolist() == [[-2.0], [4.0]]
    assert record["first"].grad_output.tolist() == [[0.0], [3.0]]


def test_nothing_goes_into_an_input():
    record = run(nn.Identity(), ("input:0", Quantity.GRAD_INPUT), x=torch.ones(1))
    assert record["input:0"].absence("grad_input") == "no tensors"
