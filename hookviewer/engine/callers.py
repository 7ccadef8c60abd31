"""See from where in the model's code a torch function is called."""

from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn
from torch.autograd import Function
from torch.utils.checkpoint import CheckpointFunction

_TORCH = Path(torch.__file__).parent
_BETWEEN = (
    str(Path(__file__).parent),
    *(
        str(_TORCH / name)
        for name in ("overrides.py", "functional.py", "_tensor.py", "_ops.py", "nn/functional.py")
    ),
)
"""The files that lie between a model's own code and this module when it calls a function."""


def is_in_transform() -> bool:
    """Whether a transform of torch.func, as ``vmap``, is at work: its tensors are no real ones."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def is_in_reentrant_checkpoint(frame: FrameType | None) -> bool:
    """Whether ``frame`` was called in the first, graphless forward of a reentrant checkpoint."""
    while frame is not None:
        if frame.f_code is CheckpointFunction.forward.__code__:
            return True
        frame = frame.f_back
    return False


def is_in_autograd_function(frame: FrameType | None) -> bool:
    """Whether ``frame`` was called from an autograd function that the running module applies."""
    while frame is not None and frame.f_code is not nn.Module._call_impl.__code__:
        if _is_forward_of_function(frame.f_code):
            return True
        frame = frame.f_back
    return False


@cache
def _is_forward_of_function(code: CodeType) -> bool:
    if code is CheckpointFunction.forward.__code__:  # it calls what is the model's own
        return False
    waiting: list[Any] = [Function]
    while waiting:
        kind = waiting.pop()
        if getattr(kind.forward, "__code__", None) is code:
            return True
        waiting += kind.__subclasses__()
    return False


def source_of(frame: FrameType | None) -> str:
    """Return the file and line of the model's own code that ``frame`` was called from."""
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else ""
