"""The graph keeps no values that no backward will need, and the model notices nothing of it."""

import gc
import weakref

import numpy as np
import pytest
import torch
from torch import nn

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.errors import BackwardError, ForwardError
from hookviewer.engine.recorder import Recorder

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]], dtype=torch.float64)


class Kept:
    """Something that a graph keeps."""


class Watched(torch.autograd.Function):
    """Doubles, and tells by ``seen`` how long its node of the graph lives."""

    @staticmethod
    def forward(ctx, x, seen):
        ctx.kept = Kept()
        seen.append(weakref.ref(ctx.kept))
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, None


def live_recorders():
    gc.collect()
    return sum(type(each) is Recorder for each in gc.get_objects())


def test_nothing_of_a_run_stays_behind_once_it_is_let_go(record):
    """Neither where a node saves what it was given nor where it saves what it has made."""
    before = live_recorders()
    for activation in (nn.Identity(), nn.GELU(), nn.Sigmoid(), nn.Softmax(-1)):
        net = nn.Sequential(nn.Linear(2, 2), activation, nn.Linear(2, 2)).double()
        for path in ("0", "1", "2"):
            record(net, X, path, quantities=["output", "grad_output"])
    assert live_recorders() == before


def test_nothing_of_a_run_waits_for_the_garbage_collector(record, scale, around):
    net = around(scale(2.0), lambda body, x: body(x).exp())
    gc.collect()
    gc.disable()
    try:
        run = record(net, X, "body", quantities=["output", "grad_output"])
        captured = weakref.ref(run.captures[0].tensor)
        del run
        assert captured() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("way", ["no path", "forward", "backward", "cancel"])
def test_the_graph_goes_however_a_run_ends(record, scale, around, way):
    """Nodes that save what they made themselves, as those of exponentials, hold on to it."""
    seen, token = [], CancelToken()

    def call(body, x):
        y = Watched.apply(body(x), seen).exp()
        if way == "forward":
            raise ValueError("on purpose")
        if way == "cancel":
            token.cancel()
        if way == "backward":
            y.register_hook(lambda gradient: gradient.no_such_thing)
        return body(y.detach()) if way == "no path" else body(y)

    options = {"quantities": ["grad_output"], "token": token}
    try:
        record(around(scale(2.0), call), X, "body", **options)
    except (ForwardError, BackwardError, Cancelled):
        assert way != "no path"
    gc.collect()
    assert [reference() for reference in seen] == [None]


class Keeping(torch.autograd.Function):
    """Doubles, and saves a value for backward whose memory belongs to an array."""

    @staticmethod
    def forward(ctx, x, arrays):
        array = np.ones(2)
        arrays.append(weakref.ref(array))
        ctx.save_for_backward(torch.from_numpy(array))
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2 * ctx.saved_tensors[0], None


@pytest.mark.parametrize(
    ("path", "quantity", "alive", "gradient"),
    [
        ("body.3", "grad_output", [False, False, False, False], 1),
        ("body.2", "grad_output", [False, False, False, True], 2),
        ("body.0", "grad_output", [False, True, True, True], 8),
        ("body.0", "grad_input", [True, True, True, True], 16),
        ("input:0", "grad_output", [True, True, True, True], 16),
    ],
)
def test_values_are_kept_from_the_first_wanted_gradient_on(
    record, around, does, path, quantity, alive, gradient
):
    arrays, seen = [], []

    def call(body, x):
        x = x.requires_grad_()
        for each in body:
            x = each(x)
        seen[:] = [array() is not None for array in arrays]
        return x

    body = nn.ModuleList(does(lambda x: Keeping.apply(x, arrays)) for _ in range(4))
    run = record(around(body, call), X, path, quantities=[quantity])
    assert seen == alive
    assert (run.captures[0].tensor == gradient).all()


class Differentiating(nn.Module):
    """Differentiates in its forward; ``way`` says by what."""

    def __init__(self, way):
        super().__init__()
        self.first, self.last, self.way = nn.Linear(2, 2), nn.Linear(2, 1), way
        self.double()

    def energy(self, x):
        return self.last(self.first(x).tanh()).pow(2).sum()

    def forward(self, x):
        if self.way == "torch.func":
            return torch.func.grad(self.energy)(x) + self.first(x)
        at = x if self.way == "create_graph" else x.detach()
        if not at.requires_grad:
            at = at.clone().requires_grad_()
        if self.way == "backward":
            self.energy(at).backward()
            return self.first(x) + at.grad
        force = torch.autograd.grad(self.energy(at), at, create_graph=self.way == "create_graph")
        return self.first(x) + force[0]


@pytest.mark.parametrize("way", ["grad", "create_graph", "backward", "torch.func"])
@pytest.mark.parametrize("path", ["first", "last", "first.weight"])
def test_a_model_that_differentiates_in_its_forward_runs_as_ever(record, digest, way, path):
    torch.manual_seed(0)
    net = Differentiating(way)
    expected = net(X).detach()
    net.zero_grad()
    before = digest(net)
    run = record(net, X, path, quantities=["output", "grad_output"])
    assert torch.equal(run.output, expected)
    assert digest(net) == before


def test_the_gradient_of_a_force_is_that_of_autograd(record):
    """Through the derivative that the model itself takes, a second one."""
    torch.manual_seed(0)
    net = Differentiating("create_graph")
    run = record(net, X, "first.weight", quantities=["grad_output"])
    (wanted,) = torch.autograd.grad(net(X).sum(), [net.first.weight])
    assert torch.allclose(run["first.weight"].grad_output, wanted, rtol=1e-12)


def test_inside_a_transform_there_is_nothing_to_keep(record):
    run = record(Differentiating("torch.func"), X, "last", quantities=["output", "grad_output"])
    assert run["last"].absence("output") == "no data (torch.func)"
    assert run["last"].absence("grad_output") == "no data (torch.func)"
    assert run["last"].calls == ()


def spoil_the_first(body, x):
    """Change what is the first that the graph keeps."""
    y = body(x)
    z = y.sin()
    y.mul_(2)
    return z


def spoil_a_later(body, x):
    y = body(x).sigmoid()
    z = y * y
    y.mul_(2)
    return z


@pytest.mark.parametrize("spoil", [spoil_the_first, spoil_a_later])
@pytest.mark.parametrize("quantities", [["grad_output"], ["grad_output", "output", "input"]])
def test_an_error_in_place_of_the_models_own_is_raised_as_ever(
    record, around, scale, quantities, spoil
):
    net = around(scale(2.0), spoil)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        net(X).sum().backward()
    with pytest.raises(BackwardError, match="modified by an inplace operation"):
        record(net, X, "body", quantities=quantities)


def test_such_an_error_where_no_gradient_comes_by_is_none(record, around, scale):
    """Only what lies between the target and what is wanted is differentiated."""

    def call(body, x):
        y = x.sigmoid()
        z = y * y
        y.mul_(2)
        return body(z)

    assert (record(around(scale(2.0), call), X, "body")["body"].grad_output == 1).all()


def test_the_users_own_hooks_on_saved_tensors_see_what_they_see_without_us(record, around, scale):
    packed = []

    def call(body, x):
        def pack(tensor):
            packed.append(tensor.detach().clone())
            return tensor

        y = body(x)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            return y.exp() * 3

    net = around(scale(2.0), call)
    net(X)
    plain = list(packed)
    packed.clear()
    run = record(net, X, "body")
    assert [tensor.tolist() for tensor in packed[: len(plain)]] == [t.tolist() for t in plain]
    assert torch.allclose(run["body"].grad_output, 3 * (2 * X).exp(), rtol=1e-12)
