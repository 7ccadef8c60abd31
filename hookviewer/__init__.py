"""Look inside any PyTorch model, forward and backward.

The names below are found when they are first used, so that importing hookviewer is quick and
loads neither torch nor Qt.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "ALL",
    "HookviewerError",
    "Inputs",
    "Run",
    "__version__",
    "interventions",
    "load",
    "open_run",
    "read_input",
    "record",
    "targets",
    "tree",
]

if TYPE_CHECKING:
    from hookviewer import interventions, targets
    from hookviewer.api import load, read_input, record, tree
    from hookviewer.engine.errors import HookviewerError
    from hookviewer.engine.globs import ALL
    from hookviewer.engine.plan import Inputs
    from hookviewer.engine.run import Run
    from hookviewer.engine.run_file import open_run
else:  # to a type checker, this function would make every name a right one

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in ("interventions", "targets"):
            return import_module(f"hookviewer.{name}")
        places = {
            "ALL": "engine.globs",
            "HookviewerError": "engine.errors",
            "Inputs": "engine.plan",
            "Run": "engine.run",
            "load": "api",
            "open_run": "engine.run_file",
            "read_input": "api",
            "record": "api",
            "tree": "api",
        }
        if name not in places:
            raise AttributeError(f"module 'hookviewer' has no attribute '{name}'")
        return getattr(import_module(f"hookviewer.{places[name]}"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
