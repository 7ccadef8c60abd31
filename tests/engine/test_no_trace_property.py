"""Whatever is recorded of whatever model, in whatever order and however it ends: no trace."""

import copy
import gc
import pickle
import random
import threading
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hookviewer.engine.again import Again
from hookviewer.engine.buffers import Buffers
from hookviewer.engine.cancel import Cancelled, CancelToken, Finished
from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.execute import execute
from hookviewer.engine.globs import ALL
from hookviewer.engine.leaves import leaves
from hookviewer.engine.paths import Paths
from hookviewer.engine.plan import Inputs, Intervention, LiveTarget, Plan, Quantity, Tap

from .specimens import KINDS

SAME_EACH_TIME = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[
        Phase.generate
    ],  # add Phase.shrink to look for the smallest failure: that may take long
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
GLOBS = (ALL, "*", "*/*", "input:*")
AMBIENTS = {"": nullcontext, "no_grad": torch.no_grad, "inference": torch.inference_mode}
WAYS = ("", "error", "interrupt", "cancel", "error in backward", "cancel in backward")


def summed(output):
    """One real number of all tensors in ``output``."""
    return sum(tensor.sum().abs() for tensor in leaves(output).values())


def refuse(*_):
    raise ValueError("on purpose")


def differentiated(output):
    summed(output).backward(retain_graph=True)
    return summed(output)


TARGETS = {
    "whole": summed,
    "none": None,
    "differentiates": differentiated,
    "no graph": lambda output: torch.ones(()),
    "no scalar": lambda output: next(iter(leaves(output).values())),
    "error": refuse,
}


class Troubled(nn.Module):
    """Calls ``net``, and ends the run in some ``way``."""

    def __init__(self, net, way, token):
        super().__init__()
        self.net, self.way, self.token = net, way, token

    def forward(self, *args):
        value = summed(self.net(*args))
        if self.way == "error":
            raise ValueError("on purpose")
        if self.way == "interrupt":
            raise KeyboardInterrupt
        if self.way == "cancel":
            self.token.cancel()
        if value.requires_grad and self.way == "error in backward":
            value.register_hook(refuse)
        if value.requires_grad and self.way == "cancel in backward":
            value.register_hook(lambda gradient: self.token.cancel())
        return value * 2


def interventions_of(token):
    """What may be done at a node, by name."""

    def cancel(*_):
        token.cancel()
        token.check()

    return {
        "double": Intervention(forward=lambda output: output * 2),
        "double back": Intervention(backward=lambda gradient: gradient * 2),
        "zero both": Intervention(torch.zeros_like, torch.zeros_like),
        "rule": Intervention(rule=lambda gradient, given: gradient * (given.abs() > 0)),
        "misfit": Intervention(forward=lambda output: output[..., None]),
        "error": Intervention(forward=refuse),
        "error back": Intervention(backward=refuse),
        "error in rule": Intervention(rule=refuse),
        "cancel": Intervention(forward=cancel),
        "cancel back": Intervention(backward=cancel),
    }


@dataclass(frozen=True, slots=True)
class Step:
    """One run to be made, in words."""

    paths: frozenset[str]
    quantities: frozenset[Quantity]
    target: str
    changes: tuple[tuple[str, str], ...]
    train: bool
    seed: int | None
    survey: bool
    complete: bool
    byte_limit: int | None
    way: str
    ambient: str

    def perform(self, net, args, buffers):
        """Make the run and return how it ended."""
        token = CancelToken()
        model = Troubled(net, self.way, token) if self.way else net
        try:
            with AMBIENTS[self.ambient]():
                execute(model, self._plan(args, token), token, buffers)
        except (HookviewerError, Cancelled, KeyboardInterrupt) as error:
            return type(error).__name__
        except (Again, Finished) as error:
            raise AssertionError("What a run raises for itself has left it.") from error
        return "a run"

    def _plan(self, args, token):
        interventions = {}
        for path, name in self.changes:
            here = interventions.setdefault(self._at(path), [])
            here.append(interventions_of(token)[name])
        return Plan(
            frozenset(Tap(self._at(path), each) for path in self.paths for each in self.quantities),
            Inputs(*args),
            self._target(),
            self.train,
            self.seed,
            self.survey,
            interventions={path: tuple(each) for path, each in interventions.items()},
            complete=self.complete,
            byte_limit=self.byte_limit,
        )

    def _target(self):
        if self.target in TARGETS:
            return TARGETS[self.target]
        path = self._at(self.target.removeprefix("at "))
        return LiveTarget((path,), lambda live: summed(live[path]))

    def _at(self, path):
        """Return where ``path`` of the net is in what is run."""
        if not self.way or path in GLOBS or path.startswith("input:"):
            return path
        return f"net{path}" if path.startswith("/") else f"net.{path}".rstrip(".")


def built(kind):
    """A new net of a kind with its inputs: always the same numbers."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return kind()


def steps(kind):
    """Steps with the paths that the nets of a kind have."""
    net, args = built(kind)
    survey = execute(net, Plan(frozenset(), Inputs(*args), survey=True))
    known = Paths(net)
    values = [*known.modules, *(each.path for each in survey.operations), "input:0"]
    return st.builds(
        Step,
        paths=st.frozensets(
            st.sampled_from([*GLOBS, *values, *known.parameter_paths()]), min_size=1, max_size=4
        ),
        quantities=st.frozensets(st.sampled_from(Quantity), min_size=1),
        target=st.sampled_from([*TARGETS, *(f"at {path}" for path in values)]),
        changes=st.lists(
            st.tuples(st.sampled_from(["*", *values]), st.sampled_from([*interventions_of(None)])),
            max_size=2,
        ).map(tuple),
        train=st.booleans(),
        seed=st.sampled_from([None, 7]),
        survey=st.booleans(),
        complete=st.booleans(),
        byte_limit=st.sampled_from([None, None, None, 200]),
        way=st.sampled_from(("",) * 7 + WAYS),
        ambient=st.sampled_from([*AMBIENTS]),
    )


def copies(net):
    """What copies of ``net`` look like, or what torch says to those who want one."""

    def tried(copied):
        try:
            return [(name, tensor.tolist()) for name, tensor in copied().state_dict().items()]
        except (RuntimeError, ValueError) as error:
            return str(error)

    return tried(lambda: copy.deepcopy(net)), tried(lambda: pickle.loads(pickle.dumps(net)))


def computed(net, args):
    """The output and the gradients of a plain call, with the same chances each time."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        np.random.seed(1)
        random.seed(1)
        output = net(*(each.clone() for each in args))
        score = summed(output)
    if score.requires_grad:
        score.backward()
    tensors = [*leaves(output).values(), *(each.grad for each in net.parameters())]
    return [None if each is None else each.tolist() for each in tensors]


def live_tensors():
    gc.collect()
    return sum(issubclass(type(each), Tensor) for each in gc.get_objects())


@pytest.fixture
def kinds(dropping):
    """Every kind of net, by name."""
    return {kind.__name__: kind for kind in KINDS} | {
        "dropping": lambda: (type(dropping)(), (torch.tensor([[1.0, -2.0], [3.0, 4.0]]),))
    }


NAMES = [*(kind.__name__ for kind in KINDS), "dropping"]


@pytest.mark.parametrize("name", NAMES)
def test_no_step_leaves_a_trace(kinds, digest, name):
    sequences = st.lists(steps(kinds[name]), min_size=1, max_size=5)

    @settings(SAME_EACH_TIME, max_examples=8)
    @given(sequences, st.booleans())
    def holds(sequence, keeps_memory):
        net, args = built(kinds[name])
        before, copied, threads = digest(net), copies(net), threading.active_count()
        buffers = Buffers() if keeps_memory else None
        for step in sequence:
            event(step.perform(net, args, buffers))
            assert digest(net) == before
        assert copies(net) == copied
        assert computed(net, args) == computed(*built(kinds[name]))
        assert threading.active_count() == threads

    holds()


def test_no_step_on_one_net_leaves_a_trace_in_another(kinds, digest):
    names = ["hooked", "recurrent", "dressed", "dropping", "bookkeeping"]
    one = st.one_of(*(st.tuples(st.just(name), steps(kinds[name])) for name in names))

    @settings(SAME_EACH_TIME, max_examples=6)
    @given(st.lists(one, min_size=2, max_size=6))
    def holds(sequence):
        nets = {name: built(kinds[name]) for name in names}
        before, buffers = {name: digest(net) for name, (net, _) in nets.items()}, Buffers()
        for name, step in sequence:
            step.perform(*nets[name], buffers)
            assert {name: digest(net) for name, (net, _) in nets.items()} == before

    holds()


@pytest.mark.parametrize("name", NAMES)
def test_twenty_runs_leave_as_many_tensors_as_one(kinds, name):
    @settings(SAME_EACH_TIME, max_examples=2)
    @given(st.lists(steps(kinds[name]), min_size=4, max_size=4))
    def holds(sequence):
        net, args = built(kinds[name])
        for step in sequence:
            step.perform(net, args, None)
        before = live_tensors()
        for step in sequence * 5:
            step.perform(net, args, None)
        assert live_tensors() == before

    holds()
