"""Every model of torchvision, recorded whole and held against a twin with torch's own hooks."""

import time
from collections import defaultdict
from contextlib import contextmanager
from functools import partial

import pytest
import torch

from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap

from .comparison import Comparison, Row
from .subjects import NAMES, build, tensors_in, weighted
from .twin import Twin

QUANTITIES = (Quantity.INPUT, Quantity.OUTPUT, Quantity.GRAD_INPUT, Quantity.GRAD_OUTPUT)
REPRESENTATIVE = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fcn_resnet50",
    "googlenet",
    "maxvit_t",
    "mc3_18",
    "mnasnet0_5",
    "mobilenet_v3_small",
    "mvit_v2_s",
    "quantized_mobilenet_v2",
    "raft_small",
    "regnet_y_400mf",
    "resnet18",
    "shufflenet_v2_x0_5",
    "squeezenet1_0",
    "ssdlite320_mobilenet_v3_large",
    "swin_t",
    "vgg11_bn",
    "vit_b_16",
]


@pytest.mark.parametrize("name", REPRESENTATIVE)
def test_a_model_is_recorded_as_its_twin_computes_it(name, rows, digest):
    assert_recorded_as_its_twin_computes_it(name, rows, digest)


@pytest.mark.zoo
@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_recorded_as_its_twin_computes_it(name, rows, digest):
    assert_recorded_as_its_twin_computes_it(name, rows, digest)


def assert_recorded_as_its_twin_computes_it(name, rows, digest):
    row = Row(name)
    rows.append(row)
    with _timed(row, "build"):
        subject = build(name)
        model, args, kwargs = subject.model, subject.args, subject.kwargs
    with _timed(row, "twin"):
        twin = Twin(model)
        expected = twin.run(args, kwargs, weighted)
    with _timed(row, "plain"):
        plain = model(*args, **kwargs)
    assert _are_equal(plain, expected), "the twin is none"
    with _timed(row, "digest"):
        before = digest(model)
    with _timed(row, "record"):
        run = execute(model, Plan(_every_tap(model), Inputs(*args, **kwargs), weighted))
    with _timed(row, "digest"):
        left = _traces(before, digest(model))
    with _timed(row, "compare"):
        Comparison(row, run, twin).fill()
    row.mismatches += [f"left behind in {trace}" for trace in left]
    if not _are_equal(plain, run.output):
        row.mismatches.append("another output")
    if len(args) == 1 and isinstance(args[0], torch.Tensor) and len(args[0]) > 1:
        with _timed(row, "one"):
            row.mismatches += _differences_for_one(model, args[0][:1])
    assert row.mismatches == []
    assert row.nonzero > 0


def _differences_for_one(model, picture):
    """Return the modules that recording lets compute other bits from one picture.

    A batch of one has strides that mean nothing, yet kernels are chosen by them. Torch's full
    backward hooks change these, so there is no twin.
    """
    seen = defaultdict(list)
    handles = [
        module.register_forward_hook(partial(_keep_output, seen[path]))
        for path, module in model.named_modules()
    ]
    model(picture)
    for handle in handles:
        handle.remove()
    run = execute(model, Plan(_every_tap(model), Inputs(picture), weighted))
    recorded = {
        (c.tap.path, c.call, c.leaf): c.tensor
        for c in run.captures
        if c.tap.quantity == Quantity.OUTPUT
    }
    return [
        f"{path or 'the root'}, {call}, {leaf}: other bits from one picture"
        for path, calls in seen.items()
        for call, outputs in enumerate(calls)
        for leaf, tensor in outputs.items()
        if (path, call, leaf) not in recorded or not torch.equal(recorded[path, call, leaf], tensor)
    ]


def _keep_output(calls, _module, _args, output):
    calls.append({leaf: t.detach().clone() for leaf, t in tensors_in(output).items()})


def _every_tap(model):
    paths = [path for path, _ in model.named_modules(remove_duplicate=False)]
    return frozenset(Tap(path, quantity) for path in paths for quantity in QUANTITIES)


def _are_equal(one, other):
    """Whether two outputs have the same tensors at the same places, and nothing but numbers."""
    first, second = tensors_in(one), tensors_in(other)
    return first.keys() == second.keys() and all(
        torch.equal(tensor, second[leaf]) and tensor.isfinite().all()
        for leaf, tensor in first.items()
    )


def _traces(before, after):
    return [part for part in before if before[part] != after[part]]


@contextmanager
def _timed(row, step):
    started = time.perf_counter()
    yield
    row.seconds[step] += time.perf_counter() - started
