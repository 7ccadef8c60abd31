"""The caller's tensors, modes and other threads notice nothing of a run."""

import threading

import pytest
import torch

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.plan import Inputs

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


def test_the_users_input_is_not_written_to(record, does):
    def write(x, *, more):
        x.mul_(0)
        more[0].mul_(0)
        more.append("text")
        return x

    given, more = X.clone(), [X.clone()]
    record(does(write), Inputs(given, more=more), ["", "input:0"])
    assert torch.equal(given, X)
    assert torch.equal(more[0], X)
    assert len(more) == 1
    assert not given.requires_grad


@pytest.mark.parametrize("given", [X.clone().requires_grad_(), X.clone().requires_grad_() * 2])
def test_the_users_input_may_have_a_graph_of_its_own(record, chain, given):
    run = record(chain.float(), given, ["input:0"])
    assert run["input:0"].grad_output is not None
    assert given.is_leaf == (given.grad_fn is None)
    assert torch.autograd.grad(given.sum(), given)[0].tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_callers_gradient_mode_does_not_matter_and_stays(record, chain, mode):
    with mode():
        before = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        ones = torch.ones(1, 2, dtype=torch.float64)
        run = record(chain, ones, ["0", "input:0"])
        assert (torch.is_grad_enabled(), torch.is_inference_mode_enabled()) == before
    assert run["0"].grad_output.tolist() == [[5, 0]]
    assert run["input:0"].grad_output.tolist() == [[5, 10]]


def test_a_run_in_another_thread_knows_nothing_of_the_modes_of_this_one(record, chain, ones):
    runs = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: runs.append(record(chain, ones, ["0"])))
        thread.start()
        thread.join()
        assert not torch.is_grad_enabled()
    assert runs[0]["0"].grad_output.tolist() == [[5, 0]]


def test_modules_in_other_threads_are_not_stopped(record, around, scale, ones):
    """The check for a stop sees every module of the process."""
    token, others = CancelToken(), []

    def call(body, x):
        token.cancel()
        thread = threading.Thread(target=lambda: others.append(scale(3.0)(ones)))
        thread.start()
        thread.join()
        return body(x)

    with pytest.raises(Cancelled):
        record(around(scale(2.0), call), ones, "body", token=token)
    assert others[0].tolist() == [[3, 3]]
