import math

import pytest
import torch

from hookviewer.engine.errors import TargetError
from hookviewer.targets import cross_entropy

SCORES = [[0.0, math.log(3.0)], [math.log(4.0), 0.0]]  # p is (1/4, 3/4) and (4/5, 1/5)


def gradient(target, values):
    output = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    score = target(output)
    return score.item(), torch.autograd.grad(score, output)[0].tolist()


def test_the_loss_is_summed_over_the_samples():
    loss, slopes = gradient(cross_entropy(0), SCORES)
    assert loss == pytest.approx(math.log(4) + math.log(5 / 4))
    assert slopes == [pytest.approx([-3 / 4, 3 / 4]), pytest.approx([-1 / 5, 1 / 5])]


def test_the_loss_of_one_sample_leaves_the_others_alone():
    loss, slopes = gradient(cross_entropy(0, sample=1), SCORES)
    assert loss == pytest.approx(math.log(5 / 4))
    assert slopes == [[0, 0], pytest.approx([-1 / 5, 1 / 5])]


def test_the_loss_is_summed_over_pixels():
    maps = [[[[0.0, math.log(4.0)]], [[math.log(3.0), 0.0]]]]  # the same two as pixels
    assert gradient(cross_entropy(0), maps)[0] == pytest.approx(math.log(4) + math.log(5 / 4))


def test_the_only_axis_holds_the_classes():
    assert gradient(cross_entropy(1), SCORES[0])[0] == pytest.approx(math.log(4 / 3))


def test_it_is_the_loss_that_torch_computes():
    output = torch.randn(4, 5, 3, 2, generator=torch.Generator().manual_seed(0))
    labels = torch.full((4, 3, 2), 2)
    expected = torch.nn.functional.cross_entropy(output, labels, reduction="sum")
    torch.testing.assert_close(cross_entropy(2)(output), expected)


def test_a_label_beyond_the_classes_is_refused_with_the_range():
    with pytest.raises(
        TargetError, match=r"^This output has classes 0 to 1; 2 is not among them.$"
    ):
        cross_entropy(2)(torch.zeros(1, 2))


def test_a_negative_label_is_refused_before_anything_runs():
    with pytest.raises(TargetError, match=r"^Labels are whole numbers from 0; -1 is none.$"):
        cross_entropy(-1)
