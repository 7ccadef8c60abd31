import pytest
import torch

from hookviewer.engine.errors import TargetError
from hookviewer.targets import mean, unit

MAPS = torch.arange(16.0).reshape(2, 2, 2, 2)  # (sample, channel, row, column)
BOTH = [lambda **choice: unit("a", (1, 0, 1), **choice), lambda **choice: mean("a", **choice)]


def gradient(target, *calls):
    """Return the target's score of ``calls`` of the node 'a' and the last one's gradient."""
    last = calls[-1].clone().requires_grad_()
    score = target.score({"a": (*calls[:-1], last), "b": ()})
    return score.item(), torch.autograd.grad(score, last)[0].tolist()


def test_a_unit_is_summed_over_the_samples():
    slope = [[[0, 0], [0, 0]], [[0, 1], [0, 0]]]
    assert gradient(unit("a", (1, 0, 1)), MAPS) == (5 + 13, [slope, slope])


def test_a_unit_of_one_sample_leaves_the_others_alone():
    score, (first, second) = gradient(unit("a", (1, 0, 1), sample=0), MAPS)
    assert score == 5
    assert first == [[[0, 0], [0, 0]], [[0, 1], [0, 0]]]
    assert second == [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]


def test_a_feature_of_a_linear_layer_is_a_unit():
    assert gradient(unit("a", (1,)), torch.tensor([[3.0, 4.0]])) == (4, [[0, 1]])


def test_a_mean_goes_over_all_of_a_sample_and_sums_over_samples():
    eighth = [[[1 / 8, 1 / 8]] * 2] * 2
    assert gradient(mean("a"), MAPS) == (3.5 + 11.5, [eighth, eighth])


def test_a_mean_of_a_channel_goes_over_its_map():
    score, (first, second) = gradient(mean("a", channel=1), MAPS)
    assert score == 5.5 + 13.5
    assert first == second == [[[0, 0], [0, 0]], [[1 / 4, 1 / 4], [1 / 4, 1 / 4]]]


def test_a_mean_of_one_sample_leaves_the_others_alone():
    assert gradient(mean("a", channel=0, sample=1), MAPS)[0] == 9.5


def test_a_channel_of_single_numbers_is_its_own_mean():
    assert gradient(mean("a", channel=1), torch.tensor([[3.0, 4.0]])) == (4, [[0, 1]])


@pytest.mark.parametrize("make", BOTH)
class TestLiveValue:
    def test_the_target_names_its_node(self, make):
        assert make().nodes == ("a",)

    def test_a_call_is_chosen_from_zero(self, make):
        first, second = gradient(make(), MAPS), gradient(make(call=1), 2 * MAPS, MAPS)
        assert first == second

    def test_a_leaf_is_chosen_by_its_path(self, make):
        values = {"a": ((MAPS, {"mask": 2 * MAPS}),)}
        assert make(leaf="1/mask").score(values) == 2 * make(leaf="0").score(values)

    @pytest.mark.parametrize(
        ("choice", "calls", "sentence"),
        [
            ({}, (), "'a' was not called, so it has nothing to differentiate."),
            ({"call": 2}, (MAPS, MAPS), "'a' has calls 0 to 1; 2 is not among them."),
            ({}, ([MAPS, MAPS],), "The output of 'a' has several leaves; choose one of '0', '1'."),
            ({"leaf": "x"}, (MAPS,), "The output of 'a' has no leaf 'x'; it has '0'."),
            ({}, (None,), "The output of 'a' holds no tensor, so there is nothing to differen"),
            ({}, (MAPS.long(),), "The output of 'a' is int64; only real numbers have a gradient"),
            ({"sample": 2}, (MAPS,), "The output of 'a' has samples 0 to 1; 2 is not among them."),
            ({"sample": 0}, (MAPS[0, 0, 0],), "The output of 'a' is 2, without samples to choose"),
            ({}, (torch.ones(3),), "The output of 'a' is 3: "),
        ],
    )
    def test_what_is_not_there_is_said_with_what_is(self, make, choice, calls, sentence):
        with pytest.raises(TargetError) as caught:
            make(**choice).score({"a": calls})
        assert str(caught.value).startswith(sentence)

    @pytest.mark.parametrize(
        ("choice", "what"), [({"call": -1}, "Calls"), ({"sample": -1}, "Samples")]
    )
    def test_a_negative_number_is_refused_before_anything_runs(self, make, choice, what):
        with pytest.raises(TargetError, match=f"^{what} are whole numbers from 0; -1 is none.$"):
            make(**choice)


def test_a_node_that_the_run_knows_nothing_of_was_not_called():
    with pytest.raises(TargetError, match="'a' was not called"):
        mean("a").score({})


def test_a_unit_beyond_the_last_is_refused_with_the_first_and_the_last():
    with pytest.raises(TargetError) as caught:
        unit("a", (2, 0, 0)).score({"a": (MAPS,)})
    assert str(caught.value) == (
        "The output of 'a' has units (0, 0, 0) to (1, 1, 1) in each sample; "
        "(2, 0, 0) is not among them."
    )


def test_a_channel_beyond_the_last_is_refused_with_the_range():
    with pytest.raises(TargetError, match="'a' has channels 0 to 1; 2 is not among them"):
        mean("a", channel=2).score({"a": (MAPS,)})


def test_the_output_of_the_whole_model_is_called_this_output():
    with pytest.raises(TargetError, match=r"^This output has channels 0 to 1; 2"):
        mean("", channel=2).score({"": (MAPS,)})


@pytest.mark.parametrize("make", [lambda n: unit("a", (0, n)), lambda n: mean("a", channel=n)])
def test_a_negative_place_is_refused_before_anything_runs(make):
    with pytest.raises(TargetError, match="are whole numbers from 0; -1 is none"):
        make(-1)
