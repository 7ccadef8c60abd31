import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import deconvnet, guided_backpropagation

GRADIENT = torch.tensor([[2.0, -3.0, 5.0, -7.0, 4.0]])
GIVEN = torch.tensor([[1.0, 1.0, -1.0, -1.0, 0.0]])


def test_a_guided_gradient_is_where_it_and_what_went_in_are_positive():
    assert guided_backpropagation().rule(GRADIENT, GIVEN).tolist() == [[2, 0, 0, 0, 0]]


def test_the_gradient_of_a_deconvnet_is_where_it_is_positive():
    assert deconvnet().rule(GRADIENT, GIVEN).tolist() == [[2, 0, 5, 0, 4]]


def test_a_gradient_that_is_no_number_stays_none():
    gradient = torch.tensor([[torch.nan]])
    for intervention in (deconvnet(), guided_backpropagation()):
        assert intervention.rule(gradient, torch.ones(1, 1)).isnan().all()


@pytest.mark.parametrize("intervention", [deconvnet(), guided_backpropagation()])
def test_a_node_that_changes_the_shape_is_no_relu(intervention):
    with pytest.raises(HookviewerError, match=r"is for ReLUs; this node makes 1 × 5 of 1 × 1."):
        intervention.rule(GRADIENT, torch.ones(1, 1))
