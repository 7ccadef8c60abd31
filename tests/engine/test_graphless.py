"""Where autograd has no graph, one begins at what is looked at, or the reason is named."""

import pytest
import torch
from torch import nn

from hookviewer.engine.plan import Inputs

X = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


def test_a_model_may_leave_torch_before_its_first_parameter(record, around, scale):
    net = around(scale(3.0), lambda body, x: body(torch.from_numpy(x.numpy() + 1)))
    assert (record(net, X, "body")["body"].grad_input == 3).all()


@pytest.mark.parametrize("frozen", [False, True])
def test_frozen_parameters_hide_no_gradient(record, chain, ones, frozen):
    chain.requires_grad_(not frozen)
    run = record(chain, ones, ["0", "1", "2", ""])
    assert run["1"].grad_input.tolist() == [[5, 0]]
    assert run["0"].grad_input.tolist() == [[5, 10]]
    assert run[""].grad_input.tolist() == [[5, 10]]


@pytest.mark.parametrize("paths", [["2"], ["1"], ["0"], [""]])
def test_one_node_of_a_frozen_model_has_its_gradients(record, chain, ones, paths):
    wanted = {"2": [[5, 6]], "1": [[5, 0]], "0": [[5, 10]], "": [[5, 10]]}
    run = record(chain.requires_grad_(False), ones, paths)
    assert run[paths[0]].grad_input.tolist() == wanted[paths[0]]


class Words(nn.Module):
    """The sum of ``weights`` times the embedding of each word, normalised by a view."""

    def __init__(self):
        super().__init__()
        self.table, self.flat, self.head = nn.Embedding(4, 2), nn.Flatten(), nn.Linear(4, 1, False)
        self.head.weight = nn.Parameter(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))

    def forward(self, words, mask=None):
        known = self.table(words)
        if mask is not None:
            known = known * mask
        return self.head(self.flat(known))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("mask", [None, torch.full((1, 2, 2), 10.0)])
@pytest.mark.parametrize("paths", [["table", "flat", "head"], ["table"], ["flat"], ["head"]])
def test_numbers_of_words_end_where_gradients_begin(record, frozen, mask, paths):
    net = Words().requires_grad_(not frozen)
    run = record(net, Inputs(torch.tensor([[3, 1]]), mask), paths)
    factor = 1 if mask is None else 10
    wanted = {"table": [[[1, 2], [3, 4]]], "flat": [[1, 2, 3, 4]], "head": [[1]]}
    for path in paths:
        gradient = run[path].grad_output
        assert (gradient / (factor if path == "table" else 1)).tolist() == wanted[path]
    if "table" in paths:
        assert run["table"].absence("grad_input") == "not differentiable (int64)"
    if "flat" in paths:
        assert run["flat"].grad_input.tolist() == wanted["table"]


def test_words_have_no_gradient_themselves(record):
    run = record(Words(), torch.tensor([[3, 1]]), "input:0")
    assert run["input:0"].absence("grad_output") == "not differentiable (int64)"


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_part_without_gradient_mode_says_so(record, around, scale, mode, frozen):
    def call(body, x):
        with mode():
            kept = body[0](x)
        return body[1](kept.clone())

    net = around(nn.ModuleList([scale(2.0), scale(5.0)]), call).requires_grad_(not frozen)
    run = record(net, X, ["body.0", "body.1"])
    assert torch.equal(run["body.0"].output, X * 2)
    assert run["body.0"].absence("grad_output") == "computed without gradient"
    assert run["body.0"].absence("grad_input") == "computed without gradient"
    assert (run["body.1"].grad_output == 1).all()


def without_gradient(x):
    with torch.no_grad():
        return x * 2


@pytest.mark.parametrize("make", [without_gradient, lambda x: x.detach() * 2])
def test_a_module_that_cuts_the_graph_says_so(record, around, scale, does, make):
    body = nn.ModuleList([scale(3.0), does(make), scale(5.0)])
    net = around(body, lambda body, x: body[2](body[1](body[0](x))))
    run = record(net, X, ["body.1", "body.2"])
    assert run["body.1"].absence("grad_output") == "computed without gradient"
    assert run["body.1"].absence("grad_input") == "no path to the target"
    assert (run["body.2"].grad_output == 1).all()
    assert (run["body.2"].grad_input == 5).all()


@torch.inference_mode()
def inferred(x=X, part=slice(None)):
    return x[part] * 2


@pytest.mark.parametrize("part", [slice(None), slice(1)])
def test_what_comes_from_inference_mode_says_so(record, around, does, part):
    net = around(does(lambda: inferred()[part]), lambda body, x: body() * x.clone())
    run = record(net, 3.0 * torch.ones(1), "body")
    assert torch.equal(run.output, X[part] * 6)
    assert run["body"].absence("grad_output") == "computed without gradient"


def test_a_frozen_parameter_that_is_handed_on_stays_a_parameter(record, around, does):
    weight = nn.Parameter(torch.ones(2), requires_grad=False)
    net = around(does(lambda: weight), lambda body, x: (body() * x, weight.is_leaf)[0])
    run = record(net, torch.ones(2), "body")
    assert run["body"].output.tolist() == [1, 1]
    assert run["body"].absence("grad_output") == "computed without gradient"
