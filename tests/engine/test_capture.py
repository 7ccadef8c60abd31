"""A shown value is the value that the tensor had at that point of that call."""

from collections import namedtuple
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from hookviewer.engine.plan import Inputs, Quantity

Pair = namedtuple("Pair", ["left", "right"])


@dataclass
class Found:
    boxes: Tensor
    note: str = ""


@dataclass(frozen=True, slots=True)
class Frozen:
    mask: Tensor


def linear(weight):
    module = nn.Linear(len(weight[0]), len(weight), bias=False)
    module.weight = nn.Parameter(torch.tensor(weight))
    return module


def convolution(weight):
    module = nn.Conv2d(1, 1, 1, bias=False)
    module.weight = nn.Parameter(torch.tensor([[[[weight]]]]))
    return module


def normalisation(weight):
    module = nn.BatchNorm2d(1, eps=0.0)
    module.weight = nn.Parameter(torch.tensor([weight]))
    return module


@pytest.mark.parametrize(
    ("module", "given"),
    [
        (linear([[-2.0, 0.0], [0.0, 3.0]]), torch.tensor([[1.0, 1.0]])),
        (convolution(-2.0), torch.tensor([[[[1.0, -1.5]]]])),
        (normalisation(-2.0), torch.tensor([[[[1.0, -1.5]]]])),
    ],
)
def test_a_relu_in_place_does_not_reach_back_into_what_was_recorded(record, module, given):
    run = record(nn.Sequential(module, nn.ReLU(inplace=True)), given, ["0", "1"], target=None)
    before = [-2.0, 3.0]
    assert run["0"].output.flatten().tolist() == before
    assert run["1"].input.flatten().tolist() == before
    assert run["1"].output.flatten().tolist() == [0.0, 3.0]


@pytest.mark.parametrize("module", [nn.LeakyReLU(0.5, inplace=True), nn.Hardtanh(0, 2, True)])
def test_the_input_is_recorded_before_the_module_writes_to_it(record, module):
    run = record(module, torch.tensor([-1.0, 4.0]), "", target=None)
    assert run[""].input.tolist() == [-1.0, 4.0]


def test_an_addition_in_place_does_not_change_what_was_recorded(record, residual, ones):
    run = record(residual, -ones, ["inner", "relu"])
    assert run["inner"].output.tolist() == [[-3.0, -3.0]]
    assert run["relu"].input.tolist() == [[-4.0, -4.0]]
    assert run.output.tolist() == [[0.0, 0.0]]


def test_keyword_inputs_are_recorded_by_name_before_the_module_writes_to_them(record, around, does):
    inner = does(lambda *, hidden, scale, mask=None: hidden.mul_(scale))
    net = around(inner, lambda body, x: body(hidden=x * 1, scale=2.0, mask=None))
    (call,) = record(net, torch.tensor([3.0]), "body")["body"].calls
    assert {leaf: value.tolist() for leaf, value in call.inputs.items()} == {"hidden": [3.0]}
    assert call.outputs["0"].tolist() == [6.0]


def test_positional_and_keyword_inputs_stand_side_by_side(record, around, does):
    net = around(does(lambda a, b, *, c: a + b + c), lambda body, x: body(x, 2 * x, c=3 * x))
    (call,) = record(net, torch.tensor([1.0]), "body")["body"].calls
    assert {leaf: value.item() for leaf, value in call.inputs.items()} == {"0": 1, "1": 2, "c": 3}


def test_every_call_of_a_reused_module_is_recorded_on_its_own(record, twice, ones):
    calls = record(twice, ones, "scale")["scale"].calls
    assert [call.inputs["0"].tolist() for call in calls] == [[[1, 1]], [[3, 3]]]
    assert [call.outputs["0"].tolist() for call in calls] == [[[2, 2]], [[6, 6]]]


def test_a_module_under_two_names_is_recorded_under_both(record, scale, ones):
    shared = scale(2.0)
    run = record(nn.Sequential(shared, shared), ones, ["0", "1"])
    for path in ("0", "1"):
        assert [call.outputs["0"].tolist() for call in run[path].calls] == [[[2, 2]], [[4, 4]]]


class Recursive(nn.Module):
    """Doubles, calls itself until ``depth`` is used up, and adds one; the last call may raise."""

    def __init__(self, *, raises=False):
        super().__init__()
        self.raises = raises

    def forward(self, x, depth):
        if depth == 0 and self.raises:
            raise ValueError("too deep")
        if depth == 0:
            return x + 1
        try:
            return self(x=x * 2, depth=depth - 1) + 1
        except ValueError:
            return x + 1


def values_of(calls, what):
    return [[value.item() for value in getattr(call, what).values()] for call in calls]


def test_a_module_that_calls_itself_keeps_its_calls_apart(record):
    run = record(Recursive(), Inputs(torch.tensor(1.0), 2), "")
    calls = run[""].calls
    assert [capture.call for capture in run.of(Quantity.OUTPUT, "")] == [0, 1, 2]
    assert values_of(calls, "inputs") == [[1], [2], [4]]
    assert values_of(calls, "outputs") == [[7], [6], [5]]


@pytest.mark.parametrize(
    "inputs", [Inputs(torch.tensor(1.0), 2), Inputs(x=torch.tensor(1.0), depth=2)]
)
def test_a_call_that_raised_inside_others_keeps_its_own_number(record, inputs):
    node = record(Recursive(raises=True), inputs, "")[""]
    assert values_of(node.calls, "inputs") == [[1], [2], [4]]
    assert values_of(node.calls, "outputs") == [[4], [3], []]
    assert node.absence("output", call=2) == "not run (stopped)"
    assert node.absence("grad_output", call=2) == "not run (stopped)"


def careful(body, x):
    try:
        return body(x)
    except ValueError:
        return body(x + 10)


def refuse_small(x):
    if x.item() < 5:
        raise ValueError("small")
    return x * 2


def test_a_call_that_raised_before_another_keeps_its_own_number(record, around, does):
    node = record(around(does(refuse_small), careful), torch.tensor(1.0), "body")["body"]
    assert values_of(node.calls, "inputs") == [[1], [11]]
    assert values_of(node.calls, "outputs") == [[], [22]]
    assert node.absence("output", call=0) == "not run (stopped)"
    assert node.calls[1].grad_outputs["0"].item() == 1


@pytest.fixture
def made(record, around, does):
    """``made(make, given)``: the node of a module that makes something which nobody uses."""

    def made(make, given):
        return record(around(does(make), lambda body, x: (body(x), x)[1]), given, "body")["body"]

    return made


@pytest.mark.parametrize(
    ("make", "leaves"),
    [
        (lambda x: x, ["0"]),
        (lambda x: (x, 2 * x), ["0", "1"]),
        (lambda x: [x, "text", 2 * x], ["0", "2"]),
        (lambda x: {"boxes": x, "labels": None}, ["boxes"]),
        (lambda x: Pair(x, 3), ["left"]),
        (lambda x: Found(x, "here"), ["boxes"]),
        (Frozen, ["mask"]),
        (lambda x: {"a\\": x, "b/": x}, ["a\\\\", "b\\/"]),
        (
            lambda x: [Found(x), {"a/b": (x, Pair(1, x))}],
            ["0/boxes", "1/a\\/b/0", "1/a\\/b/1/right"],
        ),
        (lambda x: x.max(dim=0), ["0", "1"]),
    ],
)
def test_every_tensor_inside_a_container_is_a_leaf(made, make, leaves):
    (call,) = made(make, torch.tensor([1.0, 2.0])).calls
    assert list(call.outputs) == leaves


@pytest.mark.parametrize("make", [lambda x: None, lambda x: (), lambda x: {"score": 3.0}])
def test_a_call_without_tensors_says_so(made, make):
    node = made(make, torch.tensor([1.0]))
    assert node.output is None
    assert node.absence("output") == "no tensors"
    assert node.absence("grad_output") == "no tensors"


def test_calls_that_return_nothing_are_counted_too(record, around, does):
    net = around(does(lambda x: None), lambda body, x: (body(x), body(x), x)[-1])
    node = record(net, torch.ones(1), "body", quantities=["output"])["body"]
    assert [dict(call.outputs) for call in node.calls] == [{}, {}]
    assert node.absence("output", call=1) == "no tensors"
    assert node.absence("output", call=2) == "not called"


def test_a_container_that_holds_itself_is_no_trouble(made):
    def make(x):
        circle = [2 * x]
        circle.append(circle)
        return circle

    assert list(made(make, torch.ones(1)).calls[0].outputs) == ["0"]


def test_a_branch_that_does_not_run_has_no_data_of_the_run_before(record, scale, around):
    net = around(scale(2.0), lambda body, x: body(x) if x.mean() > 0 else x * 1)
    assert record(net, torch.tensor(1.0), "body")["body"].output.item() == 2
    second = record(net, torch.tensor(-1.0), "body")["body"]
    assert (second.output, second.calls) == (None, ())
    for quantity in ("input", "output", "grad_input", "grad_output"):
        assert second.absence(quantity) == "not called"


@pytest.mark.parametrize(
    ("body", "reason"),
    [(lambda part: nn.ModuleList([part]), "container"), (nn.Sequential, "not called")],
)
def test_only_what_cannot_be_called_is_a_container(record, scale, body, reason, around):
    net = around(body(scale(2.0)), lambda body, x: body[0](x))
    run = record(net, torch.tensor(1.0), ["body", "body.0"])
    assert run["body"].absence("output") == reason
    assert run["body"].absence("grad_output") == reason
    assert run["body.0"].output.item() == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.t(),
        lambda x: x.expand(3, 2, 4),
        lambda x: x[:, ::2],
        lambda x: torch.complex(x, x).conj(),
        lambda x: x[:, :0],
        lambda x: x > 3,
        lambda x: x.to(torch.bfloat16),
        lambda x: x[0, 0],
    ],
)
def test_a_capture_has_the_values_and_the_dtype_whatever_the_layout(made, change):
    given = torch.arange(8.0).reshape(2, 4)
    output = made(change, given).output
    assert output.dtype == change(given).dtype
    assert torch.equal(output, change(given))


def test_captures_own_their_memory(record, chain, ones):
    run = record(chain, ones, ["", "0", "1", "2", "input:0"])
    places = [capture.tensor.untyped_storage().data_ptr() for capture in run.captures]
    assert len(set(places)) == len(places)
    assert not any(capture.tensor.requires_grad for capture in run.captures)


def test_the_users_own_hooks_act_first(record, scale):
    net = scale(2.0)
    net.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    net.register_forward_hook(lambda module, args, output: output + 100)
    node = record(net, torch.tensor(1.0), "")[""]
    assert (node.input.item(), node.output.item()) == (2, 104)


def test_an_input_node_holds_what_was_fed(record, residual, ones):
    run = record(residual, ones, ["input:0"])
    assert run["input:0"].output.tolist() == [[1, 1]]
    assert run["input:0"].absence("input") == "no tensors"


def test_input_nodes_of_keywords_and_containers_have_names_and_leaves(record, does):
    net = does(lambda x, *, extra: x + extra["a"] + extra["b"][0])
    extra = {"a": torch.tensor(1.0), "b": [torch.tensor(2.0)]}
    run = record(net, Inputs(torch.tensor(3.0), extra=extra), ["input:0", "input:extra"])
    assert list(run["input:extra"].calls[0].outputs) == ["a", "b/0"]
    assert run["input:0"].grad_output.item() == 1


def test_an_input_that_was_not_given_was_not_called(record, chain, ones):
    assert record(chain, ones, "input:mask")["input:mask"].absence("output") == "not called"


def test_a_tensor_that_is_given_twice_is_one_tensor_for_the_model(record, does):
    given = torch.ones(2)
    run = record(does(lambda a, b: a * (2 if a is b else 3)), Inputs(given, given), "input:1")
    assert run.output.tolist() == [2, 2]
    assert run["input:1"].grad_output.tolist() == [2, 2]


def test_any_callable_can_be_recorded(record):
    run = record(lambda a, b: (a + b) * 3, Inputs(torch.ones(2), torch.ones(2)), ["input:1"])
    assert run.output.tolist() == [6, 6]
    assert run["input:1"].grad_output.tolist() == [3, 3]
