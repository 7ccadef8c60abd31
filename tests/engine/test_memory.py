"""What a run captured can be freed; an error keeps nothing alive."""

import gc
import weakref
from contextlib import suppress

import pytest
import torch
from torch import Tensor, nn

from hookviewer.engine.cancel import Cancelled
from hookviewer.engine.errors import BackwardError, ForwardError, TargetError

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


EVERYTHING = (
    "input",
    "output",
    "grad_input",
    "grad_output",
    "parameter",
    "parameter_gradient",
)


def live_tensors():
    gc.collect()
    return sum(issubclass(type(each), Tensor) for each in gc.get_objects())


@pytest.mark.parametrize("way", ["", "forward", "cancel in forward", "cancel in backward"])
def test_captured_memory_is_freed_run_after_run(record, ending, all_paths, way):
    net = ending(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)), way)

    def look():
        net.token._event.clear()
        with suppress(ForwardError, Cancelled):
            record(net, X, all_paths(net), quantities=EVERYTHING, token=net.token)

    look()
    before = live_tensors()
    for _ in range(20):
        look()
    assert live_tensors() == before


def test_memory_is_freed_without_the_help_of_the_garbage_collector(record, around, scale, ones):
    seen = []

    def call(body, x):
        y = body(x)
        seen.append(weakref.ref(y))
        return y * 2

    gc.collect()
    gc.disable()
    try:
        record(around(scale(2.0), call), ones, ["", "body"], quantities=EVERYTHING)
        assert seen[0]() is None
    finally:
        gc.enable()


def refuse(output):
    raise ValueError("on purpose")


@pytest.mark.parametrize("way", ["forward", "backward", "target", "chained"])
def test_an_error_holds_no_tensors(record, around, scale, ones, way):
    seen = []

    def call(body, x):
        y = body(x)
        seen.append(weakref.ref(y))
        if way == "forward":
            raise ValueError("on purpose")
        if way == "chained":
            try:
                y.no_such_thing()
            except AttributeError as error:
                raise ValueError("on purpose") from error
        if way == "backward":
            y.register_hook(lambda gradient: gradient.no_such_thing)
        result = y.exp()
        seen.append(weakref.ref(result))
        return result

    net = around(scale(2.0), call)
    target = refuse if way == "target" else lambda output: output.sum()
    with pytest.raises((ForwardError, BackwardError, TargetError)) as caught:
        record(net, ones, ["", "body"], target=target)
    error = caught.value
    del caught
    gc.collect()
    assert [reference() for reference in seen] == [None] * len(seen)
    assert error.details
    assert error.run["body"].output.tolist() == [[2, 2]]
