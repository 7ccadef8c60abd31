"""A model, or an input, from a function in a Python file."""

import ast
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.extension import sources
from hookviewer.preprocessing import Preprocessing
from hookviewer.sources.arguments import parse
from hookviewer.sources.factory import failure, make, make_model
from hookviewer.sources.importing import SCRIPT_PREFIX, importable
from hookviewer.sources.loaded import LoadedModel, weights_of

# The file ends at the first ".py" before a colon, a question mark or the end: a drive letter and
# a question mark in a folder's name belong to the file.
_SPEC = re.compile(r"(?P<file>.+?\.py)(?::(?P<factory>[\w.]*))?(?:\?(?P<query>.*))?", re.DOTALL)


@sources.register("script")
def load_script(spec: str, token: CancelToken) -> LoadedModel | None:
    """Run ``script.py`` and call its ``factory``: ``script.py:factory?key=value``.

    The script's own folder is importable meanwhile, as it is when Python runs the script.
    """
    called = _read(spec, "model")
    if called is None:
        return None
    token.check()
    with importable(called.file.resolve().parent):
        module = _run(called.file.resolve())
        token.check()
        model = make_model(module, called.factory, called.arguments, called.file.name)
    return LoadedModel(
        spec=spec,
        title=called.title,
        model=model,
        preprocessing=Preprocessing.for_model(model),
        weights=weights_of(model, f"{called.factory} in {called.file.name}"),
    )


def made_input(spec: str) -> tuple[str, Any] | None:
    """Run ``script.py`` and return a title and what its ``factory`` makes, as for a model.

    None stands for a spec of another kind.

    Raises:
        HookviewerError: There is no such file or factory, or it failed.
    """
    called = _read(spec, "input")
    if called is None:
        return None
    with importable(called.file.resolve().parent):
        module = _run(called.file.resolve())
        made = make(module, called.factory, called.arguments, called.file.name, "input")
    return called.title, made


@dataclass(frozen=True, slots=True)
class _Called:
    """A factory in a file, and the arguments that it shall be called with."""

    file: Path
    factory: str
    arguments: Mapping[str, Any]
    title: str


def _read(spec: str, thing: str) -> _Called | None:
    match = _SPEC.fullmatch(spec)
    if match is None:
        return None
    file = Path(match["file"])
    if not file.is_file():
        raise HookviewerError(f"There is no file '{file}'.")
    if not match["factory"]:
        raise HookviewerError(_ask_for_factory(file, thing))
    title = file.name + spec.removeprefix(match["file"])
    return _Called(file, match["factory"], parse(match["query"] or ""), title)


def _run(file: Path) -> ModuleType:
    """Run ``file`` as a module of its own, which stays in ``sys.modules`` for pickle's sake."""
    name = base = SCRIPT_PREFIX + re.sub(r"\W", "_", file.stem)
    number = 1
    while name in sys.modules:
        number += 1
        name = f"{base}_{number}"
    spec = spec_from_file_location(name, file)
    if spec is None:
        raise HookviewerError(f"'{file.name}' cannot be run as Python.")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while they are made
    try:
        # Not spec.loader: it may run the cached code of an earlier version, and writes a cache.
        exec(compile(file.read_bytes(), file, "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:  # the user's own code
        del sys.modules[name]
        raise failure(f"Running {file.name}", error, file.parent) from error
    return module


def candidates(file: Path) -> list[str]:
    """Return the functions and classes of a Python file that could make a model; runs nothing."""
    try:
        return _defined(file)
    except (OSError, SyntaxError, ValueError):
        return []


def _defined(file: Path) -> list[str]:
    return [
        node.name
        for node in ast.parse(file.read_bytes()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]


def _ask_for_factory(file: Path, thing: str) -> str:
    """Return a sentence that asks for ``:factory``, with what the file offers."""
    try:
        found = _defined(file)
    except (SyntaxError, ValueError) as error:
        return f"'{file.name}' is not valid Python: {error}."
    if not found:
        return f"Add the function that makes the {thing}, '{file.name}:name'; the file has none."
    return (
        f"Add the function or class that makes the {thing}, '{file.name}:{found[0]}'; "
        f"the file has: {', '.join(found)}."
    )
