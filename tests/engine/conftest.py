"""A short way to carry out a plan, and modules that do what a function does."""

import pytest
import torch
from torch import nn

from hookviewer.engine.cancel import CancelToken
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


class Ending(nn.Module):
    """Ends the run in one of many ways, after ``net`` has left its traces."""

    def __init__(self, net, token):
        super().__init__()
        self.net, self.token, self.last_step = net, token, nn.Linear(2, 2)
        self.way = ""

    def forward(self, x):
        y = self.net(x)
        if self.way == "forward":
            raise RuntimeError("on purpose")
        if self.way == "cancel in forward":
            self.token.cancel()
        if self.way == "cancel in backward":
            y.register_hook(lambda gradient: self.token.cancel())
        if self.way == "backward":
            y.register_hook(lambda gradient: gradient.no_such_thing)
        return self.last_step(y)


@pytest.fixture
def ending():
    """``ending(net, way)``: a module whose runs end in some ``way``, and its ``token``."""

    def ending(net, way):
        module = Ending(net, CancelToken())
        module.way = way
        return module

    return ending


@pytest.fixture
def all_paths():
    """``all_paths(net)``: the paths of every module and of the first input."""
    return lambda net: [*(path for path, _ in net.named_modules()), "input:0"]


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
