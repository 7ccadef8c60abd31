import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from hookviewer.engine.errors import HookviewerError
from hookviewer.preprocessing import Preprocessing

PLAIN = Preprocessing(resize=None, crop=None, mean=(0, 0, 0), std=(1, 1, 1))
PLAIN_GREY = Preprocessing(resize=None, crop=None, mean=(0,), std=(1,), channels=1)


def picture(values, kind=np.uint8):
    return Image.fromarray(np.array(values, kind))


def test_values_are_scaled_to_1_then_normalised_by_channel():
    preprocessing = Preprocessing(None, None, mean=(0.2, 0, 0.5), std=(1, 2, 0.5))
    tensor = preprocessing.apply(picture([[[255, 51, 0]]]))
    assert tensor.shape == (1, 3, 1, 1)
    assert tensor.flatten().tolist() == pytest.approx([0.8, 0.1, -1])


def test_the_shorter_side_is_resized_and_the_centre_cut():
    columns = picture([[0, 10, 20, 30, 40, 50]] * 2)
    cut = Preprocessing(2, 2, "nearest", mean=(0,), std=(1,), channels=1).apply(columns)
    assert (cut * 255).round().tolist() == [[[[20, 30]] * 2]]
    assert Preprocessing(4, None).apply(columns).shape == (1, 3, 4, 12)


def test_a_grey_picture_fills_three_channels():
    assert (PLAIN.apply(picture([[0, 255]])).tolist()) == [[[[0, 1]]] * 3]
    tensor = PLAIN.apply(picture([[0, 0.3]], np.float32))
    assert tensor.tolist() == [[[[0, pytest.approx(0.3)]]] * 3]
    assert tensor.is_contiguous()


def test_a_colour_picture_becomes_grey_for_a_model_of_one_channel():
    tensor = PLAIN_GREY.apply(picture([[[255, 0, 0], [255, 255, 255]]]))
    assert (tensor * 255).round().tolist() == [[[[76, 255]]]]  # red is 0.299 of the brightness


def test_undoing_gives_the_pixels_back_exactly():
    pixels = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    preprocessing = Preprocessing(resize=None, crop=None)
    undone = preprocessing.undo(preprocessing.apply(Image.fromarray(pixels)))
    assert np.array_equal(undone, pixels)
    assert undone.flags.c_contiguous


def test_undoing_one_channel_gives_a_grey_picture():
    undone = PLAIN_GREY.undo(PLAIN_GREY.apply(picture([[7, 200]])))
    assert undone.tolist() == [[[7] * 3, [200] * 3]]


def test_a_picture_that_would_fill_the_memory_is_refused():
    with pytest.raises(HookviewerError, match="5000 x 2 pixels, too narrow"):
        Preprocessing().apply(Image.new("L", (5000, 2)))


@pytest.mark.parametrize(
    ("convolutions", "channels"),
    [
        ([nn.Conv2d(1, 4, 1)], 1),
        ([nn.Linear(1, 1), nn.Conv2d(3, 1, 1), nn.Conv2d(1, 3, 1)], 3),
        ([nn.Conv2d(8, 1, 1), nn.Conv2d(1, 1, 1)], 3),
        ([nn.Linear(1, 1)], 3),
        ([nn.Sequential(nn.Conv3d(1, 1, 1))], 1),
    ],
)
def test_channels_are_read_off_the_first_convolution(convolutions, channels):
    assert Preprocessing.for_model(nn.Sequential(*convolutions)).channels == channels


def test_other_models_get_imagenets_preprocessing():
    assert Preprocessing.for_model(nn.Identity()) == Preprocessing(
        resize=256, crop=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
    )
    grey = Preprocessing.for_model(nn.Conv2d(1, 1, 1))
    assert (grey.mean, grey.std) == ((pytest.approx(0.449),), (pytest.approx(0.226),))


def test_a_model_that_states_its_picture_size_gets_it():
    model = nn.Identity()
    model.image_size = 56
    assert Preprocessing.for_model(model) == Preprocessing(resize=64, crop=56)


def test_preprocessing_leaves_no_gradients_to_follow():
    assert not PLAIN.apply(picture([[1]])).requires_grad
    assert PLAIN.apply(picture([[1]])).dtype == torch.float32
