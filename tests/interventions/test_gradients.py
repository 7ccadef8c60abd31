import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import clip_gradient, zero_gradient

GRADIENT = torch.tensor([[3.0, -4.0], [0.0, 0.5]])


def test_a_gradient_is_clipped_value_by_value():
    assert clip_gradient(2).backward(GRADIENT).tolist() == [[2, -2], [0, 0.5]]


def test_a_gradient_is_clipped_by_its_norm_over_all_samples():
    gradient = torch.tensor([[3.0, 0.0], [0.0, -4.0]])  # of norm 5
    assert clip_gradient(2.5, by="norm").backward(gradient).tolist() == [[1.5, 0], [0, -2]]


@pytest.mark.parametrize("gradient", [GRADIENT, torch.zeros(1, 2)])
def test_a_gradient_within_the_limit_is_the_same_bit_by_bit(gradient):
    for by in ("value", "norm"):
        assert torch.equal(clip_gradient(7, by=by).backward(gradient), gradient)


def test_a_limit_of_zero_leaves_nothing():
    for by in ("value", "norm"):
        assert not clip_gradient(0, by=by).backward(GRADIENT).any()


def test_the_norm_of_half_precision_does_not_overflow():
    gradient = torch.full((1, 4), 40000.0, dtype=torch.float16)  # of norm 80000
    result = clip_gradient(8.0, by="norm").backward(gradient)
    assert result.dtype is torch.float16
    assert result.tolist() == [[pytest.approx(4, rel=1e-3)] * 4]


@pytest.mark.parametrize("limit", [-1, float("nan")])
def test_a_limit_below_zero_is_refused(limit):
    with pytest.raises(HookviewerError, match="a limit of at least 0, not at"):
        clip_gradient(limit)


def test_a_gradient_is_clipped_in_one_of_two_ways():
    with pytest.raises(HookviewerError, match="by value or by norm, not by hand"):
        clip_gradient(1, by="hand")


def test_a_stopped_gradient_is_zero_whatever_arrived():
    assert zero_gradient().backward(torch.tensor([[1.0, torch.nan]])).tolist() == [[0, 0]]
