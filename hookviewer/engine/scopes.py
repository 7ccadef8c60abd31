"""Know which module is running, from the calls that begin and end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import nn

from hookviewer.engine.sites import Watch

_TORCH = "torch.nn.modules."


@dataclass(slots=True, eq=False)
class Scope:
    """A module that is running, as far as operations in it are concerned.

    Attributes:
        module: The module; None for a model that is none.
        paths: Its paths.
        is_opaque: Whether what it calls itself are no operations of the model, as in torch's ReLU.
        watches: What is wanted of the operations in it, by name, as far as this was looked up.
    """

    module: nn.Module | None
    paths: tuple[str, ...]
    is_opaque: bool = False
    watches: dict[str, Watch | None] = field(default_factory=dict)


class Scopes:
    """The modules of a model that are running, the innermost last."""

    def __init__(self, by_module: Mapping[nn.Module, list[str]]) -> None:
        self._by_module = by_module
        self._known: dict[nn.Module, Scope] = {}
        self._running = [Scope(None, ("",))]

    @property
    def innermost(self) -> Scope:
        """The module that runs now; the model itself outside of all calls."""
        return self._running[-1]

    def enter(self, module: nn.Module) -> None:
        """Note that a call of ``module`` begins; one that is not of the model is passed over."""
        if module in self._by_module:
            self._running.append(self._scope(module))

    def leave(self, module: nn.Module) -> None:
        """Note that the newest call of ``module`` has ended, and all that began in it."""
        for index in range(len(self._running) - 1, 0, -1):
            if self._running[index].module is module:
                del self._running[index:]
                return

    def _scope(self, module: nn.Module) -> Scope:
        if module not in self._known:
            paths = tuple(self._by_module[module])
            self._known[module] = Scope(module, paths, _is_opaque(module))
        return self._known[module]


def _is_opaque(module: nn.Module) -> bool:
    """Whether ``module`` is childless and computes as torch's own modules do."""
    if any(True for _ in module.children()):
        return False
    return type(module).forward.__module__.startswith(_TORCH)
