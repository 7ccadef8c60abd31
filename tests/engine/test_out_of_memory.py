"""Memory that runs out is a sentence that says what to reduce, and what there was is let go."""

import weakref

import pytest
import torch
from torch import nn

from hookviewer.engine.errors import BackwardError, ForwardError, TargetError
from hookviewer.engine.failure import is_out_of_memory, memory_error


def allocate_too_much(*_):
    return torch.empty(1 << 50, dtype=torch.uint8)


def device_is_full(*_):
    raise torch.OutOfMemoryError("Tried to allocate 2 GiB")


def host_is_full(*_):
    return bytearray(1 << 60)


MEMORY = pytest.mark.parametrize("fill", [allocate_too_much, device_is_full, host_is_full])


@MEMORY
def test_memory_that_runs_out_in_the_forward_names_the_module_and_what_to_do(
    record, around, does, scale, digest, fill
):
    net = around(nn.ModuleList([scale(2.0), does(fill)]), lambda body, x: body[1](body[0](x)))
    before = digest(net)
    with pytest.raises(ForwardError) as caught:
        record(net, torch.ones(2), "body.0")
    assert "in 'body.1' (Does), which was given 2: there is not enough memory." in str(caught.value)
    assert "smaller input or fewer samples, tap fewer nodes, or" in str(caught.value)
    assert caught.value.path == "body.1"
    assert caught.value.run["body.0"].output.tolist() == [2, 2]
    assert digest(net) == before


@MEMORY
def test_memory_that_runs_out_in_the_backward_is_said_too(record, around, scale, fill):
    def call(body, x):
        y = body(x)
        y.register_hook(fill)
        return y

    with pytest.raises(BackwardError, match=r"not enough memory.* without gradients") as caught:
        record(around(scale(2.0), call), torch.ones(2), "body")
    assert caught.value.run["body"].output.tolist() == [2, 2]


@MEMORY
def test_memory_that_runs_out_in_the_target_is_said_too(record, scale, fill):
    with pytest.raises(TargetError, match="there is not enough memory"):
        record(scale(2.0), torch.ones(2), "", target=fill)


@MEMORY
def test_memory_that_runs_out_elsewhere_is_a_reason_not_to_run(fill):
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        fill()
    assert is_out_of_memory(caught.value)
    error = memory_error(caught.value)
    assert str(error).startswith("The run could not be recorded: there is not enough memory.")
    assert "Traceback" in error.details
    assert not is_out_of_memory(ValueError("out of memory"))


def test_an_error_keeps_no_tensor_of_the_model_alive(record, around, does, scale):
    values = []

    def call(body, x):
        y = body[0](x) * 1
        values.append(weakref.ref(y))
        return body[1](y)

    net = around(nn.ModuleList([scale(2.0), does(allocate_too_much)]), call)
    with pytest.raises(ForwardError) as caught:
        record(net, torch.ones(2), "body.0")
    assert caught.value.run["body.0"].output is not None
    assert {value() for value in values} == {None}
