"""The examples that come with hookviewer, run by the engine: the numbers are worked out by hand."""

import pytest
import torch
from torch import nn

from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Intervention, Plan, Quantity, Tap
from hookviewer.inputs import read_input
from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of
from hookviewer.sources import load
from hookviewer.targets import cross_entropy, whole

LEAVES = ("input:0", "input:1", "input:2")
DOUBLED = Intervention(backward=lambda gradient: 2 * gradient)
EVERYTHING = [quantity for quantity in Quantity if quantity is not Quantity.ATTENTION]


@pytest.fixture
def record():
    """Run an example with these quantities of these nodes."""

    def record(name, at, quantities, target, **plan):
        file = path_of("examples", f"{name}.py")
        inputs = read_input(f"{file}:inputs", Preprocessing()).inputs
        taps = frozenset(Tap(path, quantity) for path in at for quantity in quantities)
        model = load(f"{file}:model").model
        return execute(model, Plan(taps, inputs, target=target, **plan))

    return record


def lists(run, quantity, *paths):
    return [getattr(run[path], quantity).tolist() for path in paths]


def test_tensors_that_belong_to_no_module_have_their_values(record):
    run = record("tensors", (*LEAVES, "/add", "/mul", "/sum"), [Quantity.OUTPUT], None)
    assert lists(run, "output", *LEAVES) == [[1, 2], [3, 4], [2]]
    assert lists(run, "output", "/add", "/mul", "/sum") == [[4, 6], [8, 12], 20]
    assert run.output.item() == 20


def test_leaves_and_what_is_between_them_and_the_sum_have_gradients(record):
    nodes = (*LEAVES, "/add", "/mul", "/sum")
    run = record("tensors", nodes, [Quantity.GRAD_OUTPUT], whole())
    assert run.score == 20
    assert lists(run, "grad_output", *LEAVES) == [[2, 2], [2, 2], [10]]
    assert lists(run, "grad_output", "/add", "/mul", "/sum") == [[2, 2], [1, 1], 1]


def test_a_gradient_doubled_at_the_addition_doubles_the_two_leaves_before_it_only(record):
    run = record(
        "tensors",
        (*LEAVES, "/add"),
        [Quantity.GRAD_OUTPUT],
        whole(),
        interventions={"/add": (DOUBLED,)},
    )
    assert lists(run, "grad_output", *LEAVES) == [[4, 4], [4, 4], [10]]
    assert lists(run, "grad_output", "/add") == [[2, 2]]  # what arrived, before it was doubled


def test_the_operations_of_plain_tensors_are_named_with_their_lines(record):
    run = record("tensors", [""], [Quantity.OUTPUT], None, survey=True)
    lines = path_of("examples", "tensors.py").read_text().splitlines()
    found = [(record.path, *record.source.split(":")) for record in run.operations]
    assert [(path, file, lines[int(line) - 1].strip()) for path, file, line in found] == [
        ("/add", "tensors.py", "c = a + b"),
        ("/mul", "tensors.py", "e = c * d"),
        ("/sum", "tensors.py", "return e.sum()"),
    ]


def test_the_examples_tensors_are_left_without_gradients():
    file = path_of("examples", "tensors.py")
    inputs = read_input(f"{file}:inputs", Preprocessing()).inputs
    taps = frozenset({Tap("input:0", Quantity.GRAD_OUTPUT)})
    execute(load(f"{file}:model").model, Plan(taps, inputs, target=whole()))
    assert [tensor.grad for tensor in inputs.args] == [None] * 3


def test_the_second_convolution_has_three_inputs_when_seen_backward(record):
    run = record("small_cnn", ["conv2"], EVERYTHING, cross_entropy(3))
    node = run["conv2"]
    assert node.input.shape == (1, 6, 16, 16)
    assert node.output.shape == node.grad_output.shape == (1, 9, 16, 16)
    assert node.grad_input.shape == (1, 6, 16, 16)
    gradients = {name: tuple(tensor.shape) for name, tensor in node.parameter_gradients.items()}
    assert gradients == {"weight": (9, 6, 3, 3), "bias": (9,)}


def test_the_gradients_of_the_small_cnn_are_those_of_plain_pytorch(record):
    file = path_of("examples", "small_cnn.py")
    run = record("small_cnn", ["conv2", "input:0"], EVERYTHING, cross_entropy(3))
    model = load(f"{file}:model").model
    (picture,) = read_input(f"{file}:inputs", Preprocessing()).inputs.args
    loss = nn.functional.cross_entropy(model(picture), torch.tensor([3]))
    loss.backward()
    assert run.score == pytest.approx(loss.item())
    torch.testing.assert_close(run["input:0"].grad_output, picture.grad)
    weight = run["conv2"].parameter_gradients["weight"]
    torch.testing.assert_close(weight, model.conv2.weight.grad)


def test_the_small_cnn_is_the_one_of_the_article():
    model = load(f"{path_of('examples', 'small_cnn.py')}:model").model
    steps = [(name, type(module).__name__) for name, module in model.named_children()]
    assert steps == [
        ("conv1", "Conv2d"),
        ("relu1", "ReLU"),
        ("pool1", "MaxPool2d"),
        ("conv2", "Conv2d"),
        ("relu2", "ReLU"),
        ("pool2", "MaxPool2d"),
        ("fc1", "Linear"),
        ("relu3", "ReLU"),
        ("fc2", "Linear"),
    ]
    assert model.fc1.weight.shape == (120, 576)
    assert model.fc2.weight.shape == (10, 120)


def test_opening_an_example_leaves_the_random_numbers_alone():
    before = torch.get_rng_state()
    file = path_of("examples", "small_cnn.py")
    first, second = (load(f"{file}:model").model for _ in range(2))
    assert torch.equal(first.conv1.weight, second.conv1.weight)
    assert torch.equal(torch.get_rng_state(), before)
