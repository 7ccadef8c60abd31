import numpy as np
import pytest
import torch

from hookviewer.engine.plan import Quantity
from hookviewer.render.tiles import filters_of


def steps(*shape):
    return torch.arange(float(np.prod(shape))).reshape(shape)


def test_first_layer_kernels_are_colour_tiles(capture):
    weight = steps(2, 3, 4, 5)
    stack = filters_of(capture(weight, Quantity.PARAMETER))
    assert stack.is_color
    assert (stack.axes, stack.values.shape) == (("filter",), (2, 4, 5, 3))
    assert stack.value_at(1, 2, 3) == tuple(weight[1, :, 2, 3].tolist())
    assert stack.position(1, 2, 3) == (1, 2, 3)


@pytest.mark.parametrize("inputs", [2, 4, 5])
def test_other_kernels_are_a_tile_per_input_channel_and_a_row_per_filter(capture, inputs):
    weight = steps(3, inputs, 2, 3)
    stack = filters_of(capture(weight))
    assert not stack.is_color
    assert (stack.axes, stack.columns) == (("filter", "input channel"), inputs)
    assert stack.index_of(inputs + 1) == (1, 1)
    assert stack.values[inputs + 1].tolist() == weight[1, 1].tolist()


def test_depthwise_kernels_are_a_tile_per_filter(capture):
    stack = filters_of(capture(steps(6, 1, 2, 3)))
    assert (stack.axes, stack.indices_shape, stack.columns) == (("filter",), (6,), None)
    assert stack.position(4, 1, 2) == (4, 0, 1, 2)


@pytest.mark.parametrize("inputs", [1, 3, 5])
def test_kernels_of_one_pixel_are_one_matrix(capture, inputs):
    weight = steps(2, inputs, 1, 1)
    stack = filters_of(capture(weight))
    assert stack.values.tolist() == [weight[:, :, 0, 0].tolist()]
    assert (stack.axes, stack.pixel_axes) == ((), ("filter", "input channel"))
    assert stack.position(0, 1, inputs - 1) == (1, inputs - 1, 0, 0)


def test_a_matrix_is_one_tile_of_outputs_down_and_inputs_across(capture):
    stack = filters_of(capture(steps(2, 3)))
    assert stack.values.tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert (stack.pixel_axes, stack.position(0, 1, 2)) == (("output", "input"), (1, 2))


def test_one_dimensional_kernels_are_a_tile_per_filter(capture):
    weight = steps(2, 3, 4)
    stack = filters_of(capture(weight))
    assert stack.values.tolist() == weight.tolist()
    assert (stack.axes, stack.pixel_axes) == (("filter",), ("input channel", "place"))
    assert stack.position(1, 2, 3) == (1, 2, 3)


def test_kernels_that_only_reach_through_time_are_a_tile_per_filter(capture):
    stack = filters_of(capture(steps(2, 3, 4, 1, 1)))
    assert stack.values.tolist() == steps(2, 3, 4).tolist()
    assert stack.position(1, 2, 3) == (1, 2, 3, 0, 0)


def test_kernels_of_volumes_are_a_tile_per_slice(capture):
    weight = steps(2, 3, 4, 2, 5)
    stack = filters_of(capture(weight))
    assert (stack.axes, stack.columns) == (("filter", "input channel", "depth"), 12)
    assert stack.index_of(17) == (1, 1, 1)
    assert stack.values[17].tolist() == weight[1, 1, 1].tolist()


def test_kernels_of_volumes_with_one_input_need_no_index_for_it(capture):
    stack = filters_of(capture(steps(2, 1, 4, 2, 5)))
    assert (stack.axes, stack.indices_shape) == (("filter", "depth"), (2, 4))
    assert (stack.columns, stack.position(5, 1, 3)) == (4, (1, 0, 1, 1, 3))


def test_a_bias_is_a_tile_per_channel(capture):
    stack = filters_of(capture([1.0, 2.0, 3.0]))
    assert stack.values.tolist() == [[[1]], [[2]], [[3]]]
    assert (stack.axes, stack.position(2, 0, 0)) == (("channel",), (2,))


def test_a_counter_is_one_pixel(capture):
    assert filters_of(capture(5)).value_at(0, 0, 0) == 5


@pytest.mark.parametrize(
    "shape", [(0,), (0, 3), (0, 3, 2, 2), (2, 3, 0, 2), (2, 0, 3, 3), (2, 5, 0), (2, 2, 0, 1, 1)]
)
def test_an_empty_parameter_has_no_tiles(capture, shape):
    assert filters_of(capture(torch.empty(shape))).count == 0
