import numpy as np
import pytest

from hookviewer.render.scaling import Scaling
from hookviewer.render.tiles import TileStack

NAN, INF = np.nan, np.inf


def levels(stack, **scaling):
    low, high = Scaling(**scaling).levels(stack)
    return low.tolist(), high.tolist()


def test_every_tile_has_the_range_of_its_own_values(stack):
    assert levels(stack([[[1, -2, 3]], [[5, 6, 4]]])) == ([-2, 4], [3, 6])


def test_a_shared_range_spans_all_tiles(stack):
    assert levels(stack([[[1, -2, 3]], [[5, 6, 4]]]), shared=True) == ([-2, -2], [6, 6])
    assert levels(stack([[[-1, -2]], [[-5, -6]]]), shared=True) == ([-6, -6], [-1, -1])


def test_a_symmetric_range_has_zero_in_the_middle(stack):
    tiles = stack([[[1, -2, 3]], [[-6, 4, 5]], [[0, 0, 0]]])
    assert levels(tiles, symmetric=True) == ([-3, -6, 0], [3, 6, 0])
    assert levels(tiles, shared=True, symmetric=True) == ([-6, -6, -6], [6, 6, 6])


def test_a_symmetric_range_of_zero_has_no_negative_zero(stack):
    low, _ = Scaling(symmetric=True).levels(stack([[[0, 0]]]))
    assert not np.signbit(low[0])


def test_tiles_of_one_pixel_always_share_their_range(stack):
    assert levels(stack([[[1]], [[-2]], [[3]]])) == ([-2, -2, -2], [3, 3, 3])


def test_only_finite_values_make_the_range(stack):
    tiles = stack([[[NAN, 1, 2]], [[INF, 3, 4]], [[5, -INF, 6]], [[7, 8, 9]]])
    assert levels(tiles) == ([1, 3, 5, 7], [2, 4, 6, 9])
    assert levels(tiles, shared=True) == ([1] * 4, [9] * 4)
    assert levels(stack([[[NAN, -1, -2]], [[-INF, -3, -4]]])) == ([-2, -4], [-1, -3])


def test_a_tile_without_finite_values_has_the_range_zero(stack):
    tiles = stack([[[NAN, INF]], [[1, 2]]])
    assert levels(tiles) == ([0, 1], [0, 2])
    assert levels(stack([[[NAN, INF]]]), shared=True, symmetric=True) == ([0], [0])


def test_a_tile_without_finite_values_takes_the_shared_range(stack):
    assert levels(stack([[[NAN, INF]], [[1, 2]]]), shared=True) == ([1, 1], [2, 2])


@pytest.mark.parametrize("shape", [(0, 3, 4), (0, 3, 4, 3), (2, 0, 4)])
def test_nothing_has_no_range(shape):
    tiles = TileStack(np.empty(shape), ("channel",), shape[:1])
    assert levels(tiles) == ([0] * shape[0], [0] * shape[0])
    assert levels(tiles, shared=True, symmetric=True) == ([0] * shape[0], [0] * shape[0])


def test_a_colour_tile_has_one_range_for_its_three_channels():
    values = np.array([[[[1, 2, 3], [-4, 5, NAN]]], [[[0, 0, 0], [7, 8, 9]]]])
    assert levels(TileStack(values, ("filter",), (2,))) == ([-4, 0], [5, 9])


@pytest.mark.parametrize("place", [(0, 0), (511, 1023), (300, 777)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_one_hot_pixel_in_a_large_map_is_never_missed(place, channels_last):
    values = np.zeros((512, 1024, 3) if channels_last else (3, 512, 1024), np.float32)
    values = values.transpose(2, 0, 1) if channels_last else values
    values[1][place] = 0.5
    assert levels(TileStack(values, ("channel",), (3,))) == ([0, 0, 0], [0, 0.5, 0])


def test_a_nan_in_a_large_map_leaves_the_rest_of_it_to_be_measured(stack):
    values = np.zeros((2, 512, 1024))
    values[1, 0, 0], values[1, 10, 7], values[1, 20, 9] = NAN, -3, 4
    assert levels(stack(values)) == ([0, -3], [0, 4])


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (np.uint8, 0, 255),
        (np.int8, -128, 127),
        (np.int64, -(2**53), 2**53),
        (np.float64, -1e308, 1e308),
    ],
)
def test_ranges_of_all_types_are_exact(stack, dtype, low, high):
    assert levels(stack([[[low, 1, high]]], dtype)) == ([low], [high])


def test_huge_floats_have_a_finite_range(stack):
    low, high = Scaling().levels(stack([[[-1e38, 0, 1e38]]]))
    assert (low[0], high[0]) == (np.float32(-1e38), np.float32(1e38))


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_strides_do_not_matter(axes):
    values = np.arange(60.0).reshape(3, 4, 5).transpose(axes)
    tiles = TileStack(values, ("channel",), values.shape[:1])
    assert levels(tiles) == (values.min((1, 2)).tolist(), values.max((1, 2)).tolist())
