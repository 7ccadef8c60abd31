import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import replace, scale, zero

VALUE = torch.tensor([[1.0, -2.0]])
OTHER = torch.tensor([[5.0, 6.0]])


def gradient(intervention):
    value = VALUE.clone().requires_grad_()
    return torch.autograd.grad(intervention.forward(value).sum(), value)[0].tolist()


def test_a_node_that_is_off_hands_on_zeros_whatever_was_there():
    assert zero().forward(torch.tensor([[1.0, torch.inf, torch.nan]])).tolist() == [[0, 0, 0]]


def test_a_scaled_value_is_multiplied():
    assert scale(-3).forward(VALUE).tolist() == [[-3, 6]]


def test_a_replaced_value_is_the_given_one_bit_by_bit():
    given = torch.tensor([[-0.0, torch.inf]])
    result = replace(given).forward(VALUE)
    assert result.view(torch.int32).tolist() == given.view(torch.int32).tolist()


def test_the_gradient_is_that_of_the_change():
    assert gradient(zero()) == [[0, 0]]
    assert gradient(scale(-3)) == [[-3, -3]]
    assert gradient(replace(OTHER)) == [[0, 0]]


@pytest.mark.parametrize("intervention", [zero(), scale(2), replace(OTHER)])
def test_what_was_given_is_not_written_to(intervention):
    value = VALUE.clone()
    intervention.forward(value)
    assert torch.equal(value, VALUE)


@pytest.mark.parametrize("kind", [torch.int64, torch.bool, torch.float16])
def test_the_dtype_stays(kind):
    value = torch.ones(1, 2, dtype=kind)
    for intervention in (zero(), scale(0.5), scale(2), replace(torch.zeros_like(value))):
        assert intervention.forward(value).dtype is kind


def test_scaled_whole_numbers_are_cut_off_toward_zero():
    assert scale(0.5).forward(torch.tensor([3, -3])).tolist() == [1, -1]
    assert scale(0.5).forward(torch.tensor([True, False])).tolist() == [True, False]
    assert scale(0).forward(torch.tensor([True, False])).tolist() == [False, False]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (torch.zeros(2), "This replacement gives 2 of float32 where 1 × 2 of float32 is needed."),
        (torch.zeros(1, 2).double(), "1 × 2 of float64 where 1 × 2 of float32 is needed."),
    ],
)
def test_a_value_of_another_shape_or_dtype_is_refused(given, sentence):
    with pytest.raises(HookviewerError, match=sentence):
        replace(given).forward(VALUE)


def test_a_replacement_takes_nothing_from_the_tensor_that_the_user_goes_on_with():
    given = OTHER.clone().requires_grad_()
    intervention = replace(given)
    with torch.no_grad():
        given += 1
    result = intervention.forward(VALUE)
    assert not result.requires_grad
    assert torch.equal(result, OTHER)
