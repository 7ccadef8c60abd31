from collections import OrderedDict
from functools import partial

import pytest
import torch

from hookviewer.engine.errors import TargetError
from hookviewer.extension import targets
from hookviewer.targets import class_score, cross_entropy, mean, top_class, unit, whole

TABLE = [[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]]  # two samples, three classes


def gradient(target, values):
    """Return the target's score and its gradient with respect to ``values``."""
    output = torch.tensor(values, requires_grad=True)
    score = target(output)
    assert score.ndim == 0
    return score.item(), torch.autograd.grad(score, output)[0].tolist()


def test_the_score_of_a_class_sums_over_the_samples():
    assert gradient(class_score(2), TABLE) == (6, [[0, 0, 1], [0, 0, 1]])


def test_the_score_of_a_class_of_maps_sums_over_their_pixels():
    maps = [[[[1.0, 2.0]], [[3.0, 4.0]]]]  # one sample, two classes, one row, two columns
    assert gradient(class_score(1), maps) == (7, [[[[0, 0]], [[1, 1]]]])


def test_the_only_axis_of_an_output_is_its_class_axis():
    assert gradient(class_score(1), [3.0, 8.0]) == (8, [0, 1])
    assert gradient(top_class(), [3.0, 8.0]) == (8, [0, 1])


@pytest.mark.parametrize("index", [3, 99])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 4), (3,)])
def test_an_index_beyond_the_classes_is_refused(index, shape):
    sentence = f"This output has classes 0 to 2; {index} is not among them."
    with pytest.raises(TargetError, match=f"^{sentence}$"):
        class_score(index)(torch.zeros(shape))


def test_a_negative_class_is_refused_before_anything_runs():
    with pytest.raises(TargetError, match=r"^Classes are whole numbers from 0; -1 is none.$"):
        class_score(-1)


def test_the_top_class_is_that_of_each_sample():
    assert gradient(top_class(), TABLE) == (12, [[0, 1, 0], [1, 0, 0]])


def test_the_top_class_of_maps_has_the_highest_sum_over_pixels():
    maps = [[[[9.0, 0.0]], [[5.0, 5.0]]]]  # class 0 has the highest pixel, class 1 the sum
    assert gradient(top_class(), maps) == (10, [[[[0, 0]], [[1, 1]]]])


def test_a_tie_for_the_top_class_has_one_winner():
    _, ((first, second),) = gradient(top_class(), [[4.0, 4.0]])
    assert {first, second} == {0, 1}


def test_the_whole_output_is_summed():
    assert gradient(whole(), TABLE) == (22, [[1, 1, 1], [1, 1, 1]])


def test_a_scalar_output_is_taken_as_it_is():
    loss = torch.tensor(3.0)
    assert whole()(loss) is loss


@pytest.mark.parametrize("target", [class_score(0), top_class()])
@pytest.mark.parametrize(
    ("shape", "sentence"), [((), "a single number"), ((2, 0), "has no classes")]
)
def test_an_output_without_classes_has_no_class_score(target, shape, sentence):
    with pytest.raises(TargetError, match=sentence):
        target(torch.zeros(shape))


@pytest.mark.parametrize("make", [lambda **leaf: class_score(1, **leaf), top_class, whole])
def test_one_of_several_leaves_must_be_chosen(make):
    output = {"out": torch.tensor([[0.0, 2.0]]), "aux": (torch.tensor([[0.0, 5.0]]),)}
    with pytest.raises(TargetError, match="several leaves; choose one of 'out', 'aux/0'"):
        make()(output)
    with pytest.raises(TargetError, match="no leaf 'main'; it has 'out', 'aux/0'"):
        make(leaf="main")(output)
    assert make(leaf="aux/0")(output).item() == 5


@pytest.mark.parametrize("wrap", [list, tuple, lambda items: OrderedDict(out=items[0])])
def test_the_only_leaf_of_an_output_need_not_be_chosen(wrap):
    assert class_score(1)(wrap([torch.tensor([[0.0, 2.0]])])).item() == 2


def test_an_output_without_tensors_cannot_be_a_target():
    with pytest.raises(TargetError, match="holds no tensor"):
        whole()([None, "text"])


@pytest.mark.parametrize("kind", [torch.int64, torch.complex64])
def test_only_real_numbers_can_be_a_target(kind):
    with pytest.raises(TargetError, match=str(kind).removeprefix("torch.")):
        whole()(torch.ones(2, 3, dtype=kind))


def test_one_sample_of_a_batch_can_be_chosen():
    assert gradient(class_score(2, sample=1), TABLE) == (4, [[0, 0, 0], [0, 0, 1]])
    assert gradient(top_class(sample=0), TABLE) == (5, [[0, 1, 0], [0, 0, 0]])
    assert gradient(whole(sample=1), TABLE) == (14, [[0, 0, 0], [1, 1, 1]])


SAMPLED = [partial(class_score, 1), top_class, whole, partial(cross_entropy, 1)]


@pytest.mark.parametrize("make", SAMPLED)
def test_a_sample_beyond_the_batch_is_refused_with_the_range(make):
    sentence = "This output has samples 0 to 1; 2 is not among them."
    with pytest.raises(TargetError, match=f"^{sentence}$"):
        make(sample=2)(torch.zeros(2, 3))


@pytest.mark.parametrize("make", SAMPLED)
def test_a_negative_sample_is_refused_before_anything_runs(make):
    with pytest.raises(TargetError, match=r"^Samples are whole numbers from 0; -1 is none.$"):
        make(sample=-1)


@pytest.mark.parametrize(
    ("make", "shape", "text"),
    [(each, (3,), "3") for each in SAMPLED if each is not whole]
    + [(each, (), "a single number") for each in SAMPLED],
)
def test_an_output_without_samples_has_none_to_choose(make, shape, text):
    with pytest.raises(TargetError, match=f"^This output is {text}, without samples"):
        make(sample=0)(torch.zeros(shape))


def test_one_number_per_sample_is_a_batch_for_the_whole_output():
    assert gradient(whole(sample=1), [3.0, 8.0]) == (8, [0, 1])


def test_the_targets_are_registered():
    assert {name: targets[name] for name in targets} == {
        "class score": class_score,
        "cross entropy": cross_entropy,
        "mean": mean,
        "top class": top_class,
        "unit": unit,
        "whole output": whole,
    }
