"""With every operation of a model recorded, it gives the very same bits and keeps no trace."""

import copy

import pytest
import torch
import torchvision
from torch import nn
from torch.nn import functional

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.globs import ALL
from hookviewer.engine.leaves import leaves
from hookviewer.engine.plan import Inputs


class Branches(nn.Module):
    """Joins branches, then writes to views of them."""

    def __init__(self):
        super().__init__()
        self.narrow, self.wide = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        narrow = functional.relu(self.norm(self.narrow(x)), inplace=True)
        y = torch.cat([narrow, self.wide(x), functional.max_pool2d(x, 3, 1, 1)], 1)
        y[:, 0] += 1
        y = y.flatten(1)
        y *= 0.5
        return y.view(len(y), -1, 2).mean(1)


class Cells(nn.Module):
    """Fills a buffer step by step."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        states = x.new_zeros(x.shape)
        state = torch.zeros_like(x[:, 0])
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            states[:, step] = state
        return states, state


def vit():
    net = torchvision.models.VisionTransformer(16, 4, 2, 2, 16, 32, num_classes=5)
    nn.init.normal_(net.heads.head.weight)
    return net


def encoder_layer():
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


def swin():
    return torchvision.models.SwinTransformer([4, 4], 8, [1, 1], [2, 2], [3, 3], num_classes=3)


PICTURES, SEQUENCES = (2, 3, 32, 32), (2, 5, 8)
MODELS = {
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=3), [(1, 3, 32, 32)]),
    "vision transformer": (vit, [(2, 3, 16, 16)]),
    "swin": (swin, [PICTURES]),
    "mobilenet": (lambda: torchvision.models.MobileNetV2(3, width_mult=0.1), [PICTURES]),
    "densenet": (lambda: torchvision.models.DenseNet(4, (2, 2), 8, num_classes=3), [PICTURES]),
    "branches": (Branches, [(2, 3, 6, 6)]),
    "cells": (Cells, [(2, 3, 4)]),
    "lstm": (lambda: nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True), [SEQUENCES]),
    "attention": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), [SEQUENCES] * 3),
    "encoder": (lambda: nn.TransformerEncoder(encoder_layer(), 2), [SEQUENCES]),
    "decoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1),
        [SEQUENCES, SEQUENCES],
    ),
}


def first_summed(output):
    return next(iter(leaves(output).values())).sum()


CASES = [(name, train) for name in MODELS for train in (False, True)]
CASES.remove(("resnet18", True))  # one picture of 32 pixels is too small for its last norm


@pytest.mark.parametrize(("name", "train"), CASES)
def test_a_model_gives_the_same_bits_with_every_operation_recorded(record, digest, name, train):
    torch.manual_seed(0)
    make, shapes = MODELS[name]
    net = make().train(train)
    given = [torch.randn(shape) for shape in shapes]
    before = digest(net)
    random = torch.get_rng_state()
    wanted = leaves(copy.deepcopy(net)(*(tensor.clone() for tensor in given)))
    torch.set_rng_state(random)

    run = record(net, Inputs(*given), ALL, target=first_summed, train=train)
    found = leaves(run.output)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[leaf], wanted[leaf]) for leaf in wanted)
    assert digest(net) == before


def test_the_sum_of_a_residual_block_is_what_its_parts_add_up_to(record):
    torch.manual_seed(0)
    block = torchvision.models.resnet.BasicBlock(4, 4)
    run = record(block, torch.randn(2, 4, 5, 5), ["/add_", "relu", "bn2"])
    (call,) = run["/add_"].calls
    assert torch.equal(call.inputs["0"], run["bn2"].output)
    assert torch.equal(call.outputs["0"], call.inputs["0"] + call.inputs["1"])
    assert torch.equal(call.grad_outputs["0"], run["relu"].calls[1].grad_inputs["0"])
    assert torch.equal(call.grad_inputs["0"], call.grad_outputs["0"])
    assert torch.equal(call.grad_inputs["1"], call.grad_outputs["0"])
    assert torch.equal(run["bn2"].grad_output, call.grad_outputs["0"])


ENDS = ["well", "forward", "backward", "cancel in forward", "cancel in backward"]


@pytest.mark.parametrize("way", ENDS)
def test_however_a_run_of_operations_ends_no_trace_is_left(record, ending, digest, way):
    net = ending(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True), nn.Dropout(0.5)), way)
    before = digest(net)
    try:
        record(net, torch.ones(3, 2), ALL, token=net.token, train=True)
        ended = True
    except (Cancelled, HookviewerError):
        ended = False
    assert ended == (way == "well")
    assert digest(net) == before


def test_a_run_of_operations_that_is_cancelled_before_it_begins_does_nothing(record, digest):
    token, net = CancelToken(), Branches()
    token.cancel()
    before = digest(net)
    with pytest.raises(Cancelled):
        record(net, torch.ones(2, 3, 6, 6), ALL, token=token)
    assert digest(net) == before
