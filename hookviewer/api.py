"""The Python API: what a script, a notebook or a debugger asks of hookviewer."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import psutil
import torch
from torch import Tensor, nn

from hookviewer import inputs as readable
from hookviewer import sources
from hookviewer.engine.describe import describe
from hookviewer.engine.errors import HookviewerError, TargetError
from hookviewer.engine.execute import execute
from hookviewer.engine.node import Node
from hookviewer.engine.paths import build_tree
from hookviewer.engine.placement import inputs_on, known_device, model_on
from hookviewer.engine.plan import Inputs, Intervention, LiveTarget, Plan, Quantity, Tap, Target
from hookviewer.engine.run import Run
from hookviewer.engine.spelling import check_inputs, check_operations, is_operation
from hookviewer.preprocessing import Preprocessing
from hookviewer.targets.class_score import ClassScore

MEMORY_SHARE = 0.5
"""How much of the memory that is free when a run starts its captures may take."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """What is known of a model that was loaded here, apart from the model itself."""

    spec: str
    preprocessing: Preprocessing
    class_names: tuple[str, ...]


_origins: WeakKeyDictionary[nn.Module, _Origin] = WeakKeyDictionary()


def load(spec: str, device: str | None = None) -> Callable[..., Any]:
    """Open a model: a ``torch.nn.Module``, or a function if that is what a factory makes.

    Its preprocessing and class names are remembered beside it, for ``read_input`` and
    ``Run.top``; the model itself is as its maker left it.

    Args:
        spec: ``demo``, ``torchvision:resnet18``, ``torchvision:resnet18?weights=DEFAULT``,
            ``script.py:factory`` or ``package.module:factory``.
        device: Where to put it: ``cpu``, ``cuda:0``, ``mps``; None leaves it where it is made.

    Raises:
        HookviewerError: It cannot be opened or not be put there; the sentence says why.
    """
    place = None if device is None else known_device(device)
    loaded = sources.load(spec)
    model = loaded.model
    if isinstance(model, nn.Module):
        _origins[model] = _Origin(spec, loaded.preprocessing, loaded.class_names)
        if place is not None:
            _move(model, place)
    return model


def read_input(spec: str, model: Callable[..., Any]) -> Tensor | Inputs:
    """Read an input with the preprocessing that goes with ``model``.

    A model that ``load`` did not open gets ImageNet's: resized, cut to 224 × 224 pixels or the
    size the model states, with one channel if its first convolution looks at one.

    Args:
        spec: A picture file, ``demo``, ``demo:coffee``, ``demo:camera``; or what is fed as it is,
            ``noise:1x3x224x224`` and ``script.py:factory``, a function that makes the input.
        model: What it is going to be fed to.

    Returns:
        Of a picture or noise a float32 tensor on the CPU, a picture's (1, channel, row, column).
        ``Inputs`` where a factory makes anything but one tensor. ``record`` takes either, and
        moves it to the model.

    Raises:
        HookviewerError: It cannot be read; the sentence says why.
    """
    origin = _origin(model)
    fitting = Preprocessing.for_model(model) if origin is None else origin.preprocessing
    inputs = readable.read_input(spec, fitting).inputs
    is_one = len(inputs.args) == 1 and not inputs.kwargs and isinstance(inputs.args[0], Tensor)
    return inputs.args[0] if is_one else inputs


def tree(model: Callable[..., Any]) -> Node:
    """Return the modules, parameters and buffers of ``model`` as a tree of nodes.

    A shared module stands at each of its paths. Operations are not in it: which there are, only
    running the model shows.
    """
    return build_tree(model)


def record(  # noqa: PLR0913, PLR0917 - all that a run can be asked for, in one call
    model: Callable[..., Any],
    x: Any,
    at: str | Iterable[str],
    target: Target | None = None,
    quantities: str | Iterable[str] = ("input", "output", "grad_input", "grad_output"),
    interventions: Mapping[str, Intervention | Iterable[Intervention]] | None = None,
    complete: bool = True,
    train: bool = False,
    device: str | None = None,
    seed: int | None = None,
) -> Run:
    """Run ``model`` once, forward and if there is a target backward, and return what was seen.

    The model comes back as it was, also after an error or Ctrl+C. Its output is bit for bit that
    of ``model(x)`` with gradients enabled.

    >>> import torch, hookviewer as hv
    >>> def net(a, b, d):
    ...     return ((a + b) * d).sum()
    >>> values = torch.tensor([1.0, 2]), torch.tensor([3.0, 4]), torch.tensor([2.0])
    >>> run = hv.record(net, values, at=["input:0", "/add"], target=hv.targets.whole())
    >>> run["/add"].output, run["/add"].grad_output
    (tensor([4., 6.]), tensor([2., 2.]))
    >>> run["input:0"].grad_output, run.score
    (tensor([2., 2.]), 20.0)
    >>> run["/add"].absence("grad_output") is None
    True

    Args:
        model: A module or any other callable.
        x: One argument, a tuple of positional ones, or ``Inputs(*args, **kwargs)``. Tensors are
            copied, and moved to the device of the model's first parameter; their dtype stays.
        at: A path or glob, or several; ``ALL`` is every module, operation, parameter and input.
            ``*`` stands for any text, dots and slashes included, ``?`` for one character. A glob
            without ``/`` or ``:`` matches modules only.
        target: The scalar whose gradients are recorded: one of ``targets``, or any function from
            the output to a tensor with one number. None runs forward only.
        quantities: What to record at these nodes; there are also ``parameter``,
            ``parameter_gradient`` and ``attention``.
        interventions: What is changed on the way, by path or glob: one of ``interventions`` or
            several, which act in order and on all calls.
        complete: False stops the forward after the first call of the last node that something
            is wanted of, unless the target needs the output; ``Run.output`` is then None.
        train: Whether modules are in train mode for this run; eval otherwise.
        device: Run a copy of the model there; None runs the model where it is. Of a callable that
            is no module, only the inputs are moved.
        seed: Where the random numbers of the run start; None goes on from the present state.

    Returns:
        The run. What is not there has a named absence, as "not called" or "no path to the
        target": ``run[path].absence(quantity)``.

    Raises:
        UnknownPathError: A path names no node; the sentence has near ones. An operation that was
            not called may lie in a branch that this run did not take: it is only refused if it
            looks like a misspelling, which one more forward shows.
        TooLargeError: The captures would take more than half of the memory that is free when the
            run starts.
        ForwardError: The model's own code raised. What was captured before is in the error's
            ``run``, as with the two below.
        TargetError: The target is no scalar of this model's output.
        BackwardError: Autograd cannot differentiate this model.
        HookviewerError: The base of all these, and of whatever else a user can act on.
    """
    given, placed = _inputs(x), _callable(model)
    if device is not None:
        place = known_device(device)
        given, placed = inputs_on(place, given), model_on(place, placed)
    changes = _changes(interventions or {})
    plan = Plan(
        taps=_taps(at, quantities),
        inputs=given,
        target=_target(target),
        train=train,
        seed=seed,
        survey=any(map(is_operation, changes)),  # to see whether they were called
        class_names=_class_names(model),
        interventions=changes,
        complete=complete,
        byte_limit=int(MEMORY_SHARE * psutil.virtual_memory().available),
    )
    check_inputs(plan)
    if isinstance(target, ClassScore) and target.leaf is None and plan.class_names:
        target.check(len(plan.class_names))  # before anything runs, where the classes are known
    run = execute(placed, plan)
    check_operations(placed, plan, run)
    origin = _origin(model)
    spec = origin.spec if origin is not None else ""
    return replace(run, description=replace(describe(model, plan), spec=spec))


def _move(model: nn.Module, place: torch.device) -> None:
    try:
        model.to(place)
    except RuntimeError as error:  # no room there, or no numbers to be copied
        reason = str(error).partition("\n")[0].rstrip(".")
        raise HookviewerError(f"The model cannot be put on '{place}': {reason}.") from None


def _taps(at: str | Iterable[str], quantities: str | Iterable[str]) -> frozenset[Tap]:
    paths = [at] if isinstance(at, str) else list(at)
    for path in paths:
        if not isinstance(path, str):
            raise HookviewerError(
                f"A node is named by its path, as 'layer1.0'; {_kind(path)} is none."
            )
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    unknown = [name for name in names if name not in [*Quantity]]
    if unknown:
        known = ", ".join(f"'{quantity}'" for quantity in Quantity)
        raise HookviewerError(f"There is no quantity {unknown[0]!r}. There are: {known}.")
    return frozenset(Tap(path, Quantity(name)) for path in paths for name in names)


def _inputs(x: Any) -> Inputs:
    if isinstance(x, Inputs):
        return x
    return Inputs(*x) if type(x) is tuple else Inputs(x)  # a named tuple is one argument


def _callable(model: Callable[..., Any]) -> Callable[..., Any]:
    if not callable(model):
        raise HookviewerError(f"A model is a module or another callable; {_kind(model)} is none.")
    return model


def _target(target: Target | None) -> Target | None:
    if target is None or isinstance(target, LiveTarget) or callable(target):
        return target
    raise TargetError(
        "A target is a function of the output, as hv.targets.class_score(285) makes one; "
        f"{_kind(target)} is none."
    )


def _changes(
    interventions: Mapping[str, Intervention | Iterable[Intervention]],
) -> Mapping[str, tuple[Intervention, ...]]:
    return {path: tuple(_several(path, value)) for path, value in interventions.items()}


def _several(path: str, value: Intervention | Iterable[Intervention]) -> Iterator[Intervention]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(each, Intervention):
            raise HookviewerError(
                f"At '{path}' stands {_kind(each)}, no intervention; of a function of yours, "
                "hv.interventions.function makes one."
            )
        yield each


def _kind(value: object) -> str:
    """Return what a sentence calls a value that has no place here."""
    return f"what has the type '{type(value).__name__}'"


def _class_names(model: Callable[..., Any]) -> tuple[str, ...]:
    origin = _origin(model)
    return origin.class_names if origin is not None else ()


def _origin(model: Callable[..., Any]) -> _Origin | None:
    return _origins.get(model) if isinstance(model, nn.Module) else None
