"""A stop is obeyed within one childless module, in forward and in backward."""

import gc
import threading
import weakref

import pytest
import torch
from torch import nn

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.plan import Inputs

X = torch.ones(1, 2)
PATIENCE = 60
"""Seconds after which a test gives up waiting for another thread."""


class Log:
    """Lines that stay when a model gets back all that it held."""

    def __init__(self):
        self.lines = []


class Step(nn.Module):
    """Logs its calls, forward and backward, and can wait in one of them for a stop."""

    def __init__(self, log, token):
        super().__init__()
        self.log, self.token = log, token
        self.waits_in, self.reached = None, threading.Event()

    def forward(self, x):
        self._pass("forward")
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda gradient: self._pass("backward"))
        return y

    def _pass(self, way):
        self.log.lines.append(way)
        if way == self.waits_in:
            self.reached.set()
            assert self.token._event.wait(PATIENCE)


@pytest.fixture
def steps():
    log, token = Log(), CancelToken()
    net = nn.Sequential(*(Step(log, token) for _ in range(5)))
    net.log, net.token = log, token
    return net


def stopped_from_outside(record, net, step, paths):
    """Run ``net`` in another thread, stop it from here at ``step``, and return what it raised."""
    raised = []

    def work():
        try:
            record(net, X, paths, token=net.token)
        except BaseException as error:
            raised.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    assert step.reached.wait(PATIENCE)
    net.token.cancel()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return raised


def test_a_stop_in_forward_lets_no_other_module_begin(record, steps, digest):
    steps[2].waits_in = "forward"
    before = digest(steps)
    assert stopped_from_outside(record, steps, steps[2], ["", "0", "4"]) == [Cancelled]
    assert steps.log.lines == ["forward"] * 3
    assert digest(steps) == before


def test_a_stop_in_backward_lets_no_other_module_begin(record, steps):
    steps[2].waits_in = "backward"
    assert stopped_from_outside(record, steps, steps[2], ["0"]) == [Cancelled]
    assert steps.log.lines == ["forward"] * 5 + ["backward"] * 3


def test_a_run_that_was_stopped_before_it_began_does_nothing(record, steps):
    steps.token.cancel()
    with pytest.raises(Cancelled):
        record(steps, X, ["0"], token=steps.token)
    assert steps.log.lines == []


def test_a_model_that_catches_its_errors_does_not_catch_a_stop(record, around, steps):
    def call(body, x):
        try:
            return body(x)
        except Exception:
            return x

    steps[1].forward = lambda x: (steps.token.cancel(), x)[1]
    with pytest.raises(Cancelled):
        record(around(steps, call), X, "body.0", token=steps.token)
    assert steps.log.lines == ["forward"]


@pytest.mark.parametrize("target", [None, lambda output: output.sum()])
def test_not_even_one_that_catches_everything(record, around, steps, target):
    def call(body, x):
        try:
            return body(x)
        except BaseException:
            return x

    steps[1].forward = lambda x: (steps.token.cancel(), x)[1]
    with pytest.raises(Cancelled):
        record(around(steps, call), X, "body.0", token=steps.token, target=target)


def test_a_function_without_modules_is_stopped_at_its_end(record):
    token = CancelToken()

    def function(x):
        token.cancel()
        return x * 2

    with pytest.raises(Cancelled):
        record(function, Inputs(X), "input:0", token=token)


class _Marked(torch.autograd.Function):
    """Doubles; a mark lives as long as the node of the graph."""

    @staticmethod
    def forward(ctx, x, marks):
        ctx.mark = Log()
        marks.append(weakref.ref(ctx.mark))
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, None


def test_a_stop_frees_the_graph_at_once(record, around):
    """Also what waited in the queue of this thread's backward when it was left."""
    token, marks = CancelToken(), []

    def call(body, x):
        first = _Marked.apply(body(x), marks)
        branches = [first * number for number in range(20)]
        branches[-1].register_hook(lambda gradient: token.cancel())
        return torch.stack(branches).sum(0)

    with pytest.raises(Cancelled):
        record(around(nn.Linear(2, 2), call), X, "body", token=token)
    gc.collect()
    assert marks[0]() is None


def test_the_next_run_after_a_stop_is_right(record, chain, ones):
    token = CancelToken()
    handle = chain[1].register_forward_hook(lambda *_: token.cancel())
    with pytest.raises(Cancelled):
        record(chain, ones, ["0"], token=token)
    handle.remove()
    run = record(chain, ones, ["0"])
    assert run["0"].grad_output.tolist() == [[5, 0]]
    assert len(run["0"].calls) == 1


def test_a_stop_asked_for_twice_is_a_stop():
    token = CancelToken()
    token.check()
    assert not token.cancelled
    token.cancel()
    token.cancel()
    assert token.cancelled
    with pytest.raises(Cancelled):
        token.check()
