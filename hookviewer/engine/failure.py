"""Turn what a model's or a target's own code raised into a sentence that names the place.

Tracebacks are kept as text only: their frames would hold every tensor of the run.
"""

import traceback
from types import TracebackType
from typing import Any

from torch import nn

from hookviewer.engine.call import named
from hookviewer.engine.errors import BackwardError, ForwardError, TargetError
from hookviewer.engine.leaves import leaves
from hookviewer.engine.paths import Paths


def forward_error(error: Exception, paths: Paths) -> ForwardError:
    """Return a ``ForwardError`` that names the innermost module in which ``error`` happened."""
    details = "".join(traceback.format_exception(error))
    module, given = _innermost_module(error.__traceback__)
    path = next((path for path, known in paths.modules.items() if known is module), None)
    what = _said(error)
    if module is None:
        sentence = f"The model stopped: {what}"
    else:
        name = f"'{path}' ({type(module).__name__})" if path else type(module).__name__
        sentence = f"The model stopped in {name}{_given(given)}: {what}"
    return ForwardError(sentence, path, details)


def target_error(error: Exception) -> TargetError:
    """Return a ``TargetError`` that says what the target's own code said."""
    result = TargetError(f"The target could not be computed: {_said(error)}")
    result.details = "".join(traceback.format_exception(error))
    return result


def backward_error(error: Exception) -> BackwardError:
    """Return a ``BackwardError`` that says what autograd said."""
    result = BackwardError(f"The gradients could not be computed: {_said(error)}")
    result.details = "".join(traceback.format_exception(error))
    return result


def _said(error: Exception) -> str:
    return str(error).strip() or type(error).__name__


def _innermost_module(
    place: TracebackType | None,
) -> tuple[nn.Module | None, dict[str, Any]]:
    module, given = None, {}
    while place is not None:
        if place.tb_frame.f_code is nn.Module._call_impl.__code__:
            names = place.tb_frame.f_locals
            module, given = names["self"], named(names["args"], names["kwargs"])
        place = place.tb_next
    return module, given


def _given(given: dict[str, Any]) -> str:
    shapes = [" × ".join(map(str, tensor.shape)) or "a number" for tensor in leaves(given).values()]
    return f", which was given {' and '.join(shapes)}" if shapes else ""
