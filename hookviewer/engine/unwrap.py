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
import warnings
from collections.abc import Callable, Iterable, Iterator
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


def named_modules(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield every module of ``module`` with its path, shared ones under each of theirs.

    A compiled module is passed over: its path is that of what was compiled.
    """
    compiled = _compiled_kind()
    waiting = [("", module)]
    while waiting:
        path, module = waiting.pop()
        while compiled is not None and isinstance(module, compiled):
            module = module._modules["_orig_mod"]
        yield path, module
        start = f"{path}." if path else ""
        inner = [(start + name, each) for name, each in module._modules.items() if each is not None]
        waiting += reversed(inner)


def compiled_wrappers(module: nn.Module) -> list[nn.Module]:
    """Return the modules that only stand for a compiled one, and so have no path."""
    compiled = _compiled_kind()
    found: list[nn.Module] = []
    waiting = [module] if compiled is not None else []
    while waiting:
        each = waiting.pop()
        if type(each) is compiled and not any(each is known for known in found):
            found.append(each)
        waiting += [inner for inner in each._modules.values() if inner is not None]
    return found


def is_exported(module: nn.Module) -> bool:
    """Whether ``ExportedProgram.module()`` made ``module``: its mode is fixed for good."""
    return isinstance(module, fx.GraphModule) and "inline_constraints" in module.meta


@contextmanager
def eager(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Run what ``modules`` call in this block uncompiled, in this thread, on one device.

    Hooks and function modes then see everything. What was compiled stays so for later; meanwhile
    nothing in this process runs compiled.
    """
    with ExitStack() as stack:
        if _compiled_kind() is not None:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", ".*when there are global hooks on modules")
        for each in modules:
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
