"""Name why a run knows nothing at all of a tap."""

from hookviewer.engine import absence
from hookviewer.engine.paths import Paths, is_container, is_uninitialised, own_tensors
from hookviewer.engine.plan import Plan, Tap


def explain(paths: Paths, plan: Plan, tap: Tap, was_called: bool) -> str:
    """Return the absence that stands for every call and leaf of ``tap``."""
    if tap.quantity.is_of_parameters and tap.path in paths.modules:
        reason = _of_parameters(paths, tap)
        if reason is not None:
            return reason
    if tap.quantity.is_gradient and (plan.target is None or was_called):
        return absence.FORWARD_ONLY
    if was_called or paths.owner(tap.path) is not None:
        return absence.NO_TENSORS
    module = paths.modules.get(tap.path)
    if module is not None and is_container(module):
        return absence.CONTAINER
    return absence.NOT_CALLED


def _of_parameters(paths: Paths, tap: Tap) -> str | None:
    module = paths.modules[tap.path]
    own = own_tensors(module)
    if any(map(is_uninitialised, own.values())):
        return absence.UNINITIALISED
    if not own:
        return absence.CONTAINER if any(module.children()) else absence.NO_TENSORS
    return None
