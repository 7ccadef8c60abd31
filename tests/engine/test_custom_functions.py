"""Functions with a backward of the user's own have the gradients that it gives."""

import pytest
import torch
from torch import nn

from hookviewer.engine.buffers import Buffers
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap
from hookviewer.targets import class_score

X = torch.tensor([0.6, -0.6, 1.4, -3.0])


class Round(torch.autograd.Function):
    """Rounds; lets gradients straight through where values are small, and says where that is."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        small = x.abs() <= 1
        ctx.mark_non_differentiable(small)
        return x.round(), small

    @staticmethod
    def backward(ctx, gradient, _):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


class Flip(torch.autograd.Function):
    """Changes its input's sign in place, and the gradient not at all."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.neg_()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Blind(torch.autograd.Function):
    """Passes a value through, and no gradient."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return None


@pytest.fixture
def applied(record, does):
    """``applied(function, after)``: a run whose module ``1`` calls a custom function."""

    def applied(function, after):
        parts = [nn.Hardtanh(-9, 9), does(function.apply), does(after)]
        return record(nn.Sequential(*parts), X, ["0", "1", "2"])

    return applied


def test_a_gradient_follows_the_function_and_not_its_values(applied):
    run = applied(Round, lambda found: (found[0] * 3).relu_())
    (call,) = run["1"].calls
    assert call.outputs["0"].tolist() == [1, -1, 1, -3]
    assert call.outputs["1"].tolist() == [True, True, False, False]
    assert call.grad_outputs["0"].tolist() == [3, 0, 3, 0]
    assert call.grad_inputs["0"].tolist() == [3, 0, 0, 0]
    assert run["0"].grad_output.tolist() == [3, 0, 0, 0]


def test_what_it_marks_as_not_differentiable_is_so(applied):
    run = applied(Round, lambda found: found[0] * found[1])
    assert run["1"].absence("grad_output", leaf="1") == "not differentiable (bool)"
    assert run["1"].absence("grad_output", leaf="0") is None


def test_what_it_changes_in_place_was_recorded_before(applied):
    run = applied(Flip, lambda x: x * 3)
    assert torch.equal(run["0"].output, X)
    assert torch.equal(run["1"].input, X)
    assert torch.equal(run["1"].output, -X)
    assert run["1"].grad_output.tolist() == [3] * 4
    assert run["1"].grad_input.tolist() == [3] * 4
    assert run["0"].grad_output.tolist() == [3] * 4


def test_what_it_lets_no_gradient_through_has_no_path(applied):
    run = applied(Blind, lambda x: x * 3)
    assert run["1"].grad_output.tolist() == [3] * 4
    assert run["1"].absence("grad_input") == "no path to the target"
    assert run["0"].absence("grad_output") == "no path to the target"


def test_every_look_has_the_gradient_of_its_own_class(chain, ones):
    """Nothing adds up from look to look, whatever memory they share."""
    chain[2].weight = nn.Parameter(torch.tensor([[5.0, 6.0], [7.0, 8.0]], dtype=torch.float64))
    buffers, taps = Buffers(), frozenset({Tap("0", Quantity.GRAD_OUTPUT)})
    looks = [
        execute(chain, Plan(taps, Inputs(ones), class_score(number)), buffers=buffers)
        for number in (0, 1, 0, 1)
    ]
    gradients = [run["0"].grad_output.tolist() for run in looks]
    assert gradients == [[[5, 0]], [[7, 0]], [[5, 0]], [[7, 0]]]
    assert all(parameter.grad is None for parameter in chain.parameters())
