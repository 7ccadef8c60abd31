"""Wrapped models are run as what they wrap, and stay wrapped."""

import functools
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch
from torch import distributed, fx, nn
from torch.overrides import TorchFunctionMode

from hookviewer.engine.unwrap import eager, is_exported, named_modules, unwrapped

X = torch.tensor([[1.0, -1.0]])


class Net(nn.Module):
    """``2 relu(a x)``, and a function of it that is compiled by itself."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Dropout())
        self.plus_one = lambda x: x + 1

    def forward(self, x):
        return self.plus_one(self.b(self.a(x)) * 2)

    def encode(self, x, times=1):
        return self.a(x) * times


def compiled(of):
    """What ``torch.compile`` gives, without a compiler, and used once already."""
    return torch.compile(of, backend="eager")


def used(net):
    """``net`` after a call, without gradients: with them the compiler itself warns."""
    with torch.no_grad():
        net(X)
    return net


def compiled_whole():
    return used(compiled(Net().eval()))


def compiled_part():
    net = Net().eval()
    net.b = compiled(net.b)
    return used(net)


def compiled_in_place():
    net = Net().eval()
    net.compile(backend="eager")
    return used(net)


def compiled_twice():
    net = Net().eval()
    net.b = compiled(net.b)
    return used(compiled(net))


def compiled_function():
    net = Net().eval()
    net.plus_one = compiled(net.plus_one)
    return used(net)


COMPILED = [compiled_whole, compiled_part, compiled_in_place, compiled_twice, compiled_function]


@contextmanager
def recorded(module):
    """Collect the paths of the modules that end a call in the block."""
    paths = []
    hooks = [
        each.register_forward_hook(lambda module, args, output, path=path: paths.append(path))
        for path, each in named_modules(module)
    ]
    try:
        yield paths
    finally:
        for hook in hooks:
            hook.remove()


class Seen(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


def compilations():
    return torch._dynamo.utils.counters["frames"]["ok"]


def stance():
    return torch._dynamo.eval_frame._stance.stance


@pytest.fixture
def group():
    """One process that is all of its group."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.parametrize("build", COMPILED)
def test_what_is_compiled_has_the_paths_of_the_original(build):
    assert [path for path, _ in named_modules(build())] == ["", "a", "b", "b.0", "b.1"]


@pytest.mark.parametrize("build", COMPILED)
def test_hooks_put_on_what_is_compiled_fire_and_values_are_the_originals(build):
    net, original = build(), Net().eval()
    with eager(net.modules()), recorded(net) as paths:
        output = net(X)
    assert paths == ["a", "b.0", "b.1", "b", ""]
    assert torch.equal(output, original(X))


def test_a_function_mode_sees_what_is_compiled():
    net = compiled_function()
    with eager(net.modules()), Seen() as seen:
        net(X)
    assert [name for name in seen.names if name in ("linear", "mul", "add")] == [
        "linear", "mul", "add",
    ]  # fmt: skip


@pytest.mark.parametrize("build", COMPILED)
def test_what_is_compiled_stays_so_and_is_not_compiled_again(build):
    net = build()
    before = compilations()
    with eager(net.modules()), recorded(net):
        net(X)
    used(net)
    assert compilations() == before > 0


def test_how_things_are_compiled_is_put_back_after_an_error():
    net = compiled_whole()
    with torch.compiler.set_stance("fail_on_recompile"):
        with pytest.raises(ValueError, match="force_eager"), eager(net.modules()):
            raise ValueError(stance())
        assert stance() == "fail_on_recompile"


def test_where_nothing_is_compiled_no_compiler_is_loaded():
    script = (
        "import sys; from torch import nn; from hookviewer.engine.unwrap import *\n"
        "net = nn.Sequential(nn.ReLU())\n"
        "with eager(net.modules()): assert [path for path, _ in named_modules(net)] == ['', '0']\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_shared_modules_have_all_their_paths_and_absent_ones_none():
    shared = nn.ReLU()
    net = nn.Sequential(shared, shared)
    net.register_module("none", None)
    assert [(path, module) for path, module in named_modules(net)] == [
        ("", net), ("0", shared), ("1", shared),
    ]  # fmt: skip


def test_data_parallel_keeps_its_paths_and_calls_each_node_once():
    net = nn.DataParallel(Net().eval())
    net.device_ids = [0, 1]  # as with two GPUs, which this machine need not have
    with eager(net.modules()), recorded(net) as paths:
        output = net(X)
    assert paths == ["module.a", "module.b.0", "module.b.1", "module.b", "module", ""]
    assert torch.equal(output, Net().eval()(X))


def test_data_parallel_hands_keywords_on():
    net = nn.DataParallel(Net().eval())
    with eager(net.modules()):
        assert torch.equal(net(x=X), Net().eval()(X))


@pytest.mark.parametrize("own", [False, True])
def test_data_parallel_gets_its_own_forward_back_after_an_error(digest, own):
    net = nn.Sequential(nn.DataParallel(Net().eval()))
    if own:
        net[0].forward = net[0].forward
    before = digest(net)
    with pytest.raises(ValueError, match="on purpose"), eager(net.modules()):
        raise ValueError("on purpose")
    assert digest(net) == before


def test_distributed_data_parallel_prepares_nothing_and_stays_ready_to_train(group, monkeypatch):
    net = nn.parallel.DistributedDataParallel(Net())
    with monkeypatch.context() as patch, eager(net.modules()), recorded(net) as paths:
        patch.setattr(net, "_pre_forward", lambda *_, **__: pytest.fail("was prepared"))
        net(X)
    assert paths == ["module.a", "module.b.0", "module.b.1", "module.b", "module", ""]
    for _ in range(2):
        net(X).sum().backward()
    assert net.module.a.weight.grad is not None


@pytest.mark.parametrize(
    ("wrap", "times"),
    [
        (lambda net: net.encode, 1),
        (lambda net: functools.partial(net.encode, times=3), 3),
        (lambda net: functools.partial(functools.partial(net.encode), times=3), 3),
    ],
)
def test_a_method_or_a_partial_call_of_a_module_shows_the_module(wrap, times):
    net = Net().eval()
    model = wrap(net)
    found = unwrapped(model)
    assert (found.call, found.module) == (model, net)
    with eager(found.module.modules()), recorded(found.module) as paths:
        output = found.call(X)
    assert torch.equal(output, net.a(X) * times)
    assert paths == ["a"]


def test_a_partial_call_of_a_whole_module_shows_it():
    net = Net()
    assert unwrapped(functools.partial(net, x=X)).module is net


@pytest.mark.parametrize("model", [torch.relu, len, "text".join, functools.partial(torch.add, 1)])
def test_functions_have_no_module(model):
    found = unwrapped(model)
    assert (found.call, found.module) == (model, None)


def test_a_module_is_called_as_it_is():
    net = compiled_whole()
    found = unwrapped(net)
    assert (found.call, found.module) == (net, net)


@pytest.fixture(scope="module")
def program():
    return torch.export.export(Net().eval(), (X,))


def test_an_exported_program_shows_the_modules_it_was_made_of(program):
    found = unwrapped(program)
    with eager(found.module.modules()), recorded(found.module) as paths:
        output = found.call(X)
    assert paths == ["a", "b.0", "b.1", "b", ""]
    assert torch.equal(output, Net().eval()(X))


def test_what_is_done_to_an_exported_programs_modules_is_not_done_to_it(program):
    with torch.no_grad():
        unwrapped(program).module.a.weight.zero_()
    assert program.state_dict["a.weight"].count_nonzero() == 4


def test_the_module_of_an_exported_program_is_known_for_what_it_is(program):
    module = program.module()
    assert is_exported(module)
    assert not is_exported(fx.symbolic_trace(Net()))
    assert not is_exported(unwrapped(program).module)
    assert not is_exported(Net())
    with eager(module.modules()), recorded(module) as paths:
        module(X)
    assert not {"a", "b.0", "b"} & {*paths}


def test_a_traced_model_is_a_model_like_any_other():
    net = fx.symbolic_trace(Net().eval())
    with eager(net.modules()), recorded(net) as paths:
        output = net(X)
    assert paths == ["a", "b.0", "b.1", ""]
    assert torch.equal(output, Net().eval()(X))


@pytest.mark.filterwarnings("ignore:.*torch.ao.quantization is deprecated")
def test_fused_modules_show_what_really_runs():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.ReLU()).eval()
    fused = torch.ao.quantization.fuse_modules(plain, [["0", "1", "2"]])
    picture, outputs = torch.randn(1, 1, 3, 3), {}
    for path, module in named_modules(fused):
        module.register_forward_hook(
            lambda module, _, output, path=path: outputs.update({path: output})
        )
    with eager(fused.modules()):
        fused(picture)
    assert [*outputs] == ["0.0", "0.1", "0", "1", "2", ""]
    torch.testing.assert_close(outputs["0"], plain(picture))
    assert isinstance(fused[1], nn.Identity)
