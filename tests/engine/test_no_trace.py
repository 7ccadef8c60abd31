"""After a run the model, and everything random, is exactly what it was, however the run ended."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, spectral_norm, weight_norm

from hookviewer.engine.cancel import Cancelled
from hookviewer.engine.errors import BackwardError, ForwardError, TargetError, UnknownPathError

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


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("target", [None, lambda output: output.sum()])
def test_a_run_leaves_no_trace(record, digest, all_paths, lived_in, train, target):
    before = digest(lived_in)
    record(lived_in, X, all_paths(lived_in), target=target, quantities=EVERYTHING, train=train)
    assert digest(lived_in) == before


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
def test_a_run_that_fails_leaves_no_trace(
    record, digest, ending, all_paths, lived_in, way, error, changed, train
):
    net = ending(lived_in, way)
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
def test_computed_weights_are_left_as_they_were(record, digest, all_paths, dress, train):
    net = nn.Sequential(dress(nn.Linear(2, 2)))
    before = digest(net)
    record(net, X, all_paths(net), train=train, quantities=EVERYTHING)
    assert digest(net) == before


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
