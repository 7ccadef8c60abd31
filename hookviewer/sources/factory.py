"""Call the user's own function that makes a model or an input."""

import importlib
import traceback
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from hookviewer.engine.errors import HookviewerError


def make_model(
    module: ModuleType, name: str, arguments: Mapping[str, Any], where: str
) -> Callable[..., Any]:
    """Return the model that ``name`` in ``module`` is, or makes from ``arguments``.

    Args:
        module: The user's module, already run.
        name: A function or a class in it that makes a ``torch.nn.Module`` or a function of
            tensors, or a ``torch.nn.Module`` itself; dots reach into classes.
        arguments: Keyword arguments for the call.
        where: What to call the module in a sentence: ``net.py``.

    Raises:
        HookviewerError: There is no such factory, it failed, or it made something else.
    """
    from torch import nn  # the window must be on the screen before torch is loaded

    model = _find(module, name, where)
    if isinstance(model, nn.Module):
        if arguments:
            raise HookviewerError(f"'{name}' in {where} is a model already; it takes no arguments.")
        return model
    made = make(module, name, arguments, where, "model")
    if isinstance(made, type) or not callable(made):
        raise HookviewerError(
            f"'{name}' in {where} made {kind(made)}, neither a torch.nn.Module nor a function."
        )
    return made  # type: ignore[no-any-return]  # whatever can be called


def make(
    module: ModuleType, name: str, arguments: Mapping[str, Any], where: str, thing: str
) -> Any:
    """Return what the factory ``name`` in ``module`` makes from ``arguments``.

    Args:
        module: The user's module, already run.
        name: A function or a class in it; dots reach into classes.
        arguments: Keyword arguments for the call.
        where: What to call the module in a sentence: ``net.py``.
        thing: What it should make, in a sentence: ``model``.

    Raises:
        HookviewerError: There is no such factory, or it failed.
    """
    factory = _find(module, name, where)
    if not callable(factory):
        raise HookviewerError(f"'{name}' in {where} is {kind(factory)}, so it makes no {thing}.")
    try:
        return factory(**arguments)
    except (Exception, SystemExit) as error:  # the user's own code
        raise failure(f"Calling '{name}'", error, _folder_of(module)) from error


def failure(what: str, error: BaseException, folder: Path | None = None) -> HookviewerError:
    """Return a sentence on the user's own code: what failed, in which line, in the error's words.

    Args:
        what: What was done, as in "Running net.py".
        error: What it raised.
        folder: Where the user's code lies; a line there is named rather than one in a library.
            None is the folder of the first file that was run.
    """
    words = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    words = f"{type(error).__name__}: {words}".rstrip(".: ")
    return HookviewerError(f"{what} failed{_place(error, folder)}: {words}.")


def _place(error: BaseException, folder: Path | None) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f" in {Path(error.filename).name}, line {error.lineno}"
    frames = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<frozen", importlib.__file__))
    ]
    frames = [frame for frame in frames if frame[0].parent != Path(__file__).parent]
    if not frames:
        return ""
    folder = folder or frames[0][0].parent
    users = [frame for frame in frames if _is_users(frame[0], folder)]
    file, line = (users or frames)[-1]
    return f" in {file.name}, line {line}"


def _is_users(file: Path, folder: Path) -> bool:
    """Whether ``file`` is code in ``folder``, not in a library installed somewhere below it."""
    if not file.is_relative_to(folder):
        return False
    return not any(part.endswith("-packages") for part in file.relative_to(folder).parts)


def _folder_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).parent if file else None


def _find(module: ModuleType, name: str, where: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise HookviewerError(f"{where} has no '{name}'.{_offers(module, name)}")
        found = getattr(found, part)
    return found


def _offers(module: ModuleType, name: str) -> str:
    """Return the names near ``name``, then what the module itself defines."""
    from torch import nn  # late: see above

    public = {key: item for key, item in vars(module).items() if not key.startswith("_")}
    made = {
        key: isinstance(item, nn.Module) or getattr(item, "__module__", "") == module.__name__
        for key, item in public.items()
        if callable(item)
    }
    near = get_close_matches(name, made, n=3, cutoff=0.5)
    own = [key for key, is_own in made.items() if is_own]
    hint = f" Near it: {', '.join(near)}." if near else ""
    return hint + (f" It defines: {', '.join(own)}." if own else "")


def kind(thing: Any) -> str:
    """Return what ``thing`` is, in a sentence: ``an int``."""
    name = type(thing).__name__
    return "None" if thing is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
