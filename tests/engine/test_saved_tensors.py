"""The tensors of an opened run are those that were saved, of whatever kind."""

import math

import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.run import Run
from hookviewer.engine.run_file import open_run


@pytest.fixture
def returned(tmp_path):
    """``returned(output)``: the output of a run that was saved and opened."""

    def returned(output):
        Run(frozenset(), output=output).save(tmp_path / "run.safetensors")
        return open_run(tmp_path / "run.safetensors").output

    return returned


def bytes_of(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).tolist()


def plain_tensors():
    square = torch.arange(16.0).reshape(4, 4)
    yield from (square, square.t(), square[1:], square[:, ::2], square[0], square.expand(2, 4, 4))
    yield torch.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)
    yield from (torch.tensor(3.5), torch.empty(0, 3), torch.empty(3, 0).t(), torch.tensor(True))
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        yield torch.tensor([[0, 1, 1]], dtype=dtype)
    yield torch._neg_view(torch.tensor([1.0, -2.0]))
    yield torch.tensor([0, 65535], dtype=torch.uint16)
    yield torch.tensor([0, 2**64 - 1], dtype=torch.uint64)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        yield torch.tensor([math.nan, math.inf, -math.inf, -0.0, 1 / 3], dtype=dtype)
    for dtype in (torch.complex64, torch.complex128):
        numbers = torch.tensor([1 + 2j, complex(math.inf, -0.0), 3j], dtype=dtype)
        yield from (numbers, numbers[::2], numbers.conj(), numbers.conj().imag, numbers[0])
        yield torch.empty(0, 2, dtype=dtype)


@pytest.mark.parametrize("tensor", [*plain_tensors()], ids=lambda t: f"{t.dtype} {[*t.shape]}")
def test_tensors_come_back_bit_by_bit(returned, tensor):
    back = returned(tensor)
    assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
    assert bytes_of(back) == bytes_of(tensor.resolve_conj().resolve_neg())
    assert tensor.isnan().any() or torch.equal(back, tensor)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.float8_e4m3fnuz,
        torch.float8_e5m2fnuz,
        torch.float8_e8m0fnu,
        torch.float4_e2m1fn_x2,
    ],
)
def test_small_floats_come_back_bit_by_bit(returned, dtype):
    tensor = torch.arange(256, dtype=torch.uint8).reshape(16, 16).view(dtype)
    back, turned, single, empty = returned((tensor, tensor.t(), tensor[3, 4], tensor[:0]))
    assert (back.dtype, back.shape) == (dtype, tensor.shape)
    assert bytes_of(back) == list(range(256))
    assert bytes_of(turned.t()) == list(range(256))
    assert (single.shape, bytes_of(single)) == ((), [3 * 16 + 4])
    assert (empty.shape, empty.dtype) == ((0, 16), dtype)


def test_the_bits_of_a_nan_are_kept(returned):
    bits = torch.tensor([0x7FC00001, 0x7F800002, -1], dtype=torch.int32)
    assert returned(bits.view(torch.float32)).view(torch.int32).tolist() == bits.tolist()


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "bsc"])
def test_compressed_sparse_tensors_come_back(returned, kind):
    dense = torch.tensor([[0.0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]])
    block = {"blocksize": (2, 2)} if kind.startswith("b") else {}
    tensor = getattr(dense, f"to_sparse_{kind}")(**block)
    back = returned(tensor)
    assert back.layout is getattr(torch, f"sparse_{kind}")
    assert torch.equal(back.to_dense(), dense)
    assert torch.equal(back.values(), tensor.values())


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_sparse_tensors_come_back_coalesced_or_not(returned, dtype):
    indices, values = torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([3, 4, 5], dtype=dtype)
    tensor = torch.sparse_coo_tensor(indices, values, (2, 3))
    loose, tidy = returned([tensor, tensor.coalesce()])
    assert (loose.is_coalesced(), tidy.is_coalesced()) == (False, True)
    assert torch.equal(loose._values(), values)
    assert tidy.to_dense().tolist() == [[0, 0, 3], [9, 0, 0]]
    assert tidy.dtype == dtype


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_come_back(returned, layout):
    parts = [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])]
    back = returned(torch.nested.nested_tensor(parts, layout=layout))
    assert (back.is_nested, back.layout) == (True, layout)
    assert [part.tolist() for part in back.unbind()] == [[[1, 2]], [[3, 4], [5, 6]]]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_of_nothing_comes_back(returned):
    back = returned(torch.nested.nested_tensor([], dtype=torch.float64))
    assert (back.is_nested, back.dtype, back.size(0)) == (True, torch.float64, 0)


@pytest.mark.filterwarnings("ignore:.*quantiz")
@pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32])
def test_quantized_tensors_come_back(returned, dtype):
    values = torch.tensor([[0.5, 1.0, -1.5], [2.0, 0.0, 1.0]])
    tensor = torch.quantize_per_tensor(values, 0.1, 20, dtype)
    back = returned(tensor)
    assert back.dtype == dtype
    assert (back.q_scale(), back.q_zero_point()) == (0.1, 20)
    assert torch.equal(back.int_repr(), tensor.int_repr())


@pytest.mark.filterwarnings("ignore:.*quantiz")
@pytest.mark.parametrize("zero_points", [torch.tensor([1, 2, 3]), torch.tensor([1.0, 2.5, 3.0])])
def test_tensors_quantized_by_channel_come_back(returned, zero_points):
    values, scales = torch.tensor([[0.5, 1.0, 1.5], [2.0, 0.0, 1.0]]), torch.tensor([0.1, 0.2, 0.3])
    tensor = torch.quantize_per_channel(values, scales, zero_points, 1, torch.quint8)
    back = returned(tensor)
    assert (back.q_per_channel_axis(), back.qscheme()) == (1, tensor.qscheme())
    assert torch.equal(back.q_per_channel_scales(), tensor.q_per_channel_scales())
    assert back.q_per_channel_zero_points().tolist() == zero_points.tolist()
    assert torch.equal(back.int_repr(), tensor.int_repr())


def test_a_tensor_without_values_comes_back_without_values(returned):
    back = returned(torch.empty(2, 3, dtype=torch.float16, device="meta"))
    assert (back.is_meta, back.shape, back.dtype) == (True, (2, 3), torch.float16)


def test_parameters_and_subclasses_come_back_as_tensors(returned):
    class Named(torch.Tensor):
        pass

    back = returned(
        (torch.nn.Parameter(torch.tensor([1.0])), torch.tensor([2.0]).as_subclass(Named))
    )
    assert [(type(each), each.requires_grad, each.item()) for each in back] == [
        (torch.Tensor, False, 1),
        (torch.Tensor, False, 2),
    ]


def test_a_tensor_that_computes_by_itself_cannot_be_saved(tmp_path):
    class Own(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return args[0]

    with pytest.raises(HookviewerError, match=r"no file can hold 'output/a' \(Own, float32, stri"):
        Run(frozenset(), output={"a": Own()}).save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:.*quantiz")
def test_a_tensor_quantized_to_four_bits_cannot_be_saved(tmp_path):
    scales, zero_points = torch.tensor([0.1, 0.2]), torch.tensor([0.0, 1.0])
    output = torch.quantize_per_channel(torch.ones(2, 4), scales, zero_points, 0, torch.quint4x2)
    with pytest.raises(HookviewerError, match=r"'output' \(Tensor, quint4x2, strided\)"):
        Run(frozenset(), output=output).save(tmp_path / "run")


def test_a_tensor_of_unknown_layout_cannot_be_saved(tmp_path):
    output = torch.zeros(2, 2).to_mkldnn()
    with pytest.raises(HookviewerError, match=r"'output' \(Tensor, float32, _mkldnn\)"):
        Run(frozenset(), output=output).save(tmp_path / "run")


def test_views_of_one_memory_come_back_apart(returned):
    tensor = torch.tensor([1.0, 2.0])
    first, second = returned((tensor, tensor[:]))
    first.fill_(5)
    assert second.tolist() == [1, 2]
