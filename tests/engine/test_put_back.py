"""What the model's own forward writes, wherever it writes it, is put back."""

import numpy as np
import pytest
import torch
from torch import nn

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


EVERYTHING = (
    "input",
    "output",
    "grad_input",
    "grad_output",
    "parameter",
    "parameter_gradient",
)


class Writes(nn.Module):
    """Does to itself what a function says, and passes its input through a layer."""

    def __init__(self, write):
        super().__init__()
        self.layer, self.write = nn.Linear(2, 2), write
        self.register_buffer("kept", torch.zeros(2))
        self.register_buffer("whole", torch.tensor([1, 2]))
        self.register_buffer("unset", None)
        self.plain, self.numbers = torch.zeros(2), np.zeros(2)
        self.many = [torch.zeros(2), [1, 2, {"deep": torch.zeros(2)}]]
        self.empty, self.names = [], {"first", "second"}
        self.frozen_one = nn.Parameter(torch.zeros(2), requires_grad=False)

    def forward(self, x):
        y = self.layer(x)
        self.write(self, y)
        return y


@pytest.mark.parametrize(
    "write",
    [
        lambda net, y: net.kept.add_(1),
        lambda net, y: net.kept.data.add_(1),
        lambda net, y: net.kept.mul_(0.9).add_(y.sum()),
        lambda net, y: net.whole.data.fill_(3),
        lambda net, y: setattr(net.kept, "data", torch.ones(3)),
        lambda net, y: net.kept.resize_(7),
        lambda net, y: setattr(net, "kept", y[0]),
        lambda net, y: setattr(net, "unset", torch.ones(2)),
        lambda net, y: net.register_buffer("another", torch.ones(2)),
        lambda net, y: delattr(net, "kept"),
        lambda net, y: net.kept.requires_grad_(),
        lambda net, y: net.plain.add_(y[0]),
        lambda net, y: net.plain.data.add_(1),
        lambda net, y: net.numbers.__setitem__(0, 1),
        lambda net, y: net.many[0].add_(1),
        lambda net, y: net.many[1][2]["deep"].add_(y[0]),
        lambda net, y: net.many[1].append(3),
        lambda net, y: net.many[1][2].update(more=y),
        lambda net, y: net.many.reverse(),
        lambda net, y: net.empty.append(y),
        lambda net, y: net.names.add("third"),
        lambda net, y: setattr(net, "latest", y),
        lambda net, y: setattr(net, "layer", nn.Linear(2, 2)),
        lambda net, y: net.add_module("extra", nn.Linear(2, 2)),
        lambda net, y: net.register_parameter("extra", nn.Parameter(torch.ones(2))),
        lambda net, y: setattr(net.layer.weight, "data", torch.ones(2, 2)),
        lambda net, y: net.frozen_one.requires_grad_(),
        lambda net, y: net.requires_grad_(False),
        lambda net, y: net.train(not net.training),
        lambda net, y: net.register_forward_hook(lambda *_: None),
        lambda net, y: y.sum().backward(retain_graph=True),
        lambda net, y: (net.zero_grad(), y.sum().backward(retain_graph=True)),
        lambda net, y: setattr(net.layer.weight, "grad", torch.ones(2, 2)),
    ],
)
@pytest.mark.parametrize("train", [False, True])
def test_what_a_forward_writes_is_put_back(record, digest, write, train):
    net = Writes(write)
    net.layer.weight.grad = torch.full((2, 2), 5.0)
    before = digest(net)
    deep = (net.many[1], list(net.many[1]), dict(net.many[1][2]))
    record(net, X, ["", "layer"], train=train, quantities=EVERYTHING)
    record(net, X, ["", "layer"], train=train, quantities=EVERYTHING)
    assert digest(net) == before
    assert (net.many[1], list(net.many[1]), dict(net.many[1][2])) == deep
    tensors = [net.plain, net.kept, net.many[0], net.many[1][2]["deep"]]
    assert all(tensor.tolist() == [0, 0] and tensor.is_leaf for tensor in tensors)
    assert not any(tensor.requires_grad for tensor in tensors)
    assert net.numbers.tolist() == [0, 0]
    assert net.names == {"first", "second"}


@pytest.mark.parametrize(
    "write", [lambda weight: weight.add_(1), lambda weight: weight.data.add_(1)]
)
def test_parameters_written_to_in_train_mode_are_put_back(record, digest, write):
    @torch.no_grad()
    def change(net, y):
        write(net.frozen_one)

    net = Writes(change)
    before = digest(net)
    record(net, X, "layer", train=True)
    assert digest(net) == before


class Merging(nn.Linear):
    """Adds its low-rank part to the weight in eval mode and takes it away in train mode."""

    def __init__(self):
        super().__init__(2, 2)
        self.part, self.merged = nn.Parameter(torch.ones(2, 2)), False

    def train(self, mode=True):
        if self.merged == mode:
            self.weight.data += -self.part.data if mode else self.part.data
            self.merged = not mode
        return super().train(mode)


@pytest.mark.parametrize("train", [False, True])
def test_weights_merged_by_a_change_of_mode_are_taken_apart_again(record, digest, train):
    net = nn.Sequential(Merging()).train(not train)
    before = digest(net)
    record(net, X, "0", train=train)
    record(net, X, "0", train=not train)
    assert digest(net) == before


def test_what_was_returned_is_shown_though_it_was_put_back(record):
    def write(net, y):
        net.kept.add_(1)

    net = Writes(write)
    net.forward = lambda x: (write(net, x), net.kept)[1]
    assert record(net, X, "layer", target=None).output.tolist() == [1, 1]
    assert net.kept.tolist() == [0, 0]


@torch.inference_mode()
def write_in_inference_mode(net, y):
    net.plain.add_(1)
    net.kept.add_(1)


@pytest.mark.parametrize("write", [write_in_inference_mode, lambda net, y: None])
def test_tensors_made_in_inference_mode_are_no_trouble(record, digest, write):
    net = Writes(write)
    with torch.inference_mode():
        net.plain, net.kept = torch.zeros(2), torch.zeros(2)
    before = digest(net)
    record(net, X, "layer")
    assert digest(net) == before
    assert net.plain.tolist() == [0, 0]


@pytest.mark.parametrize("frozen", [False, True])
def test_a_buffer_that_is_handed_on_does_not_stay_in_the_graph(
    record, digest, around, does, scale, frozen
):
    net = around(nn.ModuleList([does(lambda: net.pos), scale(2.0)]), None)
    net.register_buffer("pos", torch.ones(2))
    net.call = lambda body, x: body[1](body[0]().mul(1)) * x
    net.requires_grad_(not frozen)
    before = digest(net)
    run = record(net, X, ["body.0", "body.1"])
    assert run["body.0"].grad_output.tolist() == [8, 4]  # 2 times the sums of the input's columns
    assert digest(net) == before


def test_a_tensor_that_belongs_to_nobody_does_not_stay_in_the_graph(record, around, does):
    constant = torch.ones(2)
    net = around(does(lambda: constant), lambda body, x: body() * x)
    assert record(net, X, "body")["body"].grad_output.tolist() == [4, 2]
    assert not constant.requires_grad
    assert constant._version == 0
