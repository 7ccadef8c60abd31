import pytest
import torch
from torch import nn

import hookviewer.interventions
from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Intervention, Plan, Quantity, Tap
from hookviewer.extension import interventions
from hookviewer.interventions import scale_gradient, zero_channels
from hookviewer.targets import whole


class Scaled(nn.Module):
    """Multiplies by a number, in float64."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


NET = nn.Sequential(Scaled(3.0), Scaled(5.0), Scaled(7.0))
X = torch.tensor([[1.0, 2.0]], dtype=torch.float64)


def run(interventions, *taps, net=NET, x=X):
    wishes = frozenset(Tap(path, quantity) for path, quantity in taps)
    return execute(net, Plan(wishes, Inputs(x), whole(), interventions=interventions))


def test_a_zeroed_channel_is_zero_for_the_node_and_all_behind_it():
    record = run({"1": (zero_channels([0]),)}, ("1", Quantity.OUTPUT), ("2", Quantity.OUTPUT))
    assert record["1"].output.tolist() == [[0.0, 30.0]]
    assert record["2"].output.tolist() == [[0.0, 210.0]]


def test_no_gradient_flows_to_a_zeroed_channel():
    record = run({"1": (zero_channels([0]),)}, ("0", Quantity.GRAD_OUTPUT))
    assert record["0"].grad_output.tolist() == [[0.0, 35.0]]


def test_a_scaled_gradient_is_scaled_before_the_node_only():
    gradients = [(path, Quantity.GRAD_OUTPUT) for path in ("0", "1", "2")]
    record = run({"1": (scale_gradient(2),)}, *gradients)
    assert record["2"].grad_output.tolist() == [[1.0, 1.0]]
    assert record["1"].grad_output.tolist() == [[7.0, 7.0]]  # as it arrived
    assert record["0"].grad_output.tolist() == [[70.0, 70.0]]


def test_the_gradient_that_leaves_through_the_node_is_the_changed_one():
    record = run({"1": (scale_gradient(2),)}, ("1", Quantity.GRAD_INPUT))
    assert record["1"].grad_input.tolist() == [[70.0, 70.0]]


def test_values_are_those_of_the_plain_call_where_only_gradients_change():
    record = run({"1": (scale_gradient(2),)}, ("1", Quantity.GRAD_OUTPUT))
    assert torch.equal(record.output, NET(X))


def test_of_several_interventions_the_first_acts_first_in_forward():
    add, double = Intervention(forward=lambda v: v + 1), Intervention(forward=lambda v: 2 * v)
    record = run({"0": (add, double)}, ("0", Quantity.OUTPUT))
    assert record["0"].output.tolist() == [[8.0, 14.0]]


def test_an_intervention_acts_on_every_call():
    relu = nn.Identity()
    net = nn.Sequential(relu, Scaled(5.0), relu)
    record = run({"0": (Intervention(forward=lambda v: 2 * v),)}, ("0", Quantity.OUTPUT), net=net)
    assert [call.outputs["0"].tolist() for call in record["0"].calls] == [
        [[2.0, 4.0]],
        [[20.0, 40.0]],
    ]


def test_a_channel_that_does_not_exist_is_refused_with_the_range():
    with pytest.raises(HookviewerError, match="channels 0 to 1; 2 is not among them"):
        run({"1": (zero_channels([2]),)}, ("1", Quantity.OUTPUT))


def test_an_unknown_path_is_refused():
    with pytest.raises(HookviewerError, match="no node '9'"):
        run({"9": (scale_gradient(2),)}, ("1", Quantity.OUTPUT))


def test_every_intervention_is_registered_under_its_name_in_words():
    named = {
        name: getattr(hookviewer.interventions, name) for name in hookviewer.interventions.__all__
    }
    assert {name.replace(" ", "_"): interventions[name] for name in interventions} == named
