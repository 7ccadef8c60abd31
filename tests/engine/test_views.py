"""Views and identities have gradients of their own, whatever is done to them in place."""

import pytest
import torch
from torch import nn

X = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


def exactly(left, right):
    return torch.allclose(left, right, rtol=1e-5, atol=0)


IDENTITIES = [nn.Identity(), nn.Sequential(), nn.Dropout(0.5), nn.Dropout(0.5, inplace=True)]


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("prepare", [lambda x: x, lambda x: x * 1, lambda x: (x * 1)[:, 1:]])
def test_what_returns_its_own_input_has_its_gradient_through_it_alone(
    record, around, identity, prepare
):
    def call(body, x):
        x = prepare(x)
        return body(x) * 3 + x * 7

    run = record(around(identity, call), X, "body")
    assert (run["body"].grad_output == 3).all()
    assert torch.equal(run["body"].grad_input, run["body"].grad_output)
    assert torch.equal(run.output, prepare(X) * 10)


def test_an_identity_changed_in_place_changes_its_input_as_ever(record, around):
    def call(body, x):
        x = x * 1
        body(x).mul_(5)
        return x * 2

    net = around(nn.Identity(), call)
    run = record(net, X, "body")
    assert torch.equal(run.output, net(X))
    assert (run["body"].grad_output == 10).all()
    assert (run["body"].grad_input == 10).all()


VIEWS = {
    "flatten": nn.Flatten(0),
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[:, 1:],
    "row": lambda x: x[1],
    "reverse": lambda x: x.t()[1:].t(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "deeper": lambda x: x[None].flatten(1)[:, 2:5],
    "instance norm": nn.InstanceNorm1d(2).double(),
    "identity": nn.Identity(),
}


CHANGES = {
    "relu": lambda y: y.relu_(),
    "add": lambda y: y.add_(1),
    "multiply": lambda y: y.mul_(-3),
    "twice": lambda y: y.mul_(2).relu_(),
    "a part": lambda y: (y[..., 0].mul_(-5), y)[1],
    "overwrite": lambda y: (y[..., 0].fill_(2), y)[1],
    "not at all": lambda y: y,
    "use, then change": lambda y: torch.stack([y * 9, y.mul_(2) * 1]).sum(0),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("prepare", [lambda x: x, lambda x: x * 2, lambda x: (x * 2)[:2]])
def test_a_view_changed_in_place_has_the_gradient_of_its_own_value(
    record, around, does, view, change, prepare
):
    make, change = VIEWS[view], CHANGES[change]

    def call(body, x):
        y = change(body(prepare(x)))
        return (y * torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape)).sum()

    part = make if isinstance(make, nn.Module) else does(make)
    net = around(part, call)
    run = record(net, X.clone(), "body")

    given = prepare(X.clone()).clone().requires_grad_()
    value = make(given).detach().clone().requires_grad_()
    wanted = torch.autograd.grad(call(lambda _: value.clone(), X), value)[0]
    through = torch.autograd.grad(make(given), given, wanted)[0]
    assert torch.equal(run["body"].output, value)
    assert exactly(run["body"].grad_output, wanted)
    assert exactly(run["body"].grad_input, through)
    assert torch.equal(run.output, net(X.clone()))


def test_a_view_that_is_changed_in_place_still_changes_what_it_is_a_view_of(record, around):
    def call(body, x):
        x = x * 1
        return body(x).relu_().sum() + 10 * x.sum()  # x was cut off too

    net = around(nn.Flatten(), call)
    run = record(net, X, "body")
    assert torch.equal(run.output, net(X))
    wanted = torch.where(X > 0, 11.0, 0.0).double()
    assert torch.equal(run["body"].grad_output, wanted)
    assert torch.equal(run["body"].grad_input, wanted)


def test_a_view_of_a_part_has_nothing_to_do_with_the_other_parts(record, around, does):
    def call(body, x):
        x = x * 1
        part = body(x).mul_(2)
        return part.sum() * 3 + x.sum() * 5

    run = record(around(does(lambda x: x[:, 1:2]), call), X, "body")
    assert run["body"].grad_output.tolist() == [[16], [16]]
    assert run["body"].grad_input.tolist() == [[0, 16, 0], [0, 16, 0]]


def test_a_module_that_changes_a_view_it_is_given_has_its_gradient(record, around):
    run = record(around(nn.ReLU(inplace=True), lambda body, x: body((x * 1).t()) * 3), X, "body")
    assert torch.equal(run["body"].input, X.t())
    assert (run["body"].grad_output == 3).all()
    assert torch.equal(run["body"].grad_input, torch.where(X.t() > 0, 3.0, 0.0).double())


def test_a_module_that_only_writes_to_its_input_has_its_gradient(record, around, does):
    def call(body, x):
        x = x * 1
        body(x)
        return x * 2

    run = record(around(does(lambda x: (x.mul_(3), None)[1]), call), X, "body")
    assert (run["body"].grad_input == 6).all()
    assert run["body"].absence("grad_output") == "no tensors"


def test_each_part_of_a_split_has_its_own_gradient(record, around, does):
    net = around(does(lambda x: x.chunk(3, dim=1)), lambda body, x: body(x * 1)[2] * 4)
    (call,) = record(net, X, "body")["body"].calls
    assert list(call.grad_outputs) == ["2"]
    assert call.grad_outputs["2"].tolist() == [[4], [4]]
    assert call.grad_inputs["0"].tolist() == [[0, 0, 4], [0, 0, 4]]


def test_inputs_may_be_changed_in_place_part_by_part(record, around, scale):
    def call(body, x):
        for row in x:
            row.sub_(1)
        return body(x)

    run = record(around(scale(3.0), call), X.clone(), "body")
    assert (run["body"].grad_input == 3).all()


READINGS = [torch.conj, lambda z: z.conj().imag, torch.view_as_real, lambda z: z.real]


@pytest.mark.parametrize("view", READINGS)
def test_a_view_without_a_graph_that_reads_its_memory_in_another_way_keeps_its_values(
    record, around, does, view
):
    numbers = torch.complex(X, 2 * X)
    run = record(around(does(lambda: view(numbers)), lambda body, x: body().abs() * x), 3.0, "body")
    assert torch.equal(run["body"].output, view(numbers))
    assert torch.equal(run.output, view(numbers).abs() * 3)


@pytest.mark.parametrize("view", READINGS)
def test_a_view_that_reads_its_memory_in_another_way_keeps_its_values(record, around, does, view):
    numbers = torch.complex(X, 2 * X)
    run = record(around(does(view), lambda body, z: body(z * 1).abs()), numbers, "body")
    value = view(numbers).resolve_conj().resolve_neg().requires_grad_()
    assert torch.equal(run["body"].output, value)
    assert torch.equal(run.output, value.abs())
    wanted = torch.autograd.grad(value.abs().sum(), value)[0]
    assert torch.allclose(run["body"].grad_output, wanted)


@pytest.mark.parametrize("view", READINGS)
def test_such_a_view_changed_in_place_has_its_gradient_or_none(record, around, does, view):
    numbers = torch.complex(X, 2 * X)
    net = around(
        does(view), lambda body, z: body(z * 1).mul_(1j if view is torch.conj else 3).abs()
    )
    gradient = record(net, numbers, "body")["body"].grad_output
    value = view(numbers).resolve_conj().resolve_neg().requires_grad_()
    wanted = torch.autograd.grad((value * (1j if view is torch.conj else 3)).abs().sum(), value)[0]
    assert gradient is None or torch.allclose(gradient, wanted)
