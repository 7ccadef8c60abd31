import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap
from hookviewer.interventions import deconvnet, guided_backpropagation
from hookviewer.targets import class_score


class Guided(torch.autograd.Function):
    """A ReLU by the words of the article, another way than ours."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient.relu() * (x > 0)


class Deconvolved(torch.autograd.Function):
    """A ReLU whose backward is a ReLU."""

    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.relu()


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Skipping(nn.Module):
    """A small CNN with two ReLUs, one of them around a sum."""

    def __init__(self, first, second):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.conv1, self.conv2 = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 4, 3, padding=1)
            self.last = nn.Linear(4, 3)
        self.first, self.second = first, second

    def forward(self, x):
        x = self.first(self.conv1(x))
        x = self.second(self.conv2(x) + x)
        return self.last(x.mean((2, 3)))


X = torch.randn(2, 2, 7, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
RULES = [(guided_backpropagation, Guided.apply), (deconvnet, Deconvolved.apply)]


def gradient_at_input(net, interventions):
    taps = frozenset({Tap("input:0", Quantity.GRAD_OUTPUT)})
    run = execute(net, Plan(taps, Inputs(X), class_score(1), interventions=interventions))
    return run["input:0"].grad_output


def expected(function):
    x = X.clone().requires_grad_()
    net = Skipping(function, function).double()
    return torch.autograd.grad(net(x)[:, 1].sum(), x)[0]


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(("rule", "function"), RULES)
def test_at_every_relu_it_is_what_another_implementation_gives(rule, function, inplace):
    net = Skipping(nn.ReLU(inplace), nn.ReLU(inplace)).double()
    found = gradient_at_input(net, {"first": (rule(),), "second": (rule(),)})
    torch.testing.assert_close(found, expected(function), rtol=1e-9, atol=0)
    assert not torch.allclose(found, gradient_at_input(net, {}))


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(("rule", "function"), RULES)
def test_a_relu_that_is_an_operation_follows_it_too(rule, function, inplace):
    def relu(x):
        return functional.relu(x, inplace=inplace)

    net = Skipping(Calls(relu), Calls(relu)).double()
    found = gradient_at_input(net, {"first/relu": (rule(),), "second/relu": (rule(),)})
    torch.testing.assert_close(found, expected(function), rtol=1e-9, atol=0)


@pytest.mark.parametrize("rule", [guided_backpropagation, deconvnet])
def test_the_values_of_the_run_stay_bit_by_bit(rule):
    net = Skipping(nn.ReLU(True), nn.ReLU()).double()
    taps = frozenset({Tap("input:0", Quantity.GRAD_OUTPUT)})
    rules = {"first": (rule(),), "second": (rule(),)}
    run = execute(net, Plan(taps, Inputs(X), class_score(1), interventions=rules))
    assert torch.equal(run.output, net(X))


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(
    ("rule", "passed"), [(guided_backpropagation(), [2, 0, 0]), (deconvnet(), [2, 0, 5])]
)
def test_what_leaves_a_relu_is_what_the_rule_gives(rule, passed, inplace):
    net = nn.Sequential(nn.Identity(), nn.ReLU(inplace), nn.Linear(3, 1, bias=False)).double()
    net[2].weight.data = torch.tensor([[2.0, -3.0, 5.0]], dtype=torch.float64)
    x = torch.tensor([[1.0, 1.0, -1.0]], dtype=torch.float64)
    quantities = (Quantity.GRAD_INPUT, Quantity.GRAD_OUTPUT)
    taps = frozenset(Tap(path, each) for path in ("input:0", "0", "1") for each in quantities)
    run = execute(net, Plan(taps, Inputs(x), class_score(0), interventions={"1": (rule,)}))
    assert run["1"].grad_output.tolist() == [[2, -3, 5]]  # as it arrived
    assert run["1"].grad_input.tolist() == [passed]
    assert run["input:0"].grad_output.tolist() == [passed]
