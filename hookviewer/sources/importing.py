"""Let the modules of a folder be imported for a while."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

SCRIPT_PREFIX = "_hookviewer_script_"
"""Begins the names of scripts' own modules, which are kept so that their models can be pickled."""

_MARK = "__hookviewer_imported_from__"


@contextmanager
def importable(folder: Path, *, first: bool = True) -> Iterator[None]:
    """Put ``folder`` on Python's search path inside the block; afterwards the path is as before.

    Modules that an earlier block found in its folder are forgotten, so that edited files are read
    anew and two scripts may each have a ``layers.py`` beside them.

    Args:
        folder: Where modules shall be found.
        first: Whether its modules hide installed ones of the same name, as a script's do.
    """
    path = list(sys.path)
    for name in [name for name, module in sys.modules.items() if _MARK in _contents(module)]:
        del sys.modules[name]
    known = set(sys.modules)
    importlib.invalidate_caches()
    sys.path.insert(0 if first else len(sys.path), str(folder))
    try:
        yield
    finally:
        sys.path[:] = path
        _mark(known, folder)


def _mark(known: set[str], folder: Path) -> None:
    """Mark the modules that were found in ``folder`` since ``known`` was noted."""
    if folder.name.endswith("-packages"):  # libraries must not be forgotten
        return
    new = {name for name in sys.modules if not name.startswith(SCRIPT_PREFIX)} - known
    own = {name for name in new if "." not in name and _lies_in(sys.modules[name], folder)}
    for name in new:
        if name.partition(".")[0] in own:
            _contents(sys.modules[name])[_MARK] = str(folder)


def _lies_in(module: ModuleType, folder: Path) -> bool:
    contents = _contents(module)
    if contents.get("__file__"):
        file = Path(contents["__file__"])
        places = [file.parent if file.name == "__init__.py" else file]
    else:  # a package without __init__.py, or no module with files at all
        places = [Path(place) for place in contents.get("__path__", ())]
    return any(place.resolve().parent == folder.resolve() for place in places)


def _contents(module: object) -> dict[str, Any]:
    """Return the namespace of ``module`` without waking modules that load themselves lazily."""
    return getattr(module, "__dict__", {})
