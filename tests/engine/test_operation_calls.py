"""Calls of operations belong to the module that makes them, and are counted there."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.cancel import Cancelled, CancelToken

X = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])


class Own(nn.Module):
    """A childless module of the user's, that calls ``relu``."""

    def forward(self, x):
        return functional.relu(x)


class Nested(nn.Module):
    """Adds itself, then lets ``inner`` add twice, then adds again."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(self.inner(x + 1)) + 2


def test_two_calls_of_a_function_in_one_module_are_two_calls(record):
    run = record(lambda x: (x + 1) * 2 + 3, X, "/add", target=None)
    assert [call.outputs["0"][0, 0].item() for call in run["/add"].calls] == [2, 7]


def test_a_module_used_twice_goes_on_counting(record, around):
    net = around(Own(), lambda own, x: own(own(x) - 2))
    run = record(net, X, ["body/relu", "/sub"], target=None)
    assert [call.outputs["0"][0].tolist() for call in run["body/relu"].calls] == [
        [1, 0, 3],
        [0, 0, 1],
    ]
    assert len(run["/sub"].calls) == 1


def test_an_operation_belongs_to_the_innermost_module(record, does):
    net = Nested(Nested(does(lambda x: x + 10)))
    run = record(net, torch.zeros(1), ["/add", "inner/add", "inner.inner/add"], target=None)
    counts = [len(run[path].calls) for path in ("/add", "inner/add", "inner.inner/add")]
    assert counts == [2, 4, 4]
    assert [call.outputs["0"].item() for call in run["/add"].calls] == [1, 1 + 2 * 23 + 2]


def test_after_a_module_that_raised_the_parent_goes_on(record, does, around):
    def failing(x):
        raise ValueError(f"{(x + 1).shape}")

    def catching(body, x):
        try:
            return body(x)
        except ValueError:
            return x + 2

    run = record(around(does(failing), catching), X, ["/add", "body/add"], target=None)
    assert torch.equal(run["/add"].output, X + 2)
    assert torch.equal(run["body/add"].output, X + 1)
    assert [len(run[path].calls) for path in ("/add", "body/add")] == [1, 1]


def test_after_two_modules_that_raised_the_caller_goes_on(record, does, around):
    def failing(x):
        raise ValueError

    def catching(body, x):
        try:
            return body(x)
        except ValueError:
            return x + 2

    inner = around(does(failing), lambda body, x: body(x * 1))
    run = record(around(inner, catching), X, ["/add", "body/add", "body/mul"], target=None)
    assert len(run["/add"].calls) == 1
    assert run["body/add"].absence("output") == "not called"


def test_a_shared_module_has_its_operations_under_both_paths(record):
    own = Own()
    run = record(nn.Sequential(own, own), X, ["0/relu", "1/relu"], target=None)
    for path in ("0/relu", "1/relu"):
        assert [call.outputs["0"].tolist() for call in run[path].calls] == [
            [[1, 0, 3], [0, 5, 0]]
        ] * 2


def test_what_another_model_does_is_seen_as_the_caller_s(record):
    stranger = Own()  # no child of the model
    run = record(lambda x: stranger(x) + 1, X, ["/relu", "/add"], target=None)
    assert [len(run[path].calls) for path in ("/relu", "/add")] == [1, 1]


@pytest.mark.parametrize("path", ["/add", "/mul", "/sin"])
def test_a_run_that_is_stopped_between_two_operations_does_not_begin_the_second(record, path):
    token, done = CancelToken(), []

    def stopping(x):
        y = x + 1
        token.cancel()
        done.append("between")
        y = y * 2
        done.append("after")
        return y.sin()

    with pytest.raises(Cancelled):
        record(stopping, X, path, token=token)
    assert done == ["between"]


def test_a_run_that_is_stopped_inside_a_module_leaves_no_trace(record, does, digest):
    token, done = CancelToken(), []

    def stopping(x):
        token.cancel()
        done.append(x * 2)

    net = nn.Sequential(nn.Linear(3, 3), does(stopping))
    before = digest(net)
    with pytest.raises(Cancelled):
        record(net, X, "1/mul", token=token)
    assert done == []
    done.clear()
    assert digest(net) == before
