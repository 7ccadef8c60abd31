"""After a run the model, and everything random, is exactly what it was, however the run ended."""

import copy
import gc
import io
import random
import threading
import weakref
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, spectral_norm, weight_norm

from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.errors import BackwardError, ForwardError, TargetError, UnknownPathError
from hookviewer.engine.plan import Inputs

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
EVERYTHING = (
    "input",
    "output",
    "grad_input",
    "grad_output",
    "parameter",
    "parameter_gradient",
)


@pytest.fixture
def lived_in(dropping):
    """A net with a past: mixed modes, a gradient, a frozen parameter, hooks of the user's."""
    dropping.norm.eval()
    dropping.norm.weight.grad = torch.tensor([7.0, 8.0])
    dropping.norm.bias.requires_grad_(False)
    dropping.drop.register_forward_hook(lambda module, args, output: None)
    dropping.register_forward_pre_hook(lambda module, args: None)
    return dropping


def all_paths(net):
    return [*(path for path, _ in net.named_modules()), "input:0"]


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("target", [None, lambda output: output.sum()])
def test_a_run_leaves_no_trace(record, digest, lived_in, train, target):
    before = digest(lived_in)
    record(lived_in, X, all_paths(lived_in), target=target, quantities=EVERYTHING, train=train)
    assert digest(lived_in) == before


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


def refuse(output):
    raise ValueError("on purpose")


@pytest.mark.parametrize(
    ("way", "error", "changed"),
    [
        ("forward", ForwardError, {}),
        ("backward", BackwardError, {}),
        ("cancel in forward", Cancelled, {}),
        ("cancel in backward", Cancelled, {}),
        ("target", TargetError, {"target": refuse}),
        ("shape of the target", TargetError, {"target": lambda output: output}),
        ("unknown path", UnknownPathError, {"at": ["net.nrom"]}),
    ],
)
@pytest.mark.parametrize("train", [False, True])
def test_a_run_that_fails_leaves_no_trace(record, digest, lived_in, way, error, changed, train):
    net = Ending(lived_in, CancelToken())
    net.way = way
    before = digest(net)
    options = {"at": all_paths(net), "quantities": EVERYTHING, "train": train, **changed}
    with pytest.raises(error):
        record(net, X, token=net.token, **options)
    assert digest(net) == before


def test_each_module_keeps_its_own_mode(record, lived_in):
    record(lived_in, X, [""])
    modes = {path: module.training for path, module in lived_in.named_modules()}
    assert modes == {"": True, "norm": False, "drop": True}


def test_the_mode_is_the_one_asked_for(record):
    net = nn.Dropout(0.5).train()
    assert torch.equal(record(net, X, "").output, X)
    assert set(record(net.eval(), torch.ones(1000), "", train=True).output.tolist()) == {0, 2}


def test_a_look_in_train_mode_leaves_the_statistics_of_batches(record, digest):
    net = nn.Sequential(nn.BatchNorm1d(2)).train()
    before = digest(net)
    for _ in range(3):
        run = record(net, X, "0", train=True)
        assert torch.allclose(run.output, torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), atol=1e-4)
    assert digest(net) == before


class _Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).T


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize(
    "dress",
    [
        spectral_norm,
        parametrizations.spectral_norm,
        weight_norm,
        parametrizations.weight_norm,
        lambda layer: parametrize.register_parametrization(layer, "weight", _Symmetric()),
    ],
)
@pytest.mark.parametrize("train", [False, True])
def test_computed_weights_are_left_as_they_were(record, digest, dress, train):
    net = nn.Sequential(dress(nn.Linear(2, 2)))
    before = digest(net)
    record(net, X, all_paths(net), train=train, quantities=EVERYTHING)
    assert digest(net) == before


class Writes(nn.Module):
    """Does to itself what a function says, and passes its input through a layer."""

    def __init__(self, write):
        super().__init__()
        self.layer, self.write = nn.Linear(2, 2), write
        self.register_buffer("kept", torch.zeros(2))
        self.register_buffer("whole", torch.tensor([1, 2]))
        self.register_buffer("unset", None)
        self.plain, self.numbers = torch.zeros(2), np.zeros(2)
        self.many = [torch.zeros(2), [1, 2, {"deep": torch.zeros(2)}]]
        self.empty, self.names = [], {"first", "second"}
        self.frozen_one = nn.Parameter(torch.zeros(2), requires_grad=False)

    def forward(self, x):
        y = self.layer(x)
        self.write(self, y)
        return y


@pytest.mark.parametrize(
    "write",
    [
        lambda net, y: net.kept.add_(1),
        lambda net, y: net.kept.data.add_(1),
        lambda net, y: net.kept.mul_(0.9).add_(y.sum()),
        lambda net, y: net.whole.data.fill_(3),
        lambda net, y: setattr(net.kept, "data", torch.ones(3)),
        lambda net, y: net.kept.resize_(7),
        lambda net, y: setattr(net, "kept", y[0]),
        lambda net, y: setattr(net, "unset", torch.ones(2)),
        lambda net, y: net.register_buffer("another", torch.ones(2)),
        lambda net, y: delattr(net, "kept"),
        lambda net, y: net.kept.requires_grad_(),
        lambda net, y: net.plain.add_(y[0]),
        lambda net, y: net.plain.data.add_(1),
        lambda net, y: net.numbers.__setitem__(0, 1),
        lambda net, y: net.many[0].add_(1),
        lambda net, y: net.many[1][2]["deep"].add_(y[0]),
        lambda net, y: net.many[1].append(3),
        lambda net, y: net.many[1][2].update(more=y),
        lambda net, y: net.many.reverse(),
        lambda net, y: net.empty.append(y),
        lambda net, y: net.names.add("third"),
        lambda net, y: setattr(net, "latest", y),
        lambda net, y: setattr(net, "layer", nn.Linear(2, 2)),
        lambda net, y: net.add_module("extra", nn.Linear(2, 2)),
        lambda net, y: net.register_parameter("extra", nn.Parameter(torch.ones(2))),
        lambda net, y: setattr(net.layer.weight, "data", torch.ones(2, 2)),
        lambda net, y: net.frozen_one.requires_grad_(),
        lambda net, y: net.requires_grad_(False),
        lambda net, y: net.train(not net.training),
        lambda net, y: net.register_forward_hook(lambda *_: None),
        lambda net, y: y.sum().backward(retain_graph=True),
        lambda net, y: (net.zero_grad(), y.sum().backward(retain_graph=True)),
        lambda net, y: setattr(net.layer.weight, "grad", torch.ones(2, 2)),
    ],
)
@pytest.mark.parametrize("train", [False, True])
def test_what_a_forward_writes_is_put_back(record, digest, write, train):
    net = Writes(write)
    net.layer.weight.grad = torch.full((2, 2), 5.0)
    before = digest(net)
    deep = (net.many[1], list(net.many[1]), dict(net.many[1][2]))
    record(net, X, ["", "layer"], train=train, quantities=EVERYTHING)
    record(net, X, ["", "layer"], train=train, quantities=EVERYTHING)
    assert digest(net) == before
    assert (net.many[1], list(net.many[1]), dict(net.many[1][2])) == deep
    tensors = [net.plain, net.kept, net.many[0], net.many[1][2]["deep"]]
    assert all(tensor.tolist() == [0, 0] and tensor.is_leaf for tensor in tensors)
    assert not any(tensor.requires_grad for tensor in tensors)
    assert net.numbers.tolist() == [0, 0]
    assert net.names == {"first", "second"}


@pytest.mark.parametrize(
    "write", [lambda weight: weight.add_(1), lambda weight: weight.data.add_(1)]
)
def test_parameters_written_to_in_train_mode_are_put_back(record, digest, write):
    @torch.no_grad()
    def change(net, y):
        write(net.frozen_one)

    net = Writes(change)
    before = digest(net)
    record(net, X, "layer", train=True)
    assert digest(net) == before


class Merging(nn.Linear):
    """Adds its low-rank part to the weight in eval mode and takes it away in train mode."""

    def __init__(self):
        super().__init__(2, 2)
        self.part, self.merged = nn.Parameter(torch.ones(2, 2)), False

    def train(self, mode=True):
        if self.merged == mode:
            self.weight.data += -self.part.data if mode else self.part.data
            self.merged = not mode
        return super().train(mode)


@pytest.mark.parametrize("train", [False, True])
def test_weights_merged_by_a_change_of_mode_are_taken_apart_again(record, digest, train):
    net = nn.Sequential(Merging()).train(not train)
    before = digest(net)
    record(net, X, "0", train=train)
    record(net, X, "0", train=not train)
    assert digest(net) == before


def test_what_was_returned_is_shown_though_it_was_put_back(record):
    def write(net, y):
        net.kept.add_(1)

    net = Writes(write)
    net.forward = lambda x: (write(net, x), net.kept)[1]
    assert record(net, X, "layer", target=None).output.tolist() == [1, 1]
    assert net.kept.tolist() == [0, 0]


def test_tensors_made_in_inference_mode_are_no_trouble(record, digest):
    net = Writes(lambda net, y: net.kept.add_(1))
    with torch.inference_mode():
        net.plain, net.kept = torch.zeros(2), torch.zeros(2)
    net.write = lambda net, y: None
    before = digest(net)
    record(net, X, "layer")
    assert digest(net) == before


@pytest.mark.parametrize("frozen", [False, True])
def test_a_buffer_that_is_handed_on_does_not_stay_in_the_graph(
    record, digest, around, does, scale, frozen
):
    net = around(nn.ModuleList([does(lambda: net.pos), scale(2.0)]), None)
    net.register_buffer("pos", torch.ones(2))
    net.call = lambda body, x: body[1](body[0]().mul(1)) * x
    net.requires_grad_(not frozen)
    before = digest(net)
    run = record(net, X, ["body.0", "body.1"])
    assert run["body.0"].grad_output.tolist() == [8, 4]  # 2 times the sums of the input's columns
    assert digest(net) == before


def test_a_tensor_that_belongs_to_nobody_does_not_stay_in_the_graph(record, around, does):
    constant = torch.ones(2)
    net = around(does(lambda: constant), lambda body, x: body() * x)
    assert record(net, X, "body")["body"].grad_output.tolist() == [4, 2]
    assert not constant.requires_grad
    assert constant._version == 0


def test_the_users_own_hooks_stay_in_order_and_fire(record):
    net, fired = nn.Sequential(nn.Linear(2, 2)), []
    for number in range(3):
        net[0].register_forward_hook(lambda *_, number=number: fired.append(number))
    net[0].register_full_backward_hook(lambda *_: fired.append("back"))
    record(net, X, ["", "0"])
    assert fired == [0, 1, 2, "back"]
    net(X)
    assert fired[4:] == [0, 1, 2]


def test_torch_has_as_many_global_hooks_as_before(record, chain, ones):
    from torch.nn.modules import module

    handle = module.register_module_forward_pre_hook(lambda *_: None)
    before = list(module._global_forward_pre_hooks.items())
    record(chain, ones, ["0"])
    assert list(module._global_forward_pre_hooks.items()) == before
    handle.remove()


def test_a_model_can_be_saved_and_copied_after_a_run(record, chain, ones):
    record(chain, ones, ["", "0", "1"], quantities=EVERYTHING)
    file = io.BytesIO()
    torch.save(chain, file)
    file.seek(0)
    for twin in (torch.load(file, weights_only=False), copy.deepcopy(chain)):
        assert torch.equal(twin(ones), chain(ones))
        assert not any(module._forward_hooks for module in twin.modules())


def test_random_numbers_go_on_as_if_nobody_had_looked(record, dropping):
    def draw():
        return torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random()

    def start():
        torch.manual_seed(1)
        np.random.seed(1)
        random.seed(1)

    start()
    expected = draw()
    for seed in (None, 5):
        start()
        record(dropping, X, ["drop"], train=True, seed=seed)
        assert draw() == expected


def test_two_looks_with_one_seed_see_the_same(record, dropping):
    first = record(dropping, X, "drop", train=True, seed=3)
    torch.rand(5)
    second = record(dropping, X, "drop", train=True, seed=3)
    other = record(dropping, X.repeat(50, 1), "drop", train=True, seed=4)
    assert torch.equal(first.output, second.output)
    assert torch.equal(first["drop"].output, second["drop"].output)
    assert not torch.equal(other["drop"].output[:2], first["drop"].output)


def test_without_a_seed_the_state_at_hand_is_used(record):
    torch.manual_seed(2)
    expected = nn.functional.dropout(torch.ones(100))
    torch.manual_seed(2)
    assert torch.equal(record(nn.Dropout(), torch.ones(100), "", train=True).output, expected)


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


def live_tensors():
    gc.collect()
    return sum(issubclass(type(each), Tensor) for each in gc.get_objects())


@pytest.mark.parametrize("way", ["", "forward", "cancel in forward", "cancel in backward"])
def test_captured_memory_is_freed_run_after_run(record, way):
    token = CancelToken()
    net = Ending(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)), token)
    net.way = way

    def look():
        token._event.clear()
        with suppress(ForwardError, Cancelled):
            record(net, X, all_paths(net), quantities=EVERYTHING, token=token)

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
        return y * 2

    net = around(scale(2.0), call)
    target = refuse if way == "target" else lambda output: output.sum()
    with pytest.raises((ForwardError, BackwardError, TargetError)) as caught:
        record(net, ones, ["", "body"], target=target)
    error = caught.value
    del caught
    gc.collect()
    assert seen[0]() is None
    assert error.details
    assert error.run["body"].output.tolist() == [[2, 2]]
