import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import replace_units, zero_units

MAPS = torch.arange(1.0, 13.0).reshape(2, 1, 2, 3)  # (sample, channel, row, column)


def test_a_zeroed_unit_is_zero_in_every_sample_and_the_others_stay():
    assert zero_units([(0, 1, 2), (0, 0, 0)]).forward(MAPS).tolist() == [
        [[[0, 2, 3], [4, 5, 0]]],
        [[[0, 8, 9], [10, 11, 0]]],
    ]


def test_no_units_change_nothing():
    assert torch.equal(zero_units([]).forward(MAPS), MAPS)


def test_a_replaced_unit_holds_the_number():
    assert replace_units([(1,)], 7).forward(torch.zeros(2, 2)).tolist() == [[0, 7], [0, 7]]


def test_a_tensor_gives_each_unit_its_own_number():
    intervention = replace_units([(2,), (0,)], torch.tensor([7.0, 8.0]))
    assert intervention.forward(torch.zeros(2, 3)).tolist() == [[8, 0, 7], [8, 0, 7]]


def test_a_tensor_may_give_each_sample_its_own_number():
    intervention = replace_units([(2,), (0,)], torch.tensor([[7.0], [8.0]]))
    assert intervention.forward(torch.zeros(2, 3)).tolist() == [[7, 0, 7], [8, 0, 8]]


def test_no_gradient_flows_back_through_a_replaced_unit():
    output = torch.ones(1, 3, requires_grad=True)
    result = replace_units([(1,)], 7).forward(output)
    assert torch.autograd.grad(result.sum(), output)[0].tolist() == [[1, 0, 1]]


def test_what_was_given_is_not_written_to():
    before = MAPS.clone()
    zero_units([(0, 0, 0)]).forward(MAPS)
    assert torch.equal(MAPS, before)


@pytest.mark.parametrize("index", [(0, 2, 0), (0, 0), (1, 0, 0)])
def test_a_unit_that_does_not_exist_is_refused_with_the_first_and_the_last(index):
    with pytest.raises(HookviewerError, match=r"units \(0, 0, 0\) to \(0, 1, 2\) in each sample"):
        zero_units([index]).forward(MAPS)


@pytest.mark.parametrize("make", [zero_units, lambda indices: replace_units(indices, 1)])
def test_a_negative_index_is_refused_before_anything_runs(make):
    with pytest.raises(
        HookviewerError, match=r"^The numbers of a unit are whole numbers from 0; -1"
    ):
        make([(0, 0, -1)])


def test_a_unit_that_is_no_tuple_is_refused_before_anything_runs():
    with pytest.raises(HookviewerError, match=r"Units are tuples .*; 3 is none."):
        zero_units([3])


def test_a_later_change_of_the_list_changes_nothing():
    units = [(0,)]
    intervention = zero_units(units)
    units.append((1,))
    assert intervention.forward(torch.ones(1, 2)).tolist() == [[0, 1]]


@pytest.mark.parametrize("kind", [torch.int64, torch.bool, torch.float16])
def test_the_dtype_stays(kind):
    result = zero_units([(1,)]).forward(torch.ones(1, 2, dtype=kind))
    assert (result.dtype, result.tolist()) == (kind, [[1, 0]])


def test_a_tensor_that_does_not_fit_the_units_is_refused():
    with pytest.raises(HookviewerError, match=r"The value given is 3; it does not fit 2 × 1."):
        replace_units([(0, 0, 0)], torch.zeros(3)).forward(MAPS)
