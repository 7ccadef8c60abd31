import pytest
import torch

from hookviewer.engine.errors import HookviewerError, TargetError
from hookviewer.engine.fit import check_counted, check_range, check_unit, checked

GIVEN = torch.zeros(1, 3)


def test_what_fits_is_handed_on_as_it_is():
    result = torch.ones(1, 3)
    assert checked(result, GIVEN, "It") is result


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (None, "It gives no tensor but NoneType; 1 × 3 of float32 is needed."),
        (2.5, "It gives no tensor but float; 1 × 3 of float32 is needed."),
        (torch.zeros(3), "It gives 3 of float32 where 1 × 3 of float32 is needed."),
        (torch.tensor(1.0), "It gives a single number of float32 where 1 × 3 of float32 is needed"),
        (GIVEN > 0, "It gives 1 × 3 of bool where 1 × 3 of float32 is needed."),
        (GIVEN.to("meta"), "It gives a tensor on meta; one on cpu is needed."),
    ],
)
def test_what_does_not_fit_is_named_beside_what_is_needed(result, sentence):
    with pytest.raises(HookviewerError, match=sentence):
        checked(result, GIVEN, "It")


@pytest.mark.parametrize("number", [-1, 0.5, "2", None])
def test_only_whole_numbers_from_zero_count(number):
    check_counted([0, 3, torch.tensor(2)], "Rows")
    with pytest.raises(TargetError, match=f"^Rows are whole numbers from 0; {number!r} is none.$"):
        check_counted([0, number], "Rows", TargetError)


def test_the_last_position_of_an_axis_is_in_its_range():
    check_range(2, 3, "rows")
    with pytest.raises(HookviewerError, match=r"^Here has rows 0 to 2; 3 is not among them.$"):
        check_range(3, 3, "rows", "Here")


def test_an_empty_axis_has_no_position():
    with pytest.raises(TargetError, match=r"^This output has no rows.$"):
        check_range(0, 0, "rows", error=TargetError)


def test_the_last_unit_is_in_the_range():
    check_unit((2, 3, 4), (1, 3, 4, 5))


@pytest.mark.parametrize("index", [(3, 0, 0), (0, 4, 0), (0, 0, 5), (0, 0), (0, 0, 0, 0), ()])
def test_a_unit_that_does_not_exist_is_refused_with_the_first_and_the_last(index):
    with pytest.raises(TargetError) as caught:
        check_unit(index, (1, 3, 4, 5), error=TargetError)
    assert str(caught.value) == (
        f"This output has units (0, 0, 0) to (2, 3, 4) in each sample; {index} is not among them."
    )


@pytest.mark.parametrize(
    ("shape", "text"), [((), "a single number"), ((7,), "7"), ((2, 0), "2 × 0")]
)
def test_what_has_nothing_behind_the_sample_has_no_units(shape, text):
    with pytest.raises(HookviewerError, match=f"is {text}: it has no units behind a sample"):
        check_unit((), shape)
