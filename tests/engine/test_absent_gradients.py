"""A gradient that does not exist has a name; one that is zero or infinite is a gradient."""

import math

import pytest
import torch

GRADIENTS = ("grad_input", "grad_output")


X = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("make", "name"), [(lambda x: x.argmax(1), "int64"), (lambda x: x > 0, "bool")]
)
def test_whole_numbers_and_truth_values_are_not_differentiable(record, around, does, make, name):
    net = around(does(make), lambda body, x: x * body(x).sum())
    node = record(net, X, "body")["body"]
    assert node.output is not None
    assert node.absence("grad_output") == f"not differentiable ({name})"


def test_a_side_branch_has_no_path_to_the_target(record, around, scale):
    node = record(around(scale(2.0), lambda body, x: (x * 3, body(x))), X, "body")["body"]
    assert node.absence("grad_output") == "no path to the target"
    assert node.absence("grad_input") == "no path to the target"
    assert node.absence("output") is None


def test_a_target_without_a_graph_has_no_path(record, around, scale):
    node = record(around(scale(2.0), lambda body, x: body(x).detach()), X, "body")["body"]
    assert node.absence("grad_output") == "no path to the target"


def test_a_gradient_that_is_zero_is_a_captured_zero(record, around, scale):
    node = record(around(scale(2.0), lambda body, x: body(x) * 0), X, "body")["body"]
    assert node.absence("grad_output") is None
    assert (node.grad_output == 0).all()
    assert (node.grad_input == 0).all()


def test_infinite_gradients_and_those_that_are_no_numbers_are_kept(record, around, does):
    net = around(does(lambda x: x * 1), lambda body, x: body(x).sqrt() * torch.tensor([1.0, 0.0]))
    gradient = record(net, torch.zeros(2), "body")["body"].grad_output.tolist()
    assert gradient[0] == math.inf
    assert math.isnan(gradient[1])


def test_without_a_target_there_is_a_forward_only(record, chain, ones):
    run = record(chain, ones, ["1", "input:0"], target=None, quantities=GRADIENTS)
    assert run["1"].absence("grad_output") == "forward only"
    assert run["1"].absence("grad_input") == "forward only"
    assert run["input:0"].absence("grad_output") == "forward only"
    assert (run.score, run.timings.backward) == (None, None)


def test_a_target_without_gradient_taps_gives_a_score_alone(record, chain, ones):
    run = record(chain, ones, ["0"], quantities=["output"])
    assert (run.score, run.timings.backward) == (15, None)
