import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import torch

from hookviewer.render import blocks, palette
from hookviewer.render.mosaic import (
    GAP,
    NAN,
    NEGATIVE_INFINITY,
    POSITIVE_INFINITY,
    VALUE_COUNT,
    build_mosaic,
    tile_picture,
)
from hookviewer.render.scaling import Scaling
from hookviewer.render.tiles import TileStack, filters_of, maps_of

MIDDLE, TOP = VALUE_COUNT // 2, VALUE_COUNT - 1
PER_TILE, SHARED, SYMMETRIC = Scaling(), Scaling(shared=True), Scaling(symmetric=True)


def pixels(stack, scaling=PER_TILE):
    return build_mosaic(stack, scaling).pixels.tolist()


def numbered(shape):
    """Return tiles whose pixels carry their own index as value, up to the top of the palette."""
    values = np.arange(np.prod(shape)).reshape(shape) % VALUE_COUNT
    values[:, 0, 0], values[:, -1, -1] = 0, TOP
    return values


def test_the_least_value_is_the_first_colour_and_the_greatest_the_last(stack):
    assert pixels(stack([[[2, 4, 3]]])) == [[0, TOP, 125]]


def test_whole_steps_keep_their_number(stack):
    assert pixels(stack([[np.arange(VALUE_COUNT)]]))[0][::50] == [0, 50, 100, 150, 200, 250]


def test_tiles_stand_side_by_side_then_below_with_gaps_between(stack):
    tiles = stack([[[0, 1]], [[1, 0]], [[0, 1]]], columns=2)
    assert pixels(tiles) == [
        [0, TOP, GAP, TOP, 0],
        [GAP] * 5,
        [0, TOP, GAP, GAP, GAP],
    ]


@pytest.mark.parametrize("columns", [1, 3, 7, 8, None])
@pytest.mark.parametrize("block", [1, 7, 13, 40, 64, 200, 10_000])
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_every_pixel_shows_the_value_that_it_leads_back_to(
    stack, monkeypatch, columns, block, axes
):
    monkeypatch.setattr(blocks, "BLOCK_SAMPLES", block)
    memory = np.ascontiguousarray(numbered((8, 3, 5)).transpose(axes))
    values = memory.transpose(np.argsort(axes))
    mosaic = build_mosaic(stack(values, columns=columns), PER_TILE)
    found = 0
    for y, x in np.ndindex(mosaic.pixels.shape):
        place = mosaic.tile_at(x, y)
        found += place is not None
        assert mosaic.pixels[y, x] == (GAP if place is None else values[place])
    assert found == values.size


def test_a_constant_tile_is_the_middle_colour(stack):
    assert pixels(stack([[[3, 3]]])) == [[MIDDLE, MIDDLE]]
    assert pixels(stack([[[0, 0]], [[1, 5]]], columns=1)) == [[MIDDLE] * 2, [GAP] * 2, [0, TOP]]


@pytest.mark.parametrize("size", [1e-44, 1e-30, 0.1, 1 / 3, 7, 1e5, 1e30, 3e38])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_is_exactly_the_middle_of_a_symmetric_range(stack, size, dtype):
    assert pixels(stack([[[0, size, -size]]], dtype), SYMMETRIC) == [[MIDDLE, TOP, 0]]
    assert pixels(stack([[[0, size, 0]]], dtype), SYMMETRIC) == [[MIDDLE, TOP, MIDDLE]]


def test_a_constant_is_the_top_and_zeros_the_middle_of_a_symmetric_range(stack):
    assert pixels(stack([[[3, 3]]]), SYMMETRIC) == [[TOP, TOP]]
    assert pixels(stack([[[0, 0]]]), SYMMETRIC) == [[MIDDLE, MIDDLE]]


def test_a_shared_range_makes_equal_values_equal_colours(stack):
    mosaic = build_mosaic(stack([[[0, 1]], [[1, 2]]], columns=1), SHARED)
    assert mosaic.pixels.tolist() == [[0, 125], [GAP, GAP], [125, TOP]]
    assert (mosaic.low.tolist(), mosaic.high.tolist()) == ([0, 0], [2, 2])


def test_what_is_not_finite_has_its_own_colour_and_spoils_no_other(stack):
    tiles = stack([[[np.nan, 1, 2, np.inf, -np.inf]], [[1, 2, 3, 1, 1]]], columns=1)
    assert pixels(tiles) == [
        [NAN, 0, TOP, POSITIVE_INFINITY, NEGATIVE_INFINITY],
        [GAP] * 5,
        [0, 125, TOP, 0, 0],
    ]


def test_a_tile_of_nothing_finite_is_marked_throughout(stack):
    assert pixels(stack([[[np.nan, np.inf, np.nan]]])) == [[NAN, POSITIVE_INFINITY, NAN]]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([-3e38, 0, 3e38], np.float32),
        ([-1.5e308, 0, 1.5e308], np.float64),
        ([-5e-324, 0, 5e-324], np.float64),
        ([-1e-44, 0, 1e-44], np.float32),
        ([-1e-37, 0, 1e-37], np.float32),
    ],
)
def test_ranges_beyond_the_type_are_drawn_like_any_other(stack, values, dtype):
    assert pixels(stack([[values]], dtype)) == [[0, MIDDLE, TOP]]
    assert pixels(stack([[[*values, np.nan]]], dtype)) == [[0, MIDDLE, TOP, NAN]]


def test_a_range_of_the_smallest_doubles_is_drawn(stack):
    assert pixels(stack([[[0, 5e-324, 1e-323]]], np.float64)) == [[0, 125, TOP]]


def test_a_narrow_range_far_from_zero_is_drawn_in_full(stack):
    narrow = 1000 + np.arange(5) * 2**-13  # neighbours in float32 are 2**-14 apart
    assert pixels(stack([[narrow]])) == [[0, 62, 125, 188, TOP]]
    assert pixels(stack([[1e9 + 7 + np.arange(5)]], np.float64)) == [[0, 62, 125, 188, TOP]]
    assert pixels(stack([[10**9 + 7 + np.arange(5)]], np.int32)) == [[0, 62, 125, 188, TOP]]


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64, np.uint64, np.float64]
)
def test_all_types_are_drawn_alike(stack, dtype):
    assert pixels(stack([[[10, 12, 14]]], dtype)) == [[0, 125, TOP]]


def test_an_unsigned_range_may_be_symmetric(stack):
    assert pixels(stack([[[0, 255]]], np.uint8), SYMMETRIC) == [[MIDDLE, TOP]]


def test_a_bool_map_is_the_lowest_and_the_highest_colour(capture):
    assert pixels(maps_of(capture([[[[False, True]]]]))) == [[0, TOP]]


def test_a_bfloat16_map_is_drawn_from_its_exact_values(capture):
    values = torch.tensor([[[[1.0, 1.5, 2.0]]]], dtype=torch.bfloat16)
    assert pixels(maps_of(capture(values))) == [[0, 125, TOP]]


def test_an_expanded_map_is_drawn(capture):
    column = torch.tensor([1.0, 2.0]).reshape(1, 1, 2, 1).expand(1, 2, 2, 3)
    mosaic = build_mosaic(maps_of(capture(column)), PER_TILE)
    assert mosaic.pixels[:2, :3].tolist() == [[0, 0, 0], [TOP, TOP, TOP]]


def test_a_hot_pixel_in_a_large_map_is_drawn(stack):
    values = np.zeros((1, 700, 900))
    values[0, 555, 333] = 0.5
    (hot,) = np.argwhere(build_mosaic(stack(values), PER_TILE).pixels == TOP).tolist()
    assert hot == [555, 333]


def test_grey_kernels_stay_grey(capture):
    grey = torch.tensor([[-1.0, 0.0, 1.0]]).expand(1, 3, 1, 3)
    assert pixels(filters_of(capture(grey))) == [[[0] * 3, [128] * 3, [255] * 3]]


def test_a_kernel_has_one_range_over_its_three_channels(capture):
    kernel = torch.tensor([[[[0.0, 4.0]], [[1.0, 1.0]], [[2.0, 2.0]]]])
    assert pixels(filters_of(capture(kernel))) == [[[0, 63, 127], [255, 63, 127]]]


def test_zero_is_mid_grey_in_symmetric_kernels(capture):
    kernel = torch.tensor([[[[0.0, 5.0]], [[0.0, 5.0]], [[0.0, 5.0]]]])
    assert pixels(filters_of(capture(kernel)), SYMMETRIC) == [[[128] * 3, [255] * 3]]


def test_colour_pixels_with_a_component_that_is_not_finite_have_fixed_colours(capture):
    red = [0.0, 1.0, torch.nan, torch.inf, -torch.inf, torch.inf]
    green = [0.0, 1.0, torch.inf, 0.5, 0.5, -torch.inf]
    kernel = torch.tensor([[[red], [green], [[0.0, 1, 1, 1, 1, 1]]]])
    assert [tuple(color) for color in pixels(filters_of(capture(kernel)))[0]] == [
        (0, 0, 0),
        (255, 255, 255),
        palette.NAN_COLOR,
        palette.POSITIVE_INFINITY_COLOR,
        palette.NEGATIVE_INFINITY_COLOR,
        palette.POSITIVE_INFINITY_COLOR,
    ]


def test_gaps_between_colour_tiles_have_the_colour_asked_for(capture):
    stack = filters_of(capture(torch.rand(3, 3, 2, 5)))
    mosaic = build_mosaic(stack, PER_TILE, gap=1, gap_color=(1, 2, 3))
    for y, x in np.ndindex(mosaic.pixels.shape[:2]):
        if mosaic.tile_at(x, y) is None:
            assert mosaic.pixels[y, x].tolist() == [1, 2, 3]


@pytest.mark.parametrize("colors", [(), (3,)])
def test_nothing_is_an_empty_picture(colors):
    stack = TileStack(np.empty((0, 3, 4, *colors)), ("channel",), (0,))
    mosaic = build_mosaic(stack, PER_TILE)
    assert (mosaic.pixels.shape, mosaic.count) == ((0, 0, *colors), 0)
    assert mosaic.tile_at(0, 0) is None


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (-2, 0),
        (0, -0.1),
        (0, -2),
        (9, 0),
        (0, 7),
        (1e300, 0),
        (0, np.inf),
        (np.nan, 0),
        (0, np.nan),
    ],
)
def test_outside_the_picture_is_no_tile(stack, x, y):
    mosaic = build_mosaic(stack(numbered((4, 3, 4)), columns=2), PER_TILE)
    assert mosaic.pixels.shape == (7, 9)
    assert mosaic.tile_at(8.9, 6.9) == (3, 2, 3)
    assert mosaic.tile_at(x, y) is None


def test_gaps_and_unused_places_are_no_tile(stack):
    mosaic = build_mosaic(stack(numbered((3, 3, 4)), columns=2), PER_TILE)
    assert mosaic.tile_at(3.9, 2.9) == (0, 2, 3)
    assert [mosaic.tile_at(*place) for place in [(4, 0), (0, 3), (5, 4)]] == [None] * 3


def test_a_tile_is_found_in_its_rectangle(stack):
    mosaic = build_mosaic(stack(numbered((5, 3, 4)), columns=2), PER_TILE)
    assert mosaic.rect_of(3) == (5, 4, 4, 3)
    assert mosaic.tile_at(*mosaic.rect_of(3)[:2]) == (3, 0, 0)


@pytest.mark.parametrize("tile", [-1, 5])
def test_a_tile_that_is_not_there_has_no_rectangle(stack, tile):
    with pytest.raises(IndexError):
        build_mosaic(stack(numbered((5, 3, 4))), PER_TILE).rect_of(tile)


@pytest.mark.parametrize(
    ("shape", "gap"),
    [((4, 1, 1), 0), ((4, 3, 3), 1), ((4, 64, 64), 2), ((4, 64, 63), 1)],
)
def test_the_gap_follows_the_size_of_the_tiles(stack, shape, gap):
    assert build_mosaic(stack(np.zeros(shape)), PER_TILE).gap == gap


@pytest.mark.parametrize(
    ("count", "aspect", "columns"),
    [(6, 1.5, 3), (6, 2 / 3, 2), (64, 1.0, 8), (1, 9.0, 1), (5, 100.0, 5), (5, 0.01, 1), (5, 2, 4)],
)
def test_the_columns_bring_the_picture_near_the_wanted_aspect(stack, count, aspect, columns):
    mosaic = build_mosaic(stack(np.zeros((count, 4, 4))), PER_TILE, aspect, gap=0)
    assert mosaic.columns == columns


def test_wide_tiles_stand_below_each_other(stack):
    assert build_mosaic(stack(np.zeros((6, 1, 100))), PER_TILE).columns == 1
    assert build_mosaic(stack(np.zeros((6, 100, 1))), PER_TILE).columns == 6


def test_of_two_equally_near_the_fewer_columns_are_taken(stack):
    assert build_mosaic(stack(np.zeros((2, 4, 4))), PER_TILE, 1.0, gap=0).columns == 1


def test_a_stack_that_knows_its_columns_keeps_them(stack):
    assert build_mosaic(stack(np.zeros((6, 2, 2)), columns=6), PER_TILE).columns == 6
    assert build_mosaic(stack(np.zeros((2, 2, 2)), columns=6), PER_TILE).columns == 2


@pytest.mark.parametrize("scaling", [PER_TILE, SHARED, SYMMETRIC])
@pytest.mark.parametrize("kernels", [False, True])
def test_a_tile_alone_looks_as_in_the_mosaic(capture, scaling, kernels):
    values = torch.rand(5, 3, 4, 7, generator=torch.Generator().manual_seed(0)) - 0.3
    values[1, 1, 2, 3], values[2] = torch.nan, 0.5
    stack = filters_of(capture(values)) if kernels else maps_of(capture(values), sample=1)
    mosaic = build_mosaic(stack, scaling)
    for tile in range(stack.count):
        x, y, width, height = mosaic.rect_of(tile)
        picture = tile_picture(stack, tile, mosaic.low[tile], mosaic.high[tile])
        assert picture.tolist() == mosaic.pixels[y : y + height, x : x + width].tolist()


def test_values_beyond_given_levels_take_the_outermost_colours(stack):
    tiles = stack([[[9, 9, 9, 9, 9]], [[0, 1, 2, 3, np.inf]]])
    assert tile_picture(tiles, 1, 1, 2).tolist() == [[0, 0, TOP, TOP, POSITIVE_INFINITY]]
    assert tile_picture(tiles, 0, 10, 11).tolist() == [[0] * 5]
    assert tile_picture(tiles, 0, 1, 2).tolist() == [[TOP] * 5]
    assert tile_picture(stack([[[3e38, -3e38]]]), 0, 0, 1e-20).tolist() == [[TOP, 0]]
    assert tile_picture(tiles, 1, 1, 1).tolist() == [[0, MIDDLE, TOP, TOP, POSITIVE_INFINITY]]


def test_the_values_stay_as_they_are(stack):
    values = np.array([[[np.nan, 3e38, -3e38, 0]], [[1, 2, 3, 4]]], np.float32)
    before = values.tobytes()
    build_mosaic(stack(values), SYMMETRIC)
    assert values.tobytes() == before


@pytest.mark.parametrize("shape", [(256, 112, 112), (20_000, 14, 14), (16, 448, 448)])
def test_no_temporary_grows_with_the_input(stack, shape):
    tiles = stack(np.random.default_rng(0).random(shape, np.float32))
    tracemalloc.start()
    mosaic = build_mosaic(tiles, PER_TILE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ranges = 100 * mosaic.count
    assert peak < mosaic.pixels.nbytes + ranges + 3_000_000 < tiles.values.nbytes


def test_colours_are_read_from_end_to_end_with_zero_in_the_middle():
    positions = palette.color_positions()
    assert (positions[0], positions[MIDDLE], positions[TOP]) == (0, 0.5, 1)
    assert len(positions) == VALUE_COUNT
    assert (np.diff(positions) > 0).all()


def test_pictures_need_neither_torch_nor_qt():
    code = (
        "import sys, hookviewer.render.mosaic, hookviewer.render.statistics;"
        "print([name for name in ('torch', 'PySide6', 'pyqtgraph') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
