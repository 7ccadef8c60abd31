"""Whatever numbers a tensor is made of, what is recorded of it has the same bits."""

import pytest
import torch
from torch import nn

FLOATS = [torch.bfloat16, torch.half, torch.float, torch.double]
SMALL_FLOATS = [
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
]
COMPLEX = [torch.complex32, torch.complex64, torch.complex128]
WHOLE = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]
X = torch.tensor([0.0, 1.0, 2.0, 0.3, 5.7, 127.0])
FACTORS = torch.tensor([1.0, 2.0, 4.0, 0.5, 8.0, 1.0])
PARAMETERS = ("parameter", "parameter_gradient")
EVERYTHING = ("input", "output", "grad_input", "grad_output", *PARAMETERS)


@pytest.fixture
def passed(record, around, does):
    """``passed(make)``: the run of a module that makes something of ``X``, and two that take it."""

    def passed(make, given=X, **options):
        parts = nn.ModuleList([does(make), does(lambda y: y.clone()), does(lambda y: None)])
        net = around(parts, lambda parts, x: (parts[2](parts[1](parts[0](x))), x * 1)[1])
        return record(net, given, ["body.0", "body.1", "body.1/clone", "body.2"], **options)

    return passed


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", [*FLOATS, *SMALL_FLOATS, *COMPLEX, *WHOLE])
@pytest.mark.parametrize("target", [None, lambda output: output.sum()])
def test_values_have_the_bits_that_the_model_saw(passed, dtype, target):
    run = passed(lambda x: x.to(dtype), target=target)
    expected = X.to(dtype)
    recorded = [
        run["body.0"].output,
        run["body.1"].input,
        run["body.1/clone"].input,
        run["body.1/clone"].output,
        run["body.1"].output,
        run["body.2"].input,
    ]
    for tensor in recorded:
        assert (tensor.dtype, tensor.shape) == (dtype, expected.shape)
        assert torch.equal(bits(tensor), bits(expected))


def test_a_nan_keeps_its_bits_and_a_zero_its_sign(passed):
    odd = torch.tensor([0x7FC00123, -0x80000000, 0x7F800000], dtype=torch.int32)
    run = passed(lambda x: odd.view(torch.float))
    assert torch.equal(run["body.0"].output.view(torch.int32), odd)
    assert torch.equal(run["body.2"].input.view(torch.int32), odd)


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_and_truths_are_not_differentiable(passed, dtype):
    run = passed(lambda x: x.to(dtype))
    name = str(dtype).removeprefix("torch.")
    for path in ("body.0", "body.1", "body.1/clone"):
        assert run[path].absence("grad_output") == f"not differentiable ({name})"
    for path in ("body.1", "body.1/clone", "body.2"):
        assert run[path].absence("grad_input") == f"not differentiable ({name})"
    assert run["body.0"].absence("grad_input") == "no path to the target"


@pytest.mark.parametrize("dtype", [*FLOATS, *SMALL_FLOATS])
def test_gradients_have_the_dtype_of_their_values(record, around, does, dtype):
    net = around(does(lambda x: x.to(dtype)), lambda body, x: body(x).to(torch.float) * FACTORS)
    run = record(net, X, ["body", "input:0"])
    assert run["body"].grad_output.dtype == dtype
    assert torch.equal(bits(run["body"].grad_output), bits(FACTORS.to(dtype)))
    assert torch.equal(run["input:0"].grad_output, FACTORS)
    assert torch.equal(run["body"].grad_input, FACTORS)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_a_complex_value_has_the_gradient_of_both_its_parts(record, around, does, dtype):
    net = around(does(lambda x: x.to(dtype)), lambda body, x: torch.view_as_real(body(x)))
    weights = torch.tensor([3.0, 5.0])
    node = record(net, X, "body", target=lambda output: (output * weights).sum())["body"]
    assert torch.equal(node.grad_output, torch.full((6,), 3 + 5j, dtype=dtype))
    assert torch.equal(node.grad_input, torch.full((6,), 3.0))


@pytest.mark.parametrize(
    "read",
    [
        lambda z: z.conj(),
        lambda z: z.conj().imag,
        lambda z: z.conj().real,
        torch.view_as_real,
        lambda z: torch.view_as_real(z)[..., 1],
    ],
)
def test_other_readings_of_complex_memory_have_their_values_and_numpy_can_take_them(passed, read):
    given = torch.complex(X, X + 1)
    output = passed(lambda x: read(torch.complex(x, x + 1)))["body.0"].output
    assert torch.equal(output, read(given))
    assert output.numpy().tolist() == read(given).tolist()


def test_a_complex_value_that_only_its_size_is_used_of_has_gradients(record, around, does):
    """d|z|/dz is z/|z|, in torch's convention."""
    net = around(does(lambda x: torch.fft.fft2(x).conj()), lambda body, x: body(x).abs())
    node = record(net, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "body")["body"]
    assert node.output.tolist() == [[10, -2], [-4, 0]]
    assert node.grad_output.tolist() == [[1, -1], [-1, 0]]
    assert not node.output.is_conj()


QUANTIZED = {
    "by tensor": lambda x: torch.quantize_per_tensor(x.detach(), 0.1, 3, torch.qint8),
    "without sign": lambda x: torch.quantize_per_tensor(x.detach(), 0.1, 3, torch.quint8),
    "wide": lambda x: torch.quantize_per_tensor(x.detach(), 0.1, 3, torch.qint32),
    "by channel": lambda x: torch.quantize_per_channel(
        x.detach().view(2, 3), torch.tensor([0.1, 0.5]), torch.tensor([3, 0]), 0, torch.qint8
    ),
}


@pytest.mark.parametrize("kind", QUANTIZED)
def test_quantized_values_stay_quantized(passed, kind):
    run = passed(QUANTIZED[kind])
    expected = QUANTIZED[kind](X)
    for tensor in (run["body.0"].output, run["body.2"].input):
        assert tensor.dtype == expected.dtype
        assert tensor.qscheme() == expected.qscheme()
        assert torch.equal(tensor.int_repr(), expected.int_repr())
        assert torch.equal(tensor.dequantize(), expected.dequantize())
    name = str(expected.dtype).removeprefix("torch.")
    assert run["body.0"].absence("grad_output") == f"not differentiable ({name})"
    assert run["body.2"].absence("grad_input") == f"not differentiable ({name})"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.half])
def test_parameters_of_low_precision_have_their_values_and_gradients(record, dtype):
    net = nn.Linear(2, 1, bias=False, dtype=dtype)
    nn.init.constant_(net.weight, 0.3)
    node = record(net, torch.tensor([[1.0, 2.0]], dtype=dtype), "", quantities=PARAMETERS)[""]
    assert torch.equal(node.parameters["weight"], torch.full((1, 2), 0.3, dtype=dtype))
    assert node.parameter_gradients["weight"].dtype == dtype
    assert node.parameter_gradients["weight"].tolist() == [[1, 2]]


def test_autocast_is_seen_as_it_computes(record, around):
    def call(body, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return body(x)

    body = nn.Linear(2, 1, bias=False)
    nn.init.constant_(body.weight, 0.3)
    node = record(around(body, call), torch.ones(1, 2), "body", quantities=EVERYTHING)["body"]
    rounded = torch.tensor(0.3).bfloat16()
    assert torch.equal(node.output, (rounded + rounded).view(1, 1))
    assert (node.input.dtype, node.grad_output.dtype) == (torch.float, torch.bfloat16)
    assert node.grad_input.tolist() == [[rounded.item()] * 2]
    assert node.parameters["weight"].dtype == torch.float
    assert node.parameter_gradients["weight"].tolist() == [[1, 1]]
