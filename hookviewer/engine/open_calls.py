"""Hold the calls of modules that have begun and not yet ended."""

from collections import defaultdict
from collections.abc import Callable

from torch import nn

from hookviewer.engine.call import Call


class OpenCalls:
    """The calls that are under way, by module, the innermost last.

    Args:
        drop: What is to be done with a call that raised inside the model.
    """

    def __init__(self, drop: Callable[[Call], None]) -> None:
        self._drop = drop
        self._begun: dict[nn.Module, list[Call]] = defaultdict(list)

    def begin(self, module: nn.Module, call: Call) -> None:
        """Note that ``call`` has begun."""
        self._begun[module].append(call)

    def end(self, module: nn.Module, key: object) -> Call:
        """Take back the call of ``module`` with this ``key``; those begun later have raised."""
        begun = self._begun[module]
        while begun[-1].key is not key:
            self._drop(begun.pop())
        return begun.pop()

    def drop_all(self) -> None:
        """Give up all calls: none of them will return any more."""
        for begun in self._begun.values():
            while begun:
                self._drop(begun.pop())
