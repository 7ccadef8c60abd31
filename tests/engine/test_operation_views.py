"""Operations that write to views, hand on what they got, or have no gradient."""

import pytest
import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

X = torch.tensor([[0.5, -1.5, 2.0], [-0.7, 1.1, -0.3]], dtype=torch.float64)
WEIGHTS = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)

pytestmark = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")


def weighted(output):
    """The target: every element of the output counts differently."""
    return (output * WEIGHTS).sum()


def near(left, right):
    return torch.allclose(left, right, rtol=1e-10, atol=1e-12)


IDENTITIES = {
    "/contiguous": lambda y: y.contiguous(),
    "/dropout": lambda y: functional.dropout(y, 0.5, training=False),
    "/to": lambda y: y.to(torch.float64),
    "/double": lambda y: y.double(),
    "/cpu": lambda y: y.cpu(),
    "/clone": lambda y: y.clone(),
    "/view": lambda y: y.view(2, 3),
    "/reshape": lambda y: y.reshape(2, 3),
    "/expand": lambda y: y.expand(2, 3),
    "/squeeze": lambda y: y.squeeze(),
    "/getitem": lambda y: y[...],
}


@pytest.mark.parametrize("path", IDENTITIES)
@pytest.mark.parametrize("others", [[], ["/mul", "/sin"]])
def test_what_flows_around_an_identity_does_not_flow_through_it(record, path, others):
    def around(x):
        y = x * 2
        return IDENTITIES[path](y).sin() + y * 1

    run = record(around, X, [path, *others], target=weighted)
    through = WEIGHTS * (2 * X).cos()
    assert torch.equal(run[path].output, 2 * X)
    assert near(run[path].grad_output, through)
    assert near(run[path].calls[0].grad_inputs["0"], through)
    assert torch.equal(run.output, around(X))
    if others:
        assert near(run["/mul"].calls[0].grad_outputs["0"], through + WEIGHTS)


SETTING = ["/mul", "/getitem", "/setitem", "/sin"]


@pytest.mark.parametrize("paths", [SETTING, *([path] for path in SETTING)])
def test_setting_elements_cuts_their_gradient_off(record, paths):
    def setting(x):
        y = x * 2
        y[:, 0] = x[:, 1]
        return y.sin()

    column = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    after = 2 * X * (1 - column) + X[:, 1:2] * column
    arriving = WEIGHTS * after.cos()
    wanted = {
        ("/mul", "grad_outputs", "0"): arriving * (1 - column),
        ("/getitem", "grad_outputs", "0"): arriving[:, 0],
        ("/setitem", "grad_outputs", "0"): arriving,
        ("/setitem", "grad_inputs", "0"): arriving * (1 - column),
        ("/setitem", "grad_inputs", "2"): arriving[:, 0],
        ("/sin", "grad_inputs", "0"): arriving,
    }
    run = record(setting, X, ["input:0", *paths], target=weighted)
    for (path, quantity, leaf), gradient in wanted.items():
        if path in paths:
            assert near(getattr(run[path].calls[0], quantity)[leaf], gradient)
    assert torch.equal(run.output, setting(X.clone()))


STEPS = ["/mul", "/getitem", "/add_", "/setitem"]


@pytest.mark.parametrize("paths", [STEPS, *([path] for path in STEPS)])
def test_adding_to_a_row_has_gradients_step_by_step(record, paths):
    def adding(x):
        y = x * 2
        y[0] += 3
        return y.sin()

    after = 2 * X + torch.tensor([[3.0], [0.0]])
    arriving = WEIGHTS * after.cos()
    wanted = {"/mul": arriving, "/getitem": arriving[0], "/add_": arriving[0], "/setitem": arriving}
    run = record(adding, X, paths, target=weighted)
    for path in paths:
        assert near(run[path].calls[0].grad_outputs["0"], wanted[path])
    if "/add_" in paths:
        assert near(run["/add_"].calls[0].grad_inputs["0"], arriving[0])


RESHAPED = ["/mul", "/reshape", "/flatten", "/add_", "/view", "/relu"]


@pytest.mark.parametrize("paths", [RESHAPED, *([path] for path in RESHAPED[:-1])])
def test_views_of_views_changed_in_place_have_their_own_gradients(record, paths):
    def reshaped(x):
        y = (x * 2).reshape(3, 2).flatten()
        y += 1
        y = y.view(2, 3)
        return functional.relu(y, inplace=True)

    arriving = WEIGHTS * (2 * X + 1 > 0)
    wanted = {"/mul": arriving, "/reshape": arriving.view(3, 2), "/flatten": arriving.flatten()}
    wanted |= {"/add_": arriving.flatten(), "/view": arriving, "/relu": WEIGHTS}
    run = record(reshaped, X, paths, target=weighted)
    for path in paths:
        assert near(run[path].grad_output, wanted[path])
    assert torch.equal(run.output, (2 * X + 1).relu())


def test_a_detached_value_has_no_gradient_by_name(record):
    def detaching(x):
        y = x * 2
        return y.sin() * y.detach()

    run = record(detaching, X, ["/mul", "/detach"], target=weighted)
    assert near(run["/mul"].calls[0].grad_outputs["0"], WEIGHTS * (2 * X).cos() * 2 * X)
    assert torch.equal(run["/detach"].output, 2 * X)
    assert run["/detach"].absence("grad_output") == "computed without gradient"
    assert run["/detach"].absence("grad_input") == "no path to the target"


def test_comparisons_and_places_are_not_differentiable(record):
    def masking(x):
        y = x * 2
        return y * (y > 0) + y.argmax(1, keepdim=True)

    run = record(masking, X, ["/mul", "/gt", "/argmax"], target=weighted)
    assert run["/gt"].absence("grad_output") == "not differentiable (bool)"
    assert run["/argmax"].absence("grad_output") == "not differentiable (int64)"
    assert run["/gt"].absence("grad_input") == "no path to the target"
    assert near(run["/mul"].calls[0].grad_outputs["0"], WEIGHTS * (X > 0))


def test_the_places_of_a_maximum_have_no_gradient_but_its_values_have(record):
    run = record(lambda x: x * x.max(1, keepdim=True)[0], X, ["/max"], target=weighted)
    (call,) = run["/max"].calls
    of_maxima = (X * WEIGHTS).sum(1, keepdim=True)
    at = (X.amax(1, keepdim=True) == X).double()
    assert near(call.grad_outputs["0"], of_maxima)
    assert near(call.grad_inputs["0"], of_maxima * at)
    assert run["/max"].absence("grad_output", leaf="1") == "not differentiable (int64)"


def test_what_is_computed_without_gradients_says_so(record):
    def without(x):
        y = x * 2
        with torch.no_grad():
            z = y.sin()
            z += 1
        return z * y

    run = record(without, X, ["/mul", "/sin", "/add_"], target=weighted)
    assert {run[path].absence("grad_output") for path in ("/sin", "/add_")} == {
        "computed without gradient"
    }
    assert run["/sin"].absence("grad_input") == "no path to the target"
    assert near(run["/mul"].calls[0].grad_outputs["0"], WEIGHTS * ((2 * X).sin() + 1))


@pytest.mark.parametrize("is_reentrant", [True, False])
def test_operations_of_a_checkpoint_are_recorded_once(record, is_reentrant):
    def segment(y):
        z = y.sin()
        z += y
        return z.exp()

    def saving(x):
        return checkpoint(segment, x * 2, use_reentrant=is_reentrant) * 3

    run = record(saving, X, ["/mul", "/sin", "/add_", "/exp"], target=weighted)
    total = (2 * X).sin() + 2 * X
    assert [len(run[path].calls) for path in ("/sin", "/add_", "/exp")] == [1, 1, 1]
    assert torch.equal(run["/add_"].output, total)
    assert near(run["/exp"].grad_output, 3 * WEIGHTS)
    of_total = 3 * WEIGHTS * total.exp()
    assert near(run["/mul"].calls[0].grad_outputs["0"], of_total * ((2 * X).cos() + 1))
    if not is_reentrant:
        assert near(run["/add_"].grad_output, of_total)
        assert near(run["/sin"].grad_input, of_total * (2 * X).cos())


def test_a_tensor_that_is_copied_into_another_hands_its_gradient_back(record):
    def copying(x):
        into = torch.zeros(2, 3, dtype=x.dtype)
        into.copy_(x * 2)
        into[:, 1:].mul_(3)
        return into.sin()

    run = record(copying, X, ["/mul", "/copy_", "/getitem"], target=weighted)
    factor = torch.tensor([1.0, 3.0, 3.0], dtype=torch.float64)
    of_copy = WEIGHTS * (2 * X * factor).cos() * factor
    assert near(run["/copy_"].grad_output, of_copy)
    assert near(run["/copy_"].calls[0].grad_inputs["1"], of_copy)
    assert near(run["/mul"].grad_output, of_copy)
    assert near(run["/getitem"].grad_output, of_copy[:, 1:])


def relu_of_a_view(x):
    y = x * 2
    y.view(3, 2).relu_()
    return y.sin()


def add_to_a_view(x):
    y = x * 2
    y[:, 1:].add_(1)
    return y.sin()


@pytest.mark.parametrize("others", [[], ["/mul", "input:0"]])
def test_a_view_that_is_changed_as_a_statement_has_the_gradient_of_its_memory(record, others):
    run = record(relu_of_a_view, X, ["/relu_", *others], target=weighted)
    of_relu = WEIGHTS * (2 * X).relu().cos()
    assert near(run["/relu_"].grad_output, of_relu.view(3, 2))
    assert near(run["/relu_"].grad_input, (of_relu * (X > 0)).view(3, 2))
    run = record(add_to_a_view, X, ["/add_", *others], target=weighted)
    of_sum = (WEIGHTS * (2 * X + torch.tensor([0.0, 1.0, 1.0])).cos())[:, 1:]
    assert near(run["/add_"].grad_output, of_sum)
    assert near(run["/add_"].grad_input, of_sum)


@pytest.mark.parametrize("others", [[], ["/mul"], ["/view"]])
def test_a_function_that_writes_to_a_view_has_its_gradient_though_its_result_is_dropped(
    record, others
):
    def dropping(x):
        y = (x * 2).view(3, 2)
        functional.relu(y, inplace=True)
        return y.view(2, 3)

    run = record(dropping, X, ["/relu", *others], target=weighted)
    assert near(run["/relu"].grad_output, WEIGHTS.view(3, 2))
    assert near(run["/relu"].grad_input, (WEIGHTS * (X > 0)).view(3, 2))
