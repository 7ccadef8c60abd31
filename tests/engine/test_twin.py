"""ResNet-18 as it is, against a twin in which nothing is done in place and torch's hooks work."""

from collections import defaultdict

import pytest
import torch
from torch import nn
from torchvision.models import resnet18
from torchvision.models.resnet import BasicBlock


class OutOfPlace(BasicBlock):
    """The same block, adding the shortcut into a new tensor."""

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class Twin:
    """Every gradient of every call of ``model``, by torch's own full backward hooks."""

    def __init__(self, model):
        self.model = model
        self.grad_inputs, self.grad_outputs = defaultdict(list), defaultdict(list)
        for module in model.modules():
            if isinstance(module, BasicBlock):
                module.__class__ = OutOfPlace
            if isinstance(module, nn.ReLU):
                module.inplace = False
        for path, module in model.named_modules():
            module.register_full_backward_hook(self._note(path))

    def _note(self, path):
        def note(module, grad_inputs, grad_outputs):  # the last call is the first to come
            self.grad_inputs[path].insert(0, grad_inputs[0])
            self.grad_outputs[path].insert(0, grad_outputs[0])

        return note


@pytest.fixture(scope="module")
def picture():
    return torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))


def build(train):
    torch.manual_seed(0)
    model = resnet18(weights=None).train(train)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    return model


def close(found, wanted):
    return torch.allclose(found, wanted, rtol=1e-3, atol=1e-6 * wanted.abs().max().item())


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_every_gradient_of_resnet18_is_that_of_the_twin(record, digest, picture, train, frozen):
    model, twin = build(train).requires_grad_(not frozen), Twin(build(train))
    paths = [path for path, _ in model.named_modules()]
    before = digest(model)
    quantities = ["output", "grad_input", "grad_output", "parameter_gradient"]
    run = record(
        model, picture, paths, target=lambda scores: scores[:, 3].sum(),
        quantities=quantities, train=train,
    )  # fmt: skip
    assert digest(model) == before

    output = twin.model(picture.clone().requires_grad_())
    output[:, 3].sum().backward()
    assert torch.equal(run.output, output)
    compared = 0
    for path in paths:
        calls = run[path].calls
        assert len(calls) == len(twin.grad_outputs[path])
        for number, call in enumerate(calls):
            wanted_in, wanted_out = twin.grad_inputs[path][number], twin.grad_outputs[path][number]
            assert close(call.grad_inputs["0"], wanted_in)
            assert close(call.grad_outputs["0"], wanted_out)
            assert wanted_in.count_nonzero() > 0
            assert wanted_out.count_nonzero() > 0
            compared += 2
    assert compared == 2 * (len(paths) + 8)  # eight activations are called twice


def test_every_parameter_gradient_of_resnet18_is_that_of_autograd(record, picture):
    model = build(train=False)
    paths = [path for path, _ in model.named_modules()]
    run = record(model, picture, paths, quantities=["parameter_gradient"])
    names, parameters = zip(*model.named_parameters(), strict=True)
    wanted = dict(zip(names, torch.autograd.grad(model(picture).sum(), parameters), strict=True))
    found = {
        f"{path}.{name}": gradient
        for path in paths
        for name, gradient in run[path].parameter_gradients.items()
    }
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
