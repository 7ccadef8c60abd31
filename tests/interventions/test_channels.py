import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import replace_channels, scale_channels, zero_channels

MAPS = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])  # (sample, channel, column)


def changed(intervention, output=MAPS):
    return intervention.forward(output).tolist()


def gradient(intervention):
    """Return the gradient of the sum of what ``intervention`` makes of the maps."""
    output = MAPS.clone().requires_grad_()
    return torch.autograd.grad(intervention.forward(output).sum(), output)[0].tolist()


def test_zeroed_channels_are_zero_and_the_others_stay():
    assert changed(zero_channels([0, 2])) == [[[0, 0], [3, 4], [0, 0]]]


def test_scaled_channels_are_multiplied_and_the_others_stay():
    assert changed(scale_channels([1], 10)) == [[[1, 2], [30, 40], [5, 6]]]


def test_replaced_channels_hold_the_number():
    assert changed(replace_channels([1, 2], 7)) == [[[1, 2], [7, 7], [7, 7]]]


def test_a_tensor_in_place_of_a_channel_is_broadcast_over_samples():
    two = torch.cat([MAPS, MAPS])
    assert changed(replace_channels([0], torch.tensor([8.0, 9.0])), two) == [
        [[8, 9], [3, 4], [5, 6]],
        [[8, 9], [3, 4], [5, 6]],
    ]


def test_a_tensor_may_differ_between_samples():
    two = torch.cat([MAPS, MAPS])
    assert changed(replace_channels([0, 2], torch.tensor([[8.0], [9.0]])), two) == [
        [[8, 8], [3, 4], [8, 8]],
        [[9, 9], [3, 4], [9, 9]],
    ]


def test_a_channel_of_single_numbers_can_be_replaced():
    assert changed(replace_channels([1], 0.5), torch.zeros(2, 2)) == [[0, 0.5], [0, 0.5]]


def test_no_channels_change_nothing():
    for intervention in (zero_channels([]), scale_channels([], 3), replace_channels([], 7)):
        assert changed(intervention) == MAPS.tolist()


def test_the_gradient_of_a_changed_channel_is_that_of_the_change():
    assert gradient(zero_channels([0])) == [[[0, 0], [1, 1], [1, 1]]]
    assert gradient(scale_channels([0], 3)) == [[[3, 3], [1, 1], [1, 1]]]
    assert gradient(replace_channels([0], 3)) == [[[0, 0], [1, 1], [1, 1]]]


@pytest.mark.parametrize(
    "make", [zero_channels, lambda c: scale_channels(c, 2), lambda c: replace_channels(c, 1)]
)
class TestChannels:
    def test_what_was_given_is_not_written_to(self, make):
        before = MAPS.clone()
        make([0])
        make([0]).forward(MAPS)
        assert torch.equal(MAPS, before)

    def test_a_channel_beyond_the_last_is_refused_with_the_range(self, make):
        sentence = "This output has channels 0 to 2; 3 is not among them."
        with pytest.raises(HookviewerError, match=f"^{sentence}$"):
            make([0, 3]).forward(MAPS)

    def test_a_negative_channel_is_refused_before_anything_runs(self, make):
        with pytest.raises(
            HookviewerError, match=r"^Channels are whole numbers from 0; -1 is none"
        ):
            make([0, -1])

    def test_an_output_without_channel_axis_is_refused(self, make):
        with pytest.raises(HookviewerError, match="This output is 5; channels are axis 1"):
            make([0]).forward(torch.zeros(5))

    def test_a_later_change_of_the_list_changes_nothing(self, make):
        channels = [0]
        intervention = make(channels)
        channels.append(99)
        intervention.forward(MAPS)

    @pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.bool, torch.float16])
    def test_the_dtype_stays(self, make, kind):
        output = torch.ones(1, 2, dtype=kind)
        assert make([]).forward(output).dtype is kind
        assert zero_channels([1]).forward(output).tolist() == [[1, 0]]


def test_scaled_whole_numbers_are_cut_off_toward_zero():
    output = torch.tensor([[3, -3, 2**53 - 1]])
    assert changed(scale_channels([0, 1], 0.5), output) == [[1, -1, 2**53 - 1]]
    assert changed(scale_channels([2], 1.0), output) == [[3, -3, 2**53 - 1]]


def test_a_number_is_not_rounded_before_it_replaces_float64():
    assert changed(replace_channels([0], 0.1), torch.zeros(1, 1, dtype=torch.float64)) == [[0.1]]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.5, torch.int64),
        (300, torch.uint8),
        (2, torch.bool),
        (float("nan"), torch.int64),
        (1j, torch.float32),
        (torch.tensor([1.5]), torch.int32),
    ],
)
def test_a_value_that_the_dtype_cannot_hold_is_refused(value, kind):
    name = str(kind).removeprefix("torch.")
    with pytest.raises(HookviewerError, match=f"This output is {name}, which cannot hold"):
        replace_channels([0], value).forward(torch.ones(1, 1, 1, dtype=kind))


@pytest.mark.parametrize("value", [0.5, 0.5 + 2j])
def test_complex_numbers_can_be_replaced(value):
    output = torch.zeros(1, 1, dtype=torch.complex64)
    assert changed(replace_channels([0], value), output) == [[value]]


@pytest.mark.parametrize(("value", "kind"), [(2.0, torch.int64), (1, torch.bool)])
def test_a_whole_value_of_another_kind_is_taken(value, kind):
    assert changed(replace_channels([0], value), torch.zeros(1, 1, dtype=kind)) == [[value]]


def test_a_tensor_that_does_not_fit_a_channel_is_refused():
    with pytest.raises(HookviewerError, match=r"The value given is 3; it does not fit 1 × 2."):
        replace_channels([0], torch.zeros(3)).forward(MAPS)


def test_a_replacement_takes_nothing_from_the_tensor_that_the_user_goes_on_with():
    value = torch.tensor([8.0, 9.0], requires_grad=True)
    intervention = replace_channels([0, 1, 2], value)
    with torch.no_grad():
        value += 1
    result = intervention.forward(MAPS)
    assert not result.requires_grad
    assert result.tolist() == [[[8, 9], [8, 9], [8, 9]]]
