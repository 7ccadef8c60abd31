"""Turn what a model's own code raised into a sentence that names the place."""

import traceback
from types import TracebackType
from typing import Any

from torch import nn

from hookviewer.engine.errors import BackwardError, ForwardError
from hookviewer.engine.leaves import leaves
from hookviewer.engine.paths import Paths


def forward_error(error: Exception, paths: Paths) -> ForwardError:
    """Return a ``ForwardError`` that names the innermost module in which ``error`` happened.

    The traceback is kept as text only: its frames would hold every tensor of the forward.
    """
    details = "".join(traceback.format_exception(error))
    module, args = _innermost_module(error.__traceback__)
    path = next((path for path, known in paths.modules.items() if known is module), None)
    what = str(error).strip() or type(error).__name__
    if module is None:
        sentence = f"The model stopped: {what}"
    else:
        name = f"'{path}' ({type(module).__name__})" if path else type(module).__name__
        sentence = f"The model stopped in {name}{_given(args)}: {what}"
    error.__traceback__ = None
    return ForwardError(sentence, path, details)


def backward_error(error: Exception) -> BackwardError:
    """Return a ``BackwardError`` that says what autograd said."""
    result = BackwardError(f"The gradients could not be computed: {str(error).strip()}")
    result.details = "".join(traceback.format_exception(error))
    error.__traceback__ = None
    return result


def _innermost_module(
    place: TracebackType | None,
) -> tuple[nn.Module | None, tuple[Any, ...]]:
    module, args = None, ()
    while place is not None:
        names = place.tb_frame.f_locals
        if place.tb_frame.f_code.co_name == "_call_impl" and isinstance(names["self"], nn.Module):
            module, args = names["self"], names["args"]
        place = place.tb_next
    return module, args


def _given(args: tuple[Any, ...]) -> str:
    shapes = [" × ".join(map(str, tensor.shape)) or "a number" for tensor in leaves(args).values()]
    return f", which was given {' and '.join(shapes)}" if shapes else ""
