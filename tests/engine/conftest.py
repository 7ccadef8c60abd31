"""A short way to carry out a plan, and modules that do what a function does."""

import pytest
import torch
from torch import nn

from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap

PER_CALL = (Quantity.INPUT, Quantity.OUTPUT, Quantity.GRAD_INPUT, Quantity.GRAD_OUTPUT)


def summed(output):
    """The target of most tests: the sum of the output, or of its first part."""
    while not isinstance(output, torch.Tensor):
        output = output[0]
    return output.sum()


class Does(nn.Module):
    """Does with its inputs what a function does."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class Around(nn.Module):
    """Calls ``body`` as a function decides."""

    def __init__(self, body, call):
        super().__init__()
        self.body, self.call = body, call

    def forward(self, *args, **kwargs):
        return self.call(self.body, *args, **kwargs)


@pytest.fixture
def does():
    """``does(function)``: a module that does with its inputs what ``function`` does."""
    return Does


@pytest.fixture
def around():
    """``around(body, call)``: a module that does ``call(body, input)``."""
    return Around


@pytest.fixture
def record():
    """``record(model, input, at=paths)``: run with all quantities of calls and a summed target."""

    def record(model, given, at, *, target=summed, quantities=PER_CALL, token=None, **options):
        inputs = given if isinstance(given, Inputs) else Inputs(given)
        paths = [at] if isinstance(at, str) else at
        taps = frozenset(Tap(path, Quantity(each)) for path in paths for each in quantities)
        return execute(model, Plan(taps, inputs, target, **options), token)

    return record
