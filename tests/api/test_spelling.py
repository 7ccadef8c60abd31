"""A misspelt path is a sentence with near ones; a branch that was not taken is an absence."""

import pytest
import torch

import hookviewer as hv
from hookviewer.engine.errors import UnknownPathError

ONES = torch.ones(2)


def branching(x, y=None):
    return torch.relu(x + 1) if y is None else (x + 1).sub(y).tanh()


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/ad", "/add"),  # torch has no such function
        ("/rellu", "/relu"),
        ("/add_", "/add"),  # torch has one, but this model adds to a new tensor
    ],
)
def test_a_misspelt_operation_names_the_one_that_was_called(path, near):
    with pytest.raises(UnknownPathError, match=f"no node '{path}'. Near it: {near}.$") as caught:
        hv.record(branching, ONES, ["/relu", path])
    assert caught.value.run["/relu"].output.tolist() == [2, 2]


def test_an_operation_in_place_is_named_too(residual, ones):
    with pytest.raises(UnknownPathError, match=r"no node '/add'. Near it: /add_\.$"):
        hv.record(residual, ones, "/add")


@pytest.mark.parametrize("path", ["/sub", "/tanh", "/elu", "/no_such_thing"])
def test_a_branch_that_was_not_taken_is_an_absence(path):
    run = hv.record(branching, ONES, path)
    assert run[path].absence("output") == "not called"


def test_an_operation_is_not_compared_with_those_of_other_modules(chain, residual, ones):
    model = torch.nn.Sequential(chain, residual)  # which calls add_
    assert hv.record(model, ones, "0/ad")["0/ad"].absence("output") == "not called"


def test_what_was_called_is_not_misspelt_because_nothing_was_recorded():
    def both(x):
        x = x + 1
        x += 1
        return x

    run = hv.record(both, ONES, "/add", quantities="grad_output")
    assert run["/add"].absence("grad_output") == "forward only"


def test_an_intervention_at_a_misspelt_operation_is_told():
    zero = hv.interventions.zero()
    with pytest.raises(UnknownPathError, match=r"no node '/ad'. Near it: /add\.$"):
        hv.record(branching, ONES, "/relu", interventions={"/ad": zero})
    run = hv.record(branching, ONES, "/relu", interventions={"/add": zero})
    assert run["/relu"].output.tolist() == [0, 0]


def test_a_misspelling_is_found_in_a_run_that_may_stop_early_too():
    one = hv.interventions.scale(1)
    with pytest.raises(UnknownPathError, match=r"Near it: /relu\.$"):
        hv.record(branching, ONES, "/rellu", complete=False, interventions={"/add": one})


def test_the_target_is_computed_once_also_where_the_model_is_run_again():
    scores = []
    hv.record(branching, ONES, "/sub", target=lambda output: scores.append(1) or output.sum())
    assert scores == [1]


@pytest.mark.parametrize("wrong", [{"at": "input:1"}, {"interventions": {"input:1": ()}}])
def test_an_input_that_is_not_fed_names_those_that_are(wrong):
    with pytest.raises(
        UnknownPathError, match=r"This call has no node 'input:1'. Near it: input:0"
    ):
        hv.record(branching, ONES, **{"at": []} | wrong)


def test_inputs_are_named_by_number_or_keyword():
    run = hv.record(branching, hv.Inputs(ONES, y=ONES), ["input:0", "input:y", "input:?"])
    assert run["input:y"].output.tolist() == [1, 1]


def test_each_record_runs_the_model_once_where_nothing_is_misspelt():
    calls = []

    def counting(x):
        calls.append(1)
        return x + 1

    changed = {"/add": hv.interventions.zero()}
    hv.record(counting, ONES, ["/add", "*/sub", "input:0"])
    hv.record(counting, ONES, "input:0", interventions=changed)
    assert len(calls) == 2
