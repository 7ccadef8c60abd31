"""Let torch's attention run fused where the plain call would, whatever is being recorded."""

from collections.abc import Callable, Iterable, Set
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from hookviewer.engine.call import named, unnamed
from hookviewer.engine.fused import FUSIBLE, has_hooks, may_run_fused, run_without_hooks, runs_fused
from hookviewer.engine.graph import next_sequence_number
from hookviewer.engine.leaves import map_leaves
from hookviewer.engine.masks import without_planted_masks
from hookviewer.engine.modes import without
from hookviewer.engine.roots import Roots


class Fusing:
    """Stands between the calls of torch's attention modules and what they do.

    Hooks on what is inside such a module, a function mode, and inputs that are roots of a graph
    would each keep torch from its fused kernel, and other kernels give other bits. So where the
    plain call runs fused, all three are kept away from it. What is inside does not exist then, and
    no gradient comes from behind.

    Attributes:
        paths: The modules that ran fused.
        until: The sequence number at which the last of them returned; -1 without any.
    """

    def __init__(self, roots: Roots, plants: bool) -> None:
        self._roots, self._plants = roots, plants
        self.mode: TorchFunctionMode | None = None
        """What is to be kept away; None where operations are not looked at."""
        self._paths: dict[nn.Module, list[str]] = {}
        self._hooked: Set[nn.Module] = frozenset()
        self.paths: set[str] = set()
        self.until = -1

    def install(self, stack: ExitStack, by_module: dict[nn.Module, list[str]]) -> None:
        """Stand between, until ``stack`` is closed. Call it before anything else is hooked."""
        kinds = {kind for kind in set(map(type, by_module)) if issubclass(kind, FUSIBLE)}
        modules = [m for m in by_module if type(m) in kinds and may_run_fused(m)] if kinds else []
        if modules:
            self._paths = by_module
            self._hooked = frozenset(filter(has_hooks, by_module))
        for module in modules:
            vars(module)["forward"] = partial(self._call, module)
            stack.callback(vars(module).pop, "forward", None)

    def without_masks(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments of an attention whose masks require gradients only where plain ones do.

        No gradient of these masks exists in what the plain call computes.
        """
        is_planted = self._roots.are_all_behind
        args, kwargs, any_planted = without_planted_masks(function, args, kwargs, is_planted)
        if any_planted:
            self.until = next_sequence_number()
        return args, kwargs

    def has_inside(self, path: str) -> bool:
        """Whether what has this path is inside of a module that ran fused."""
        return any(_is_inside(path, fused) for fused in self.paths)

    def _call(self, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        own = vars(module).pop("forward")
        try:
            with without(self.mode) if self.mode is not None else nullcontext():
                plain_args, plain_kwargs = self._without_roots(args, kwargs)
                if runs_fused(module, plain_args, plain_kwargs, self._hooked.__contains__):
                    return self._fused(module, plain_args, plain_kwargs)
                args, kwargs = self.without_masks(type(module).forward, (module, *args), kwargs)
            return type(module).forward(*args, **kwargs)
        finally:
            vars(module)["forward"] = own

    def _fused(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = run_without_hooks(module, args, kwargs)
        self.paths.update(self._paths[module])
        self.until = next_sequence_number()
        return self._roots.plant(output) if self._plants else output

    def _without_roots(
        self, args: Iterable[Any], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments that require gradients only where those of the plain call do."""
        plain: dict[int, Tensor] = {}

        def as_given(_leaf: str, tensor: Tensor) -> Tensor:
            if not self._roots.are_all_behind(tensor):
                return tensor
            return plain.setdefault(id(tensor), tensor.detach())  # the same tensor stays the same

        return unnamed(map_leaves(named(args, kwargs), as_given), kwargs)


def _is_inside(path: str, fused: str) -> bool:
    return path != fused and (fused == "" or path.startswith((f"{fused}.", f"{fused}/")))
