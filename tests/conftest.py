"""What all tests share: no screen, nets whose numbers a person can compute, a look for traces."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import hashlib
import random
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.parameter import is_lazy


class Scale(nn.Module):
    """Multiplies by its only parameter, ``factor``."""

    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor, dtype=torch.float64))

    def forward(self, x):
        return x * self.factor


class Residual(nn.Module):
    """``relu(3 x + x)``, added and cut off in place as residual networks do."""

    def __init__(self):
        super().__init__()
        self.inner, self.relu = Scale(3.0), nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.inner(x)
        out += x
        return self.relu(out)


class Twice(nn.Module):
    """``2 (2 x + 1)``: one module, used two times."""

    def __init__(self):
        super().__init__()
        self.scale = Scale(2.0)

    def forward(self, x):
        return self.scale(self.scale(x) + 1)


class Dropping(nn.Module):
    """Keeps its last input, counts its calls, normalises and drops: it writes wherever it can."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(2), nn.Dropout(0.5)
        self.seen, self.count = [], 0
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("last", torch.zeros(2))

    def forward(self, x):
        self.seen.append(x)
        self.count += 1
        self.steps += 1
        self.last = x[0]
        self.latest = x
        return self.drop(self.norm(x)) + np.random.rand() + random.random()


@pytest.fixture
def chain():
    """``[5, 6] relu([[1, 2], [3, -4]] x)``, cut off in place, in float64."""
    first, last = nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)
    net = nn.Sequential(first, nn.ReLU(inplace=True), last).double()
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, -4.0]]))
        last.weight.copy_(torch.tensor([[5.0, 6.0]]))
    return net


@pytest.fixture
def ones():
    """The input ``[[1, 1]]`` in float64."""
    return torch.ones(1, 2, dtype=torch.float64)


@pytest.fixture
def scale():
    """``Scale(factor)``: a module that multiplies by its only parameter, in float64."""
    return Scale


@pytest.fixture
def residual():
    """``relu(3 x + x)`` of ``inner`` and ``relu``, added and cut off in place."""
    return Residual()


@pytest.fixture
def twice():
    """``2 (2 x + 1)``, by two calls of ``scale``."""
    return Twice()


@pytest.fixture
def dropping():
    """A net with ``norm`` and ``drop`` whose forward leaves traces wherever it can."""
    return Dropping()


@pytest.fixture
def digest():
    """``digest(model)`` equals an earlier one if nothing was left in the model or in torch."""
    return _digest


def _digest(model):
    return {
        "tensors": {name: _traces_of(value) for name, value in _own_tensors(model)},
        "modules": {path: _traces_in(module) for path, module in model.named_modules()},
        "state": {name: _bytes(value) for name, value in model.state_dict().items()},
        "random": _random_states(),
        "modes": _modes(),
        "global hooks": _hooks(vars(torch.nn.modules.module), "_global_"),
        "torch": _identities(vars(nn.functional), vars(torch.Tensor), vars(nn.Module), vars(torch)),
    }


def _own_tensors(model):
    yield from model.named_parameters()
    yield from model.named_buffers()


def _traces_of(tensor):
    grad = tensor.grad if tensor.is_leaf else None
    return (
        id(tensor),
        _bytes(tensor),
        tensor.requires_grad,
        tensor.grad_fn is None,
        _hooks_of(tensor),
        None if grad is None else (id(grad), _bytes(grad)),
    )


def _traces_in(module):
    attributes = vars(module)
    contents = {
        name: [id(part) for part in value]
        for name, value in attributes.items()
        if isinstance(value, list | dict)
    }
    values = {name: id(value) for name, value in attributes.items()}
    return module.training, values, contents, _hooks(attributes, "_")


def _hooks(names, start):
    return {
        name: [(number, id(hook)) for number, hook in value.items()]
        for name, value in names.items()
        if name.startswith(start) and "hooks" in name and isinstance(value, dict)
    }


def _hooks_of(tensor):
    kinds = (tensor._backward_hooks, tensor._post_accumulate_grad_hooks if tensor.is_leaf else None)
    return [[(number, id(hook)) for number, hook in (hooks or {}).items()] for hooks in kinds]


def _modes():
    compiling = sys.modules.get("torch._dynamo.eval_frame")
    return {
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "hooks of saved tensors": torch._C._autograd._top_saved_tensors_default_hooks(True),
        "fused attention": torch.backends.mha.get_fastpath_enabled(),
        "stance": getattr(compiling, "_stance", None),
        "threads": torch.get_num_threads(),
    }


def _bytes(tensor):
    if is_lazy(tensor) or tensor.is_meta:
        return "no bytes"
    plain = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return tuple(tensor.shape), str(tensor.dtype), _hash(plain.view(torch.uint8).numpy())


def _random_states():
    kind, numbers, *rest = np.random.get_state()
    python = repr(random.getstate()).encode()
    return _hash(torch.get_rng_state().numpy()), _hash(numbers), kind, rest, _hash(python)


def _hash(content):
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _identities(*namespaces):
    cached = "__slotnames__"  # Python's own note on a class, written by its first copy or pickle
    named = [[(name, id(each[name])) for name in each if name != cached] for each in namespaces]
    return _hash(repr(named).encode())
