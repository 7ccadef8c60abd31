"""What the model worker does: torch is imported here, in its thread, when the window is up."""

import gc
from dataclasses import dataclass, field, replace
from typing import Any

from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.node import Node
from hookviewer.engine.plan import Plan
from hookviewer.engine.run import Run
from hookviewer.inputs import LoadedInput, read_input
from hookviewer.preprocessing import Preprocessing
from hookviewer.sources import LoadedModel, load

Prediction = tuple[int, str, float]
"""Class index, class name, probability."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What this machine offers once torch is there."""

    devices: tuple[str, ...]
    torchvision_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpenedModel:
    """A model in the worker's care, and its tree for everybody."""

    loaded: LoadedModel = field(repr=False)
    tree: Node = field(repr=False)
    device: str
    is_function: bool = False
    """Whether it is a function, not a module."""
    buffers: Any = field(default=None, repr=False)
    """The worker's memory for captures, used again from run to run."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A run, and its likeliest classes; none where the output is no table of scores."""

    run: Run = field(repr=False)
    predictions: tuple[Prediction, ...] = ()


def look_around(_token: CancelToken) -> Surroundings:
    """Import torch, which takes seconds, and say what it can use."""
    import torch

    from hookviewer.sources.torchvision_models import names

    gc.freeze()  # a look through all that torch holds would stop the window for half a second
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return Surroundings(tuple(devices), tuple(names()))


def open_model(spec: str, device: str, token: CancelToken) -> OpenedModel:
    """Load the model that ``spec`` names and describe it."""
    from torch import nn

    from hookviewer.engine.buffers import Buffers
    from hookviewer.engine.paths import build_tree

    loaded = load(spec, token=token)
    token.check()
    is_function = not isinstance(loaded.model, nn.Module)
    opened = OpenedModel(loaded, build_tree(loaded.model), "", is_function, Buffers())
    return move_model(opened, device, token)


def move_model(opened: OpenedModel, device: str, _token: CancelToken) -> OpenedModel:
    """Put an opened model on another device; a function computes where its input is."""
    model: Any = opened.loaded.model
    if opened.is_function:
        return replace(opened, device="cpu")
    try:
        model.to(device)
    except (RuntimeError, AssertionError) as error:  # what torch raises depends on the device
        reason = str(error).partition("\n")[0]
        model.to(opened.device or "cpu")
        raise HookviewerError(f"The model cannot be put on '{device}': {reason}") from error
    return replace(opened, device=device)


def open_input(spec: str, preprocessing: Preprocessing, _token: CancelToken) -> LoadedInput:
    """Read the input that ``spec`` names, as the model wants it."""
    return read_input(spec, preprocessing)


def run_plan(opened: OpenedModel, plan: Plan, token: CancelToken) -> Outcome:
    """Carry out ``plan`` on an opened model."""
    from hookviewer.engine.describe import describe
    from hookviewer.engine.execute import execute

    run = execute(opened.loaded.model, plan, token, opened.buffers)
    description = describe(opened.loaded.model, plan)
    run = replace(run, description=replace(description, spec=opened.loaded.spec))
    if plan.survey and opened.is_function:
        run = replace(run, shapes={"": _first_shape(run.output), **run.shapes})
    try:
        return Outcome(run, tuple(run.top(5)))
    except HookviewerError:  # a map, a dictionary: there is nothing to rank
        return Outcome(run)


def _first_shape(output: Any) -> tuple[tuple[int, ...], ...]:
    """Return what a survey notes of a module: the shape of its output's first tensor, per call."""
    from hookviewer.engine.leaves import leaves

    return (next((tuple(tensor.shape) for tensor in leaves(output).values()), ()),)
