"""Interventions at operations and inputs reach everything that comes after, or before."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.errors import HookviewerError, UnknownPathError
from hookviewer.engine.globs import ALL
from hookviewer.engine.plan import Inputs, Intervention

X = torch.tensor([1.0, -2.0, 3.0])
FALLING = torch.tensor([1.0, 1.0, -1.0])

DOUBLE = Intervention(forward=lambda value: 2 * value)
DOUBLE_GRADIENT = Intervention(backward=lambda gradient: 2 * gradient)
GUIDED = Intervention(rule=lambda gradient, given: gradient.clamp(min=0) * (given > 0))


@pytest.fixture
def change(record):
    """``change(model, where, *interventions, at=paths)``: the run with these interventions."""

    def change(model, where, *interventions, at=(), given=X, **options):
        paths = ["input:0", *([at] if isinstance(at, str) else at)]
        return record(model, given, paths, interventions={where: interventions}, **options)

    return change


def test_a_changed_value_reaches_what_comes_after(change):
    run = change(lambda x: (x + 1) * 3, "/add", DOUBLE, at=["/add", "/mul"])
    assert run.output.tolist() == [12, -6, 24]
    assert run["/add"].output.tolist() == [4, -2, 8]
    assert run["/add"].input.tolist() == [1, -2, 3]
    assert run["/mul"].input.tolist() == [4, -2, 8]
    assert run["input:0"].grad_output.tolist() == [6, 6, 6]


def test_a_changed_gradient_reaches_what_comes_before(change):
    run = change(lambda x: (x + 1) * 3, "/add", DOUBLE_GRADIENT, at="/add")
    assert run.output.tolist() == [6, -3, 12]
    assert run["/add"].grad_output.tolist() == [3, 3, 3]
    assert run["/add"].grad_input.tolist() == [6, 6, 6]
    assert run["input:0"].grad_output.tolist() == [6, 6, 6]


def add_as_statement(x):
    y = x * 1
    y.add_(1)
    return y * 3


def add_to_a_part(x):
    y = x * 1
    y[1:].add_(1)
    return y * 3


def relu_as_statement(x):
    y = x * 1
    functional.relu(y, inplace=True)
    return y * 3


def set_first(x):
    y = x * 1
    y[0] = 5.0
    return y * 3


def copy_into(x):
    y = torch.zeros(3)
    y.copy_(x)
    return y * 3


IN_PLACE = {
    "add": (add_as_statement, "/add_", [12, -6, 24], [3, 3, 3]),
    "add to a part": (add_to_a_part, "/add_", [3, -6, 24], [1.5, 3, 3]),
    "relu": (relu_as_statement, "/relu", [6, 0, 18], [3, 0, 3]),
    "set": (set_first, "/setitem", [30, -12, 18], [0, 3, 3]),
    "copy": (copy_into, "/copy_", [6, -12, 18], [3, 3, 3]),
}


@pytest.mark.parametrize("case", IN_PLACE)
@pytest.mark.parametrize("is_tapped", [True, False])
def test_a_statement_that_changes_in_place_can_be_changed(change, case, is_tapped):
    function, path, output, halved = IN_PLACE[case]
    run = change(function, path, DOUBLE, at=[path] if is_tapped else [])
    assert run.output.tolist() == output
    assert run["input:0"].grad_output.tolist() == [2 * each for each in halved]


@pytest.mark.parametrize("case", IN_PLACE)
@pytest.mark.parametrize("is_tapped", [True, False])
def test_a_statement_s_gradient_can_be_changed(change, case, is_tapped):
    function, path, _, halved = IN_PLACE[case]
    run = change(function, path, DOUBLE_GRADIENT, at=[path] if is_tapped else [])
    assert torch.equal(run.output, function(X.clone()))
    assert run["input:0"].grad_output.tolist() == [2 * each for each in halved]


def test_an_argument_that_is_written_to_can_be_changed(record):
    def into(x):
        into_this = torch.empty(3)
        torch.add(x, 1, out=into_this)
        return into_this

    run = record(into, X, "/add", target=None, interventions={"/add": (DOUBLE,)})
    assert run.output.tolist() == run["/add"].output.tolist() == [4, -2, 8]


def test_of_several_the_first_acts_first_forward_and_last_backward(change):
    first = Intervention(lambda value: 2 * value, lambda gradient: gradient + 1)
    second = Intervention(lambda value: value + 10, lambda gradient: 5 * gradient)
    run = change(lambda x: x + 1, "/add", first, second, at="/add")
    assert run.output.tolist() == [14, 8, 18]
    assert run["/add"].grad_output.tolist() == [1, 1, 1]
    assert run["input:0"].grad_output.tolist() == [12, 12, 12]  # 5 · 1, + 1, by the doubled value


def test_a_glob_changes_every_operation_that_it_matches(change, does):
    net = nn.Sequential(
        does(functional.relu), nn.Sequential(does(lambda x: functional.relu(x - 1)))
    )
    run = change(net, "*/relu", DOUBLE)
    assert run.output.tolist() == [2, 0, 10]
    assert run["input:0"].grad_output.tolist() == [4, 0, 4]
    assert change(net, "1*/relu", DOUBLE).output.tolist() == [0, 0, 4]


def test_a_glob_of_everything_changes_modules_and_inputs(change):
    run = change(nn.Sequential(nn.ReLU(), nn.ReLU()), ALL, DOUBLE_GRADIENT)
    assert run["input:0"].grad_output.tolist() == [8, 0, 8]  # by both and by the whole


def test_every_call_is_changed(change):
    run = change(lambda x: (x + 1) + 1, "/add", DOUBLE)
    assert run.output.tolist() == [10, -2, 18]
    assert run["input:0"].grad_output.tolist() == [4, 4, 4]


def test_a_module_s_operations_are_changed_under_each_of_its_paths(change, does):
    shared = does(lambda x: x + 1)
    assert change(nn.Sequential(shared, shared), "1/add", DOUBLE).output.tolist() == [10, -2, 18]


def test_an_input_can_be_changed(change):
    run = change(lambda x: x * 3, "input:0", DOUBLE)
    assert run["input:0"].output.tolist() == [2, -4, 6]
    assert run.output.tolist() == [6, -12, 18]
    assert run["input:0"].grad_output.tolist() == [3, 3, 3]


def test_an_input_by_name_can_be_changed(change):
    given = Inputs(X, factor=torch.tensor(3.0))
    assert change(
        lambda x, factor: x * factor, "input:factor", DOUBLE, given=given
    ).output.tolist() == [
        6,
        -12,
        18,
    ]


def test_each_leaf_is_changed(change):
    run = change(lambda x: torch.cat(x.split([1, 2])), "/split", DOUBLE, at="/split")
    assert run.output.tolist() == [2, -4, 6]
    assert run["input:0"].grad_output.tolist() == [2, 2, 2]


def test_leaves_of_a_named_result_keep_its_type(change):
    def maxima(x):
        return x[None].max(1).values

    add_one = Intervention(forward=lambda v: v + 1 if v.is_floating_point() else v)
    assert change(maxima, "/max", add_one).output.tolist() == [4]


@pytest.mark.parametrize("is_in_place", [True, False])
@pytest.mark.parametrize("kind", ["module", "function", "method"])
def test_a_rule_takes_the_place_of_the_derivative_of_a_relu(change, kind, is_in_place):
    method = "relu_" if is_in_place else "relu"
    models = {
        "module": (nn.Sequential(nn.ReLU(is_in_place)), "0"),
        "function": (lambda x: functional.relu(x * 1, inplace=is_in_place), "/relu"),
        "method": (lambda x: getattr(x * 1, method)(), f"/{method}"),
    }
    model, path = models[kind]
    run = change(model, path, GUIDED, at=path, target=lambda output: (output * FALLING).sum())
    assert run.output.tolist() == [1, 0, 3]
    assert run[path].grad_output.tolist() == [1, 1, -1]
    assert run["input:0"].grad_output.tolist() == [1, 0, 0]


def test_a_rule_at_a_dropped_result_acts_too(change):
    run = change(relu_as_statement, "/relu", GUIDED, target=lambda y: (y * FALLING).sum())
    assert run["input:0"].grad_output.tolist() == [3, 0, 0]


@pytest.mark.parametrize("path", ["weight", "bias"])
def test_a_parameter_cannot_be_changed(change, path):
    with pytest.raises(HookviewerError, match=f"'{path}' is a parameter or buffer; interventions"):
        change(nn.Linear(3, 1), path, DOUBLE)


@pytest.mark.parametrize("path", ["2", "2/add", "2*"])
def test_an_intervention_at_an_unknown_module_is_refused(change, path):
    with pytest.raises(UnknownPathError):
        change(nn.Sequential(nn.ReLU(), nn.ReLU()), path, DOUBLE)


def test_interventions_leave_no_trace(change, digest):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))
    before = digest(net)
    change(net, ALL, DOUBLE, DOUBLE_GRADIENT)
    change(net, "1", GUIDED)
    assert digest(net) == before


UNFIT = {
    "another shape": Intervention(forward=lambda value: value[:1]),
    "another dtype": Intervention(forward=lambda value: value.double()),
    "no tensor": Intervention(forward=lambda value: None),
    "another shape of gradient": Intervention(backward=lambda gradient: gradient[:1]),
    "a rule of another shape": Intervention(rule=lambda gradient, given: gradient[:1]),
}


@pytest.mark.parametrize("what", UNFIT)
@pytest.mark.parametrize("function", [add_as_statement, lambda x: x.add_(1)])
def test_an_intervention_that_does_not_fit_says_so(change, what, function):
    with pytest.raises(HookviewerError, match=r"The intervention gives .* is needed"):
        change(function, "/add_", UNFIT[what])


def test_what_an_operation_writes_beside_its_output_is_left_as_it_is(record):
    def normalised(x, mean):
        output = functional.batch_norm(x, mean, torch.ones(1), training=True, momentum=0.5)
        return output, mean

    given = Inputs(torch.tensor([[1.0], [3.0]]), torch.zeros(1))
    run = record(normalised, given, [], target=None, interventions={"/batch_norm": (DOUBLE,)})
    assert torch.allclose(run.output[0], torch.tensor([[-2.0], [2.0]]), atol=1e-4)
    assert run.output[1].tolist() == [1]  # half of the mean
