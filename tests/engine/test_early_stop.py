"""A run that need not be complete stops after the first call of the last node it records."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.globs import ALL
from hookviewer.engine.plan import Intervention, LiveTarget

X = torch.tensor([1.0, -2.0, 3.0])
CLEARED = Intervention(forward=torch.zeros_like)


class Noting(nn.Module):
    """Doubles and cuts off, and notes that it was called."""

    def __init__(self, name, called):
        super().__init__()
        self.name, self.note = name, called.append  # a list of its own would be put back

    def forward(self, x):
        self.note(self.name)
        return functional.relu(2 * x)


class Catching(nn.Module):
    """Goes on whatever its child raises."""

    def __init__(self, called):
        super().__init__()
        self.note, self.child, self.other = called.append, Noting(0, called), Noting(1, called)

    def forward(self, x):
        try:
            x = self.child(x)
        except Exception:
            self.note("caught")
        return self.other(x)


@pytest.fixture
def called():
    return []


@pytest.fixture
def net(called):
    """Four modules that note their calls in ``called``."""
    return nn.Sequential(*(Noting(number, called) for number in range(4)))


@pytest.fixture
def stop_after(record):
    """``stop_after(model, at)``: a forward-only run of outputs that need not be complete."""

    def stop_after(model, at, *, target=None, quantities=("output",), **options):
        options = {"complete": False, **options}
        return record(model, X, at, target=target, quantities=quantities, **options)

    return stop_after


LAST_CALLED = {
    "0": 0,
    "2": 2,
    "1/mul": 1,
    "1/relu": 1,
    ("2", "0"): 2,
    ("0", "1/relu"): 1,
    ("input:0", "1"): 1,
    "?": 3,
    "": 3,
}


@pytest.mark.parametrize("at", LAST_CALLED)
def test_nothing_is_called_after_the_last_node(stop_after, net, called, digest, at):
    paths = [at] if isinstance(at, str) else at
    before = digest(net)
    run = stop_after(net, paths)
    assert called == [*range(LAST_CALLED[at] + 1)]
    assert run.output is None
    assert run.absences == {}
    called.clear()
    assert digest(net) == before


@pytest.mark.parametrize(
    ("at", "quantity"), [("input:0", "output"), ("1.0.weight", "output"), ("1.0", "parameter")]
)
def test_what_is_known_before_the_first_call_needs_none(stop_after, net, called, at, quantity):
    net[1] = nn.Sequential(nn.Linear(3, 3))
    run = stop_after(net, [at], quantities=[quantity])
    assert called == []
    assert run.output is None
    assert len(run.captures) == (2 if quantity == "parameter" else 1)


def test_what_was_recorded_before_the_stop_is_right(stop_after, net):
    run = stop_after(net, ["0", "1/relu", "input:0"], quantities=("input", "output"))
    assert run["0"].output.tolist() == [2, 0, 6]
    assert run["1/relu"].output.tolist() == [4, 0, 12]
    assert run["input:0"].output.tolist() == [1, -2, 3]


def test_a_run_is_complete_unless_it_is_told_otherwise(stop_after, net, called):
    assert stop_after(net, "0", complete=True).output.tolist() == [16, 0, 48]
    assert called == [0, 1, 2, 3]


@pytest.mark.parametrize("at", ["*/relu", ALL, ("0", "1*/mul")])
def test_globs_of_operations_let_it_run_to_the_end(stop_after, net, called, at):
    run = stop_after(net, [at] if isinstance(at, str) else at)
    assert called == [0, 1, 2, 3]
    assert run.output.tolist() == [16, 0, 48]


def test_a_node_that_is_never_called_lets_it_run_to_the_end(stop_after, net, called):
    run = stop_after(net, ["0", "/add"])
    assert called == [0, 1, 2, 3]
    assert run.output.tolist() == [16, 0, 48]
    assert run["/add"].absence("output") == "not called"


def test_a_target_on_the_output_lets_it_run_to_the_end(stop_after, net, called):
    run = stop_after(net, "0", target=torch.sum, quantities=("output", "grad_output"))
    assert called == [0, 1, 2, 3]
    assert run.output.tolist() == [16, 0, 48]
    assert run["0"].grad_output.tolist() == [8, 0, 8]


@pytest.mark.parametrize("node", ["1", "1/relu"])
def test_a_target_on_live_values_stops(stop_after, net, called, digest, node):
    before = digest(net)
    target = LiveTarget((node,), lambda live: live[node][0].sum())
    run = stop_after(net, "0", target=target, quantities=("output", "grad_output"))
    assert called == [0, 1]
    assert run.output is None
    assert run.score == 16
    assert run["0"].grad_output.tolist() == [2, 0, 2]
    called.clear()
    assert digest(net) == before


def test_the_target_s_node_may_come_before_the_last_that_is_recorded(stop_after, net, called):
    target = LiveTarget(("0",), lambda live: live["0"][0].sum())
    run = stop_after(net, "2", target=target, quantities=("output", "grad_output"))
    assert called == [0, 1, 2]
    assert run["2"].absence("grad_output") == "no path to the target"


def test_interventions_that_come_later_are_not_waited_for(stop_after, net, called):
    stop_after(net, "1", interventions={"3": (CLEARED,), "1": (CLEARED,)})
    assert called == [0, 1]


def test_of_a_node_with_several_calls_the_first_is_recorded(stop_after, called, around):
    net = around(Noting(0, called), lambda body, x: body(body(x)) + 1)
    run = stop_after(net, "body")
    assert called == [0]
    assert len(run["body"].calls) == 1


def test_of_an_operation_with_several_calls_the_first_is_recorded(stop_after):
    later = []
    run = stop_after(lambda x: later.append((x + 1) + 2), "/add")
    assert later == []
    assert [call.outputs["0"].tolist() for call in run["/add"].calls] == [[2, -1, 4]]


def test_one_call_is_enough_for_all_paths_of_a_module(stop_after, called):
    shared = Noting(0, called)
    run = stop_after(nn.Sequential(shared, shared), ["0", "1"])
    assert called == [0]
    assert run["1"].output.tolist() == [2, 0, 6]


def test_a_model_that_catches_its_errors_stops_all_the_same(stop_after, called):
    assert stop_after(Catching(called), "child").output is None
    assert called == [0]


def test_a_checkpoint_is_left_too(stop_after, does):
    later = []

    def saving(x):
        y = torch.utils.checkpoint.checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False)
        later.append(y)
        return y

    run = stop_after(saving, "/sin")
    assert later == []
    assert torch.equal(run["/sin"].output, X.sin())


def test_a_run_after_a_stopped_one_is_whole(stop_after, record, net):
    stop_after(net, "1")
    run = record(net, X, ["1", "3"])
    assert run.output.tolist() == [16, 0, 48]
    assert [len(run[path].calls) for path in "13"] == [1, 1]


def test_what_the_forward_wrote_is_put_back_after_a_stop(record, dropping, digest):
    net, given = nn.Sequential(dropping, nn.ReLU()), torch.randn(4, 2)
    before = digest(net)
    run = record(net, given, "0", target=None, train=True, complete=False)
    assert run.output is None
    assert digest(net) == before
