"""Which calls are operations, and what they are called."""

import pytest
import torch
import torchvision
from torch import nn
from torch.nn import functional

from hookviewer.engine.globs import ALL
from hookviewer.engine.plan import Inputs

BOXES = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]])
SCORES = torch.tensor([0.5, 0.9, 0.7])
X = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])

ONE_CALL = {
    "add": lambda x: x + 1,
    "add_": lambda x: x.add_(1),
    "sub": lambda x: x - 1,
    "rsub": lambda x: 1 - x,
    "rdiv": lambda x: 1 / x,
    "rpow": lambda x: 2**x,
    "neg": lambda x: -x,
    "abs": abs,
    "getitem": lambda x: x[:, 1:],
    "cat": lambda x: torch.cat([x, x]),
    "flatten": lambda x: x.flatten(),
    "view": lambda x: x.view(3, 2),
    "matmul": lambda x: x @ X.T,
    "mul": lambda x: torch.ops.aten.mul.Tensor(x, 2),
    "einsum": lambda x: torch.einsum("ij,ij->i", x, x),
    "linear": lambda x: functional.linear(x, X),
    "softmax": lambda x: functional.softmax(x, -1),
    "zeros_like": torch.zeros_like,
    "to": lambda x: x.to(torch.float32),
    "float": lambda x: x.float(),
    "type": lambda x: x.type(torch.float64),
}
IN_PLACE_OPERATORS = {
    "add_": "__iadd__",
    "sub_": "__isub__",
    "mul_": "__imul__",
    "div_": "__itruediv__",
    "and_": "__iand__",
    "or_": "__ior__",
    "xor_": "__ixor__",
}
NO_OPERATIONS = {
    "T": lambda x: x.T,
    "shape": lambda x: (x.shape, x)[1],
    "size": lambda x: (x.size(0), x)[1],
    "dim": lambda x: (x.dim(), x.ndim, len(x), x)[-1],
    "numel": lambda x: (x.numel(), torch.numel(x), x)[-1],
    "tolist": lambda x: (x.tolist(), x)[1],
    "is_floating_point": lambda x: (x.is_floating_point(), torch.is_tensor(x), x)[-1],
    "assert": lambda x: (torch._assert(True, "never"), x)[1],
    "equal": lambda x: (torch.equal(x, x), torch.allclose(x, x), x)[-1],
    "text": lambda x: (str(x), repr(x), hash(x), x)[-1],
    "zeros": lambda x: (torch.zeros(2), torch.tensor(1.0), torch.arange(3), x)[-1],
}


class Own(nn.Module):
    """A childless module of the user's, that calls ``relu``."""

    def forward(self, x):
        return functional.relu(x)


@pytest.fixture
def operations(record):
    """``operations(model, *inputs)``: the paths of all operations, in order of first calls."""

    def operations(model, given):
        run = record(model, given, [], target=None, survey=True)
        return [operation.path for operation in run.operations]

    return operations


@pytest.mark.parametrize("name", ONE_CALL)
def test_an_operation_has_the_name_of_its_function(record, operations, name):
    function = ONE_CALL[name]
    assert operations(function, X) == [f"/{name}"]
    run = record(function, X, f"/{name}", target=None)
    assert torch.equal(run[f"/{name}"].output, function(X.clone()))


@pytest.mark.parametrize("name", IN_PLACE_OPERATORS)
def test_python_s_in_place_operators_have_the_names_of_torch_s(operations, name):
    given = torch.tensor([True, False]) if name in ("and_", "or_", "xor_") else X
    assert operations(lambda x: getattr(x, IN_PLACE_OPERATORS[name])(x), given) == [f"/{name}"]


@pytest.mark.parametrize("is_in_place", [True, False])
def test_a_functional_relu_is_relu_in_place_or_not(record, is_in_place):
    run = record(lambda x: functional.relu(x, inplace=is_in_place), X, "/relu", target=None)
    assert run["/relu"].output.tolist() == [[1, 0, 3], [0, 5, 0]]
    assert torch.equal(run["/relu"].calls[0].inputs["0"], X)


@pytest.mark.parametrize("name", NO_OPERATIONS)
def test_what_computes_no_tensor_of_tensors_is_no_operation(operations, name):
    assert operations(NO_OPERATIONS[name], X) == []


def test_a_call_that_gives_no_tensor_is_recorded_nowhere(record):
    def comparing(x):
        return x * 2 if torch.equal(x, x) else x

    run = record(comparing, X, [ALL, "/equal"])
    assert run["/equal"].calls == ()
    assert run["/equal"].absence("input") == run["/equal"].absence("output") == "not called"
    run = record(comparing, X, ALL)
    assert {tap.path for tap in run.taps} == {"", "/mul", "input:0"}


def test_item_is_no_operation(operations):
    assert operations(lambda x: x * x[0, 0].item(), X) == ["/getitem", "/mul"]


def test_a_comparison_asked_for_its_truth_is_the_comparison_only(operations):
    assert operations(lambda x: x if x.sum() > 0 else x.T, X) == ["/sum", "/gt"]


def test_setting_elements_has_the_changed_tensor_as_output(record):
    def set_one(x):
        x[0, 0] = 7.0
        return x

    run = record(set_one, X, "/setitem", target=None)
    assert run["/setitem"].output.tolist() == [[7, -2, 3], [-4, 5, -6]]
    assert torch.equal(run["/setitem"].calls[0].inputs["0"], X)
    assert torch.equal(run.output, run["/setitem"].output)


def test_setting_elements_to_a_tensor_shows_both_as_inputs(record):
    def set_row(x, row):
        y = x * 1
        y[0] = row
        return y

    call = record(set_row, Inputs(X, torch.zeros(3)), "/setitem", target=None)["/setitem"].calls[0]
    assert sorted(call.inputs) == ["0", "2"]
    assert call.outputs["0"].tolist() == [[0, 0, 0], [-4, 5, -6]]


def test_every_tensor_of_a_tuple_is_a_leaf(record):
    (split,) = record(lambda x: x.split([1, 2], 1), X, "/split", target=None)["/split"].calls
    assert {leaf: value.tolist() for leaf, value in split.outputs.items()} == {
        "0": [[1], [-4]],
        "1": [[-2, 3], [5, -6]],
    }


def test_a_maximum_along_an_axis_has_its_values_and_where_they_were(record):
    (call,) = record(lambda x: x.max(1), X, "/max", target=None)["/max"].calls
    assert [value.tolist() for value in call.outputs.values()] == [[3, 5], [2, 1]]


def test_a_maximum_of_everything_has_one_value(record):
    assert record(lambda x: x.max(), X, "/max", target=None)["/max"].output.item() == 5


def test_keyword_arguments_are_leaves_by_name(record):
    run = record(lambda x: torch.add(input=x, other=2 * x, alpha=3), X, "/add", target=None)
    (call,) = run["/add"].calls
    assert sorted(call.inputs) == ["input", "other"]
    assert torch.equal(call.inputs["other"], 2 * X)
    assert torch.equal(call.outputs["0"], 7 * X)


def test_tensors_inside_a_list_are_leaves_by_index(record):
    (call,) = record(lambda x: torch.cat([x, 2 * x]), X, "/cat", target=None)["/cat"].calls
    assert sorted(call.inputs) == ["0/0", "0/1"]
    assert torch.equal(call.inputs["0/1"], 2 * X)


def test_where_takes_three_tensors(record):
    run = record(lambda x: torch.where(x > 0, x, -x), X, ["/where"], target=None)
    (call,) = run["/where"].calls
    assert sorted(call.inputs) == ["0", "1", "2"]
    assert torch.equal(call.outputs["0"], X.abs())


def test_torchvision_s_own_functions_are_operations(record):
    run = record(lambda x: torchvision.ops.nms(x, SCORES, 0.5), BOXES, "/nms", target=None)
    assert run["/nms"].output.tolist() == [1, 2]  # the second box hides the first, by its score
    maps = torch.arange(16.0).reshape(1, 1, 4, 4)
    boxes = torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]])
    run = record(
        lambda x: torchvision.ops.roi_align(x, boxes, 1, sampling_ratio=4, aligned=True),
        maps,
        "/roi_align",
        target=None,
    )
    assert run["/roi_align"].output.item() == 7.5


def test_what_runs_inside_an_operation_is_none(operations):
    attention = nn.MultiheadAttention(4, 2)
    sequence = torch.ones(3, 1, 4)
    assert operations(attention, Inputs(sequence, sequence, sequence)) == [
        "/multi_head_attention_forward"
    ]
    assert operations(lambda x: torch.einsum("ij,kj->ik", x, x), X) == ["/einsum"]


def test_what_torch_s_own_childless_modules_call_are_no_operations(operations):
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Softmax(-1), nn.Flatten())
    assert operations(net, X) == []


def test_a_subclass_of_torch_s_with_its_forward_makes_no_operations(operations):
    class Named(nn.ReLU):
        """Only another name."""

    assert operations(nn.Sequential(Named()), X) == []


def test_what_a_user_s_childless_module_calls_are_operations(operations):
    assert operations(nn.Sequential(Own(), nn.ReLU()), X) == ["0/relu"]


def test_a_user_s_forward_in_a_subclass_of_torch_s_makes_operations(operations):
    class Leaky(nn.ReLU):
        def forward(self, x):
            return super().forward(x) + 0.1 * x

    assert set(operations(nn.Sequential(Leaky()), X)) == {"0/relu", "0/mul", "0/add"}


def test_a_custom_function_is_no_operation_and_its_inside_neither(operations):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    assert operations(Doubled.apply, X) == []


def test_a_survey_tells_where_each_operation_is_called(record):
    run = record(Own(), X, [], target=None, survey=True)
    (relu,) = run.operations
    line = Own.forward.__code__.co_firstlineno + 1
    assert (relu.source, relu.shapes) == (f"test_operations.py:{line}", ((2, 3),))
