"""The user's own functions as an intervention."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.users_code import guarded

if TYPE_CHECKING:
    from torch import Tensor

Change = Callable[["Tensor"], "Tensor"]


@interventions.register("function")
def function(forward: Change | None = None, backward: Change | None = None) -> Intervention:
    """Change values by ``forward``, gradients by ``backward``; None leaves them alone.

    Each is given a copy and returns a tensor of the same shape, dtype and device.

    Raises:
        HookviewerError: In the run: one raises, or returns something else; it is named.
    """
    return Intervention(_named(forward), _named(backward))


def _named(change: Change | None) -> Change | None:
    if change is None:
        return None
    name = getattr(change, "__name__", type(change).__name__)
    return guarded(change, f"The function '{name}'")
