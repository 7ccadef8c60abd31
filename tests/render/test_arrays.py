import numpy as np
import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.render.tiles import array_of

STEPS = torch.arange(24.0).reshape(2, 3, 4)


def test_an_array_shares_the_memory_of_its_capture(capture):
    tensor = STEPS.clone()
    assert array_of(capture(tensor)).ctypes.data == tensor.data_ptr()


def test_an_array_cannot_be_written_to(capture):
    with pytest.raises(ValueError, match="read-only"):
        array_of(capture(STEPS))[0, 0, 0] = 1


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint16]
)
def test_wide_numbers_stay_as_they_are(capture, dtype):
    array = array_of(capture(torch.tensor([1, 2]).to(dtype)))
    assert (array.dtype.name, array.tolist()) == (str(dtype).removeprefix("torch."), [1, 2])


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.half, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_short_floats_become_float32_exactly(capture, dtype):
    array = array_of(capture(torch.tensor([-0.375, 448.0, float("nan")]).to(dtype)))
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, [-0.375, 448, np.nan])


def test_a_bool_is_zero_or_one_without_a_copy(capture):
    tensor = torch.tensor([[True, False, True]])
    array = array_of(capture(tensor))
    assert (array.dtype, array.tolist()) == (np.uint8, [[1, 0, 1]])
    assert array.ctypes.data == tensor.data_ptr()


def test_a_complex_number_shows_its_magnitude(capture):
    array = array_of(capture(torch.tensor([3 + 4j, -5j])))
    assert (array.dtype, array.tolist()) == (np.float32, [5, 5])


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")  # torch says it once
def test_half_complex_conjugate_and_scalar_complex_numbers_are_read_too(capture):
    half = torch.tensor([3 + 4j]).to(torch.complex32)
    assert array_of(capture(half)).tolist() == [5]
    assert array_of(capture(torch.tensor([3 + 4j]).conj())).tolist() == [5]
    assert array_of(capture(torch.tensor(3 + 4j, dtype=torch.complex128))).tolist() == 5


def test_the_negative_view_of_a_conjugate_is_resolved(capture):
    assert array_of(capture(torch.tensor([3 + 4j]).conj().imag)).tolist() == [-4]


def test_sparse_values_stand_in_their_places(capture):
    sparse = torch.tensor([[0.0, 7.0, 0.0], [0.0, 0.0, 8.0]]).to_sparse()
    assert array_of(capture(sparse)).tolist() == [[0, 7, 0], [0, 0, 8]]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantized_values_are_what_they_stand_for(capture):
    quantized = torch.quantize_per_tensor(torch.tensor([-1.0, 0.5, 2.0]), 0.5, 3, torch.quint8)
    assert array_of(capture(quantized)).tolist() == [-1, 0.5, 2]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_nested_tensor_is_refused_with_a_sentence(capture):
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(HookviewerError, match="unequal length"):
        array_of(capture(nested))


@pytest.mark.parametrize(
    "strided",
    [
        torch.arange(60.0).reshape(1, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        torch.arange(60.0).reshape(5, 4, 3, 1).permute(3, 2, 1, 0),
        torch.arange(3.0).reshape(1, 3, 1, 1).expand(1, 3, 4, 5),
        torch.arange(120.0).reshape(1, 3, 4, 10)[..., ::2],
    ],
    ids=["channels last", "transposed", "expanded", "every other column"],
)
def test_values_are_read_by_index_whatever_the_strides(capture, strided):
    assert array_of(capture(strided)).tolist() == strided.tolist()
