"""Find the modules inside a wrapped model, and run what it wraps in one piece, uncompiled.

What is exact, and what is not:

- ``torch.compile``, of a model, a part, a function or in place: what runs is the original. A
  compiled module's path names the module that was compiled. Compiled code may round otherwise.
- ``DataParallel`` and ``DistributedDataParallel``: what they wrap is run once, on one device, over
  the whole batch, and keeps its path below ``module``. No other process is waited for.
- ``functools.partial`` and bound methods of a module are called as they are.
- An ``ExportedProgram`` is run as the modules that it was made of, with copies of its parameters.
- What ``ExportedProgram.module()`` gives has lost them: they hold parameters and are not called.
- ``torch.fx`` and ``torch.ao`` give modules like any other; fused ones show what really runs.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.nn.parallel import DataParallel, DistributedDataParallel


@dataclass(frozen=True, slots=True, eq=False)
class Unwrapped:
    """A model as it is run.

    Attributes:
        call: What is called with the inputs.
        module: The module that the paths begin at; None for functions without one.
    """

    call: Callable[..., Any]
    module: nn.Module | None


def unwrapped(model: Callable[..., Any] | ExportedProgram) -> Unwrapped:
    """Return what to call, and the module in it, for anything that a model may come as.

    An exported program gives new modules each time.
    """
    if isinstance(model, ExportedProgram):
        program = torch.export.unflatten(model)
        return Unwrapped(program, program)
    inner: Any = model
    while not isinstance(inner, nn.Module):
        if isinstance(inner, partial):
            inner = inner.func
        elif hasattr(inner, "__self__"):
            inner = inner.__self__
        else:
            return Unwrapped(model, None)
    return Unwrapped(model, inner)


def named_modules(module: nn.Module, path: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Yield every module below ``path`` with its path, shared ones under each of theirs.

    A compiled module is passed over: its path is that of what was compiled.
    """
    compiled = _compiled_kind()
    while compiled is not None and isinstance(module, compiled):
        module = module._modules["_orig_mod"]
    yield path, module
    for name, inner in module._modules.items():
        if inner is not None:
            yield from named_modules(inner, f"{path}.{name}" if path else name)


def is_exported(module: nn.Module) -> bool:
    """Whether ``ExportedProgram.module()`` made ``module``: its mode is fixed for good."""
    return isinstance(module, fx.GraphModule) and "inline_constraints" in module.meta


@contextmanager
def eager(module: nn.Module | None) -> Iterator[None]:
    """Run what ``module`` calls in this block uncompiled, in this thread, on one device.

    Hooks and function modes then see everything. What was compiled stays so for later; meanwhile
    nothing in this process runs compiled.
    """
    with ExitStack() as stack:
        if _compiled_kind() is not None:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for each in module.modules() if module is not None else ():
            if isinstance(each, DataParallel | DistributedDataParallel):
                stack.enter_context(_handing_on(each))
        yield


@contextmanager
def _handing_on(wrapper: nn.Module) -> Iterator[None]:
    """Let ``wrapper`` do nothing but call its module, for the length of the block."""
    own = vars(wrapper)
    before = {"forward": own["forward"]} if "forward" in own else {}
    own["forward"] = wrapper._modules["module"]
    try:
        yield
    finally:
        del own["forward"]
        own.update(before)


def _compiled_kind() -> Any:
    """Return the class of compiled modules; None while nothing can have been compiled."""
    return getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
