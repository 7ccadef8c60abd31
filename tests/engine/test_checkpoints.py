"""Activation checkpoints compute calls again inside backward; these are no calls of their own."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.plan import Intervention

X = torch.tensor([[0.3, -0.7]], dtype=torch.float64)
EVERYTHING = ("output", "grad_input", "grad_output", "parameter_gradient")

pytestmark = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")


class Saving(nn.Module):
    """Three layers, the middle two as one checkpoint, or as none for comparison."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.way = nn.Linear(2, 3), nn.Linear(3, 1), way
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.double()

    def forward(self, x):
        y = self.first(x)
        if self.way == "none":
            return self.last(self.inner(y))
        return self.last(checkpoint(self.inner, y, use_reentrant=self.way == "reentrant"))


@pytest.fixture
def expected(record):
    run = record(Saving("none"), X, ["first", "inner", "last"], quantities=EVERYTHING)
    return {(capture.tap, capture.leaf): capture.tensor for capture in run.captures}


@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
def test_a_checkpointed_call_is_one_call_with_its_own_gradient(record, expected, way):
    run = record(Saving(way), X, ["first", "inner", "last"], quantities=EVERYTHING)
    assert len(run["inner"].calls) == 1
    assert {tap.quantity for tap, *_ in run.absences} <= {"grad_input", "parameter_gradient"}
    found = {(capture.tap, capture.leaf): capture.tensor for capture in run.captures}
    missing = {key[0].quantity for key in expected.keys() - found.keys()}
    assert missing == ({"grad_input"} if way == "reentrant" else set())
    for key, tensor in found.items():
        assert torch.allclose(tensor, expected[key], rtol=1e-12)


@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
def test_calls_inside_a_checkpoint_are_counted_once(record, way):
    paths = ["inner.0", "inner.1"]
    run = record(Saving(way), X, paths)
    expected = record(Saving("none"), X, paths)
    for path in paths:
        assert len(run[path].calls) == 1
        assert torch.equal(run[path].output, expected[path].output)
    if way == "reentrant":
        assert run["inner.0"].absence("grad_output") == "computed without gradient"
    else:
        assert torch.allclose(run["inner.0"].grad_output, expected["inner.0"].grad_output)
        assert torch.allclose(run["inner.0"].grad_input, expected["inner.0"].grad_input)


@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
def test_parameters_inside_a_checkpoint_have_their_gradients(record, way):
    net = Saving(way)
    run = record(net, X, ["inner.0", "first"], quantities=["parameter_gradient"])
    twin = Saving("none")
    twin(X).backward()
    for path in ("inner.0", "first"):
        gradients = run[path].parameter_gradients
        assert torch.allclose(gradients["weight"], twin.get_submodule(path).weight.grad)


@pytest.mark.parametrize("paths", [["first"], ["first", "inner.0", "input:0"]])
@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
def test_a_checkpoint_leaves_no_trace(record, digest, way, paths):
    net, stepped = Saving(way), []
    net.first.weight.grad = torch.full((3, 2), 5.0, dtype=torch.float64)
    net.first.bias.register_post_accumulate_grad_hook(stepped.append)
    net.inner[0].bias.register_post_accumulate_grad_hook(stepped.append)
    before = digest(net)
    record(net, X, paths, quantities=EVERYTHING)
    assert digest(net) == before
    assert stepped == []
    net(X).sum().backward()
    assert len(stepped) == 2


def test_other_tensors_of_the_users_get_no_gradient_either(record, around):
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)
    net = around(nn.Tanh(), lambda body, x: checkpoint(body, x * weight, use_reentrant=True))
    run = record(net, X, "body")
    assert run["body"].grad_output.tolist() == [[1, 1]]
    assert weight.grad is None


@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
def test_what_is_changed_in_a_checkpoint_is_changed_when_it_is_computed_again(record, way):
    interventions = {
        "inner.0": (Intervention(forward=lambda v: v * 3, backward=lambda gradient: gradient * 5),)
    }
    runs = [
        record(Saving(each), X, ["first"], quantities=EVERYTHING, interventions=interventions)
        for each in (way, "none")
    ]
    assert torch.allclose(runs[0]["first"].grad_output, runs[1]["first"].grad_output)
    assert torch.equal(runs[0].output, runs[1].output)


def test_a_frozen_checkpoint_has_its_gradients(record):
    net = Saving("not reentrant").requires_grad_(False)
    expected = record(Saving("none"), X, ["first", "inner.0"])
    for paths in (["inner.0"], ["first", "inner.0"]):
        run = record(net, X, paths)
        assert torch.allclose(run["inner.0"].grad_output, expected["inner.0"].grad_output)
        assert torch.allclose(run["inner.0"].grad_input, expected["inner.0"].grad_input)


@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
def test_a_backward_with_checkpoints_can_be_stopped(record, digest, way):
    net, token = Saving(way), CancelToken()
    net.last.register_full_backward_hook(lambda *_: token.cancel())
    before = digest(net)
    with pytest.raises(Cancelled):
        record(net, X, ["first"], quantities=EVERYTHING, token=token)
    assert digest(net) == before


@pytest.mark.parametrize("way", ["reentrant", "not reentrant"])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("paths", [["body"], ["body", "input:0"], ["", "body"]])
def test_a_checkpoint_that_a_model_begins_with_has_its_gradient(record, around, way, train, paths):
    """Nothing leads to it that requires a gradient, and inside there is no graph."""
    torch.manual_seed(0)
    body, reentrant = nn.Linear(2, 3).double(), way == "reentrant"
    net = around(body, lambda body, x: checkpoint(body, x, use_reentrant=reentrant).tanh())
    output = (X @ body.weight.T + body.bias).detach()
    node = record(net, X, paths, train=train, quantities=["output", "grad_output"])["body"]
    assert len(node.calls) == 1
    assert torch.allclose(node.output, output, rtol=1e-12)
    assert torch.allclose(node.grad_output, 1 - output.tanh() ** 2, rtol=1e-12)
