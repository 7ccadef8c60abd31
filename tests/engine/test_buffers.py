"""Memory of captures is used again once nobody holds it, and never before."""

import ctypes
import pickle
import threading

import numpy as np
import pytest
import torch
from torch import nn

from hookviewer.engine.buffers import Buffers
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap

SIZE = 1000
TAPS = frozenset({Tap("", Quantity.OUTPUT), Tap("", Quantity.GRAD_OUTPUT)})


@pytest.fixture
def buffers():
    """The memory of the runs."""
    return Buffers()


@pytest.fixture
def look(buffers):
    """``look(value)``: a run that records ``value`` many times over, by one ``buffers``."""
    net = nn.Hardtanh(-9, 9)

    def look(value, size=SIZE):
        inputs = Inputs(torch.full((size,), float(value)))
        return execute(net, Plan(TAPS, inputs, torch.sum), buffers=buffers)

    return look


def place(run):
    return run[""].output.data_ptr()


def test_memory_that_was_let_go_is_used_again(look):
    run = look(1)
    first = place(run)
    del run
    assert place(look(2)) == first


@pytest.mark.parametrize(
    "held",
    [
        lambda run: run,
        lambda run: run.captures,
        lambda run: run[""],
        lambda run: run[""].calls,
        lambda run: run[""].output,
        lambda run: run[""].output[3:5],
        lambda run: run[""].output.view(10, 100).T,
        lambda run: run[""].output.view(torch.int32),
        lambda run: run[""].output.numpy(),
        lambda run: run[""].output.numpy()[3:5],
        lambda run: np.asarray(run[""].output).reshape(10, 100).T,
        lambda run: memoryview(run[""].output.numpy()),
        lambda run: iter(run[""].output.split(100)),
        lambda run: run[""].output.untyped_storage(),
    ],
)
def test_what_is_held_in_any_way_keeps_its_values(look, held):
    run = look(1)
    first = place(run)
    keeper = held(run)
    del run
    others = [look(value) for value in range(2, 6)]
    assert first not in {place(other) for other in others}
    values = torch.frombuffer(bytearray(_bytes_at(first)), dtype=torch.float)
    assert values.tolist() == [1] * SIZE
    del keeper


def _bytes_at(pointer):
    return ctypes.string_at(pointer, SIZE * 4)


def test_what_is_held_is_used_again_once_it_is_let_go(look):
    run = look(1)
    first, part = place(run), run[""].output.numpy()[:2]
    del run
    assert place(look(2)) != first
    del part
    assert place(look(3)) == first


def test_runs_that_are_all_kept_have_memory_of_their_own(look):
    runs = [look(value) for value in range(5)]
    assert [run[""].output[0].item() for run in runs] == [0, 1, 2, 3, 4]
    assert len({place(run) for run in runs}) == 5


def test_no_two_captures_of_a_run_share_memory(look):
    look(1)
    places = [capture.tensor.data_ptr() for capture in look(2).captures]
    assert len(places) == len(set(places)) == 2


def test_another_shape_takes_other_memory(look):
    first = look(1)
    second = look(2, size=500)
    assert first[""].output.tolist() == [1] * SIZE
    assert second[""].output.tolist() == [2] * 500


def test_memory_of_a_shape_that_came_no_more_is_forgotten(look, buffers):
    look(1)
    for _ in range(5):
        look(2, size=500)
    sizes = [memory.tensor.numel() for each in buffers._memories.values() for memory in each]
    assert SIZE not in sizes


def test_two_runs_need_no_more_memory_than_two_runs(look, buffers):
    run = None
    for value in range(10):  # one is on show while the next is recorded
        run = look(value)
    assert run is not None
    assert sum(len(each) for each in buffers._memories.values()) <= 4


def test_a_capture_can_be_copied_and_pickled_and_stays_as_it_was(look):
    run = look(1)
    text = pickle.dumps(run[""].output)
    del run
    look(2)
    assert pickle.loads(text).tolist() == [1] * SIZE


def test_an_array_that_another_thread_holds_keeps_its_values(look):
    run = look(1)
    go, seen = threading.Event(), []

    def read(array):
        go.wait(10)
        seen.append(array.tolist())

    thread = threading.Thread(target=read, args=(run[""].output.numpy(),))
    thread.start()
    del run
    look(2)
    go.set()
    thread.join()
    assert seen == [[1] * SIZE]


def test_a_run_that_failed_leaves_its_memory_to_the_next(buffers):
    net = nn.Sequential(nn.Hardtanh(-9, 9), nn.Linear(1, 1))
    plan = Plan(frozenset({Tap("0", Quantity.OUTPUT)}), Inputs(torch.ones(SIZE)))
    for _ in range(5):
        with pytest.raises(Exception, match="stopped in '1'"):
            execute(net, plan, buffers=buffers)
    assert sum(len(each) for each in buffers._memories.values()) <= 2


def test_memory_that_lies_otherwise_is_not_used(buffers):
    """A picture whose channels come last is copied as it lies."""
    plain = torch.arange(16.0).reshape(1, 4, 2, 2)
    for given in (plain, plain.to(memory_format=torch.channels_last), plain):
        buffers.begin_run()
        copied = buffers.copy_of(given)
        assert copied.stride() == given.stride()
        assert torch.equal(copied, given)
        del copied


def test_memory_of_another_dtype_is_not_used(buffers):
    for given in (torch.ones(4), torch.ones(4, dtype=torch.int32), torch.ones(4).double()):
        buffers.begin_run()
        copied = buffers.copy_of(given)
        assert (copied.dtype, copied.tolist()) == (given.dtype, [1, 1, 1, 1])
        del copied
