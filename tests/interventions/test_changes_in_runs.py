import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Intervention, Plan, Quantity, Tap
from hookviewer.interventions import (
    clip_gradient,
    expression,
    function,
    replace,
    scale_channels,
    zero,
    zero_gradient,
    zero_units,
)
from hookviewer.targets import whole

# chain is [5, 6] relu([[1, 2], [3, -4]] x), cut off in place; of ones, [3, -1], [3, 0] and 15.


def run_with(net, x, intervention, at="0", see=None):
    """Return a run of ``net`` that shows values and gradients where it is changed and before."""
    quantities = (Quantity.OUTPUT, Quantity.GRAD_OUTPUT)
    taps = frozenset(Tap(path, each) for path in (see or at, "input:0") for each in quantities)
    return execute(net, Plan(taps, Inputs(x), whole(), interventions={at: (intervention,)}))


def test_a_changed_value_is_handed_on_and_differentiated(chain, ones):
    run = run_with(chain, ones, scale_channels([1], -2))
    assert run["0"].output.tolist() == [[3, 2]]
    assert run.output.tolist() == [[5 * 3 + 6 * 2]]
    assert run["0"].grad_output.tolist() == [[5, 6]]
    assert run["input:0"].grad_output.tolist() == [[5 * 1 - 2 * 6 * 3, 5 * 2 + 2 * 6 * 4]]


def test_nothing_but_zero_flows_back_through_what_is_replaced(chain, ones):
    for change in (zero(), replace(torch.zeros_like(ones))):
        run = run_with(chain, ones, change)
        assert run.output.tolist() == [[0]]
        assert run["0"].grad_output.tolist() == [[0, 0]]  # a ReLU's at zero
        assert run["input:0"].grad_output.tolist() == [[0, 0]]
    run = run_with(chain, ones, zero_units([(0,)]))
    assert run["input:0"].grad_output.tolist() == [[0, 0]]


def test_an_expression_changes_values_and_gradients(chain, ones):
    run = run_with(chain, ones, expression("x + 2", "g.clamp(max=5)"))
    assert run["0"].output.tolist() == [[5, 1]]
    assert run["0"].grad_output.tolist() == [[5, 6]]  # as it arrived
    assert run["input:0"].grad_output.tolist() == [[5 * 1 + 5 * 3, 5 * 2 - 5 * 4]]


def test_a_gradient_is_clipped_or_stopped_on_its_way(chain, ones):
    run = run_with(chain, ones, clip_gradient(2))
    assert run["input:0"].grad_output.tolist() == [[2, 4]]
    run = run_with(chain, ones, zero_gradient())
    assert run["input:0"].grad_output.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("intervention", "sentence"),
    [
        (expression("x[0]"), r"The expression 'x\[0\]' gives 2 of float64 where 1 × 2 of float64"),
        (expression(backward="g[0]"), r"The expression 'g\[0\]' gives 2 of float64 where 1 × 2"),
        (function(forward=len), "The function 'len' gives no tensor but int"),
        (function(backward=len), "The function 'len' gives no tensor but int"),
        (Intervention(forward=torch.Tensor.float), "gives 1 × 2 of float32 where 1 × 2 of float64"),
        (
            Intervention(backward=torch.Tensor.sum),
            "gives a single number of float64 where 1 × 2 of",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_forward_and_backward(
    chain, ones, intervention, sentence, digest
):
    before = digest(chain)
    with pytest.raises(HookviewerError, match=sentence):
        run_with(chain, ones, intervention)
    assert digest(chain) == before


def test_a_rule_that_gives_another_shape_is_said(chain, ones):
    broken = Intervention(rule=lambda gradient, given: gradient[:, :1])
    with pytest.raises(HookviewerError, match="gives 1 × 1 of float64 where 1 × 2 of float64"):
        run_with(chain, ones, broken, at="1")


def test_an_operation_can_be_changed(twice, ones):
    run = run_with(twice, ones, expression("10 * x"), at="/add")
    assert run["/add"].output.tolist() == [[30, 30]]
    assert run["input:0"].grad_output.tolist() == [[40, 40]]


def test_operations_of_an_intervention_are_not_the_models(twice, ones):
    run = run_with(twice, ones, expression("x + 1 - 1"), at="scale", see="/add")
    assert len(run["/add"].calls) == 1
