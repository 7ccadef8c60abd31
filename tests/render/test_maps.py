import numpy as np
import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.render.tiles import TileStack, maps_of


def steps(*shape):
    return torch.arange(float(np.prod(shape))).reshape(shape)


def test_a_map_is_a_tile_per_channel(capture):
    stack = maps_of(capture(steps(2, 3, 4, 5)), sample=1)
    assert stack.values.tolist() == steps(2, 3, 4, 5)[1].tolist()
    assert (stack.axes, stack.pixel_axes) == (("channel",), ("row", "column"))
    assert (stack.count, stack.tile_height, stack.tile_width) == (3, 4, 5)
    assert not stack.is_color


def test_a_volume_is_a_tile_per_channel_and_slice(capture):
    stack = maps_of(capture(steps(1, 2, 3, 4, 5)))
    assert (stack.axes, stack.indices_shape) == (("channel", "depth"), (2, 3))
    assert stack.index_of(4) == (1, 1)
    assert stack.values[4].tolist() == steps(1, 2, 3, 4, 5)[0, 1, 1].tolist()
    assert stack.position(4, 2, 3) == (1, 1, 2, 3)


def test_tokens_are_one_tile_of_tokens_down_and_features_across(capture):
    stack = maps_of(capture(steps(2, 3, 4)), sample=1)
    assert stack.values.tolist() == [steps(2, 3, 4)[1].tolist()]
    assert (stack.axes, stack.pixel_axes) == ((), ("token", "feature"))
    assert (stack.index_of(0), stack.position(0, 2, 1)) == ((), (2, 1))


def test_a_vector_is_a_tile_per_feature(capture):
    stack = maps_of(capture([[1, 2, 3], [4, 5, 6]]), sample=1)
    assert stack.values.tolist() == [[[4]], [[5]], [[6]]]
    assert (stack.axes, stack.position(2, 0, 0)) == (("feature",), (2,))


def test_a_tensor_without_a_batch_is_shown_whole_whatever_the_sample(capture):
    assert maps_of(capture([1, 2, 3]), sample=9).values.tolist() == [[[1]], [[2]], [[3]]]
    assert maps_of(capture(7.0), sample=9).values.tolist() == [[[7]]]


def test_a_scalar_is_one_pixel_without_an_index(capture):
    stack = maps_of(capture(7.0))
    assert (stack.index_of(0), stack.position(0, 0, 0), stack.value_at(0, 0, 0)) == ((), (), 7)


def test_more_axes_are_folded_into_tiles_and_called_by_their_number(capture):
    stack = maps_of(capture(steps(1, 2, 3, 2, 4, 5)))
    assert stack.axes == ("channel", "depth", "axis 3")
    assert stack.index_of(7) == (1, 0, 1)
    assert stack.values[7].tolist() == steps(1, 2, 3, 2, 4, 5)[0, 1, 0, 1].tolist()


@pytest.mark.parametrize(
    "shape",
    [(0,), (1, 0), (0, 3), (0, 3, 4, 5), (1, 0, 2, 2), (1, 3, 0, 5), (1, 3, 4, 0), (2, 0, 3)],
)
def test_an_empty_tensor_has_no_tiles(capture, shape):
    assert maps_of(capture(torch.empty(shape))).count == 0


@pytest.mark.parametrize("sample", [-1, 2])
def test_a_sample_out_of_range_is_refused_with_the_range(capture, sample):
    with pytest.raises(HookviewerError, match=f"no sample {sample}: .* 0 to 1"):
        maps_of(capture(steps(2, 3, 4, 5)), sample)


@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 4), (2, 3, 4, 5), (2, 3, 2, 4, 5)])
def test_a_position_is_the_index_of_the_value_in_the_tensor(capture, shape):
    tensor = steps(*shape)
    stack = maps_of(capture(tensor), sample=1)
    for tile, row, column in np.ndindex(stack.values.shape):
        position = stack.position(tile, row, column)
        assert tensor[1][position].item() == stack.value_at(tile, row, column)


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_one_sample_is_not_copied(capture, layout):
    tensor = steps(2, 3, 4, 5).contiguous(memory_format=layout)
    stack = maps_of(capture(tensor), sample=1)
    assert stack.values.ctypes.data == tensor[1].data_ptr()
    assert stack.values.tolist() == tensor[1].tolist()


def test_a_value_is_read_in_its_own_type(capture):
    big = 2**62 + 1
    assert maps_of(capture([[[[big, 0]]]])).value_at(0, 0, 0) == big
    assert maps_of(capture([[[[True, False]]]])).value_at(0, 0, 1) == 0


def test_a_stack_made_by_hand_has_positions_too():
    stack = TileStack(np.zeros((6, 2, 3)), ("channel", "depth"), (2, 3))
    assert stack.position(4, 1, 2) == (1, 1, 1, 2)
