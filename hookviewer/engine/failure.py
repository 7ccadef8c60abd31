"""Turn what a model's or a target's own code raised into a sentence that names the place.

Tracebacks are kept as text only: their frames would hold every tensor of the run.
"""

import traceback
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from hookviewer.engine.call import named
from hookviewer.engine.errors import BackwardError, CannotRunError, ForwardError, TargetError
from hookviewer.engine.leaves import leaves
from hookviewer.engine.paths import Paths
from hookviewer.engine.wants import wanted

_MEMORY_WORDS = ("can't allocate memory", "not enough memory", "out of memory")
"""What torch says in errors of no kind of their own, on the CPU and on other devices."""


def forward_error(error: Exception, paths: Paths) -> ForwardError:
    """Return a ``ForwardError`` that names the innermost module in which ``error`` happened.

    The sentence says what that module was given and what it wants, where that is known.
    """
    details = "".join(traceback.format_exception(error))
    module, given = _innermost_module(error.__traceback__)
    path = next((path for path, known in paths.modules.items() if known is module), None)
    where = "The model stopped"
    if module is not None:
        name = f"'{path}' ({type(module).__name__})" if path else type(module).__name__
        where = f"{where} in {name}{_given(given)}"
    return ForwardError(f"{where}: {_explained(error, module, given)}", path, details)


def target_error(error: Exception) -> TargetError:
    """Return a ``TargetError`` that says what the target's own code said."""
    result = TargetError(f"The target could not be computed: {_explained(error)}")
    result.details = "".join(traceback.format_exception(error))
    return result


def backward_error(error: Exception) -> BackwardError:
    """Return a ``BackwardError`` that says what autograd said."""
    result = BackwardError(f"The gradients could not be computed: {_explained(error)}")
    result.details = "".join(traceback.format_exception(error))
    return result


def memory_error(error: Exception) -> CannotRunError:
    """Return a ``CannotRunError`` for memory that ran out outside of the model's own code."""
    result = CannotRunError(f"The run could not be recorded: {_explained(error)}")
    result.details = "".join(traceback.format_exception(error))
    return result


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that memory ran out, on the host or on a device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _MEMORY_WORDS)


def _explained(
    error: Exception, module: nn.Module | None = None, given: dict[str, Any] | None = None
) -> str:
    said = str(error).strip() or type(error).__name__
    if is_out_of_memory(error):
        return (
            "there is not enough memory. Feed a smaller input or fewer samples, tap fewer nodes, "
            f"or record without gradients. ({said})"
        )
    wish = wanted(module, given or {}, said) if module is not None else None
    return f"{wish}. ({said})" if wish is not None else said


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
    sizes = [_size(tensor) for tensor in leaves(given).values()]
    return f", which was given {' and '.join(sizes)}" if sizes else ""


def _size(tensor: Tensor) -> str:
    if tensor.is_nested:
        return "a nested tensor"  # of which some have no shape to ask for
    return " × ".join(map(str, tensor.shape)) or "a number"
