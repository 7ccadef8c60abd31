"""Name why a run knows nothing at all of a tap."""

from collections.abc import Callable

from hookviewer.engine import absence
from hookviewer.engine.paths import (
    Paths,
    is_container,
    is_scripted,
    is_uninitialised,
    own_tensors,
    split_operation,
)
from hookviewer.engine.plan import Plan, Quantity, Tap
from hookviewer.engine.unwrap import is_exported

_INTO = (Quantity.INPUT, Quantity.GRAD_INPUT)


def explain(
    paths: Paths, plan: Plan, tap: Tap, was_called: bool, is_inside_fused: Callable[[str], bool]
) -> str:
    """Return the absence that stands for every call and leaf of ``tap``."""
    is_module = tap.path in paths.modules
    reason = _of_parameters(paths, tap)
    if reason is not None:
        return reason
    if tap.quantity.is_gradient and plan.target is None:
        return absence.FORWARD_ONLY
    if tap.quantity in _INTO and not is_module and not split_operation(tap.path)[1]:
        return absence.NO_TENSORS  # nothing goes into an input, a parameter or a buffer
    if was_called and tap.quantity.is_gradient:
        return absence.STOPPED  # the target failed, or the backward pass did
    if is_inside_fused(f"{tap.path}/" if tap.quantity is Quantity.ATTENTION else tap.path):
        return absence.FUSED
    return _of_calls(paths, tap, was_called)


def _of_calls(paths: Paths, tap: Tap, was_called: bool) -> str:
    module = paths.modules.get(tap.path)
    if was_called or paths.owner(tap.path) is not None:
        return absence.NO_TENSORS
    if module is not None and is_scripted(module):
        return absence.IN_TORCHSCRIPT
    if paths.root is not None and is_exported(paths.root):
        return absence.IN_EXPORTED
    if module is not None and is_container(module):
        return absence.CONTAINER
    return absence.NOT_CALLED


def _of_parameters(paths: Paths, tap: Tap) -> str | None:
    """Return why there are no numbers in what ``tap`` wants of parameters, if there are none."""
    owner = paths.owner(tap.path)
    if owner is not None:
        tensor = own_tensors(paths.modules[owner[0]])[owner[1]]
        return absence.UNINITIALISED if is_uninitialised(tensor) else None
    module = paths.modules.get(tap.path) if tap.quantity.is_of_parameters else None
    if module is None:
        return None
    own = own_tensors(module)
    if any(map(is_uninitialised, own.values())):
        return absence.UNINITIALISED
    if not own:
        return absence.CONTAINER if any(module.children()) else absence.NO_TENSORS
    return None
