"""A model from a function in a module that Python can import."""

import importlib
import re
from pathlib import Path
from types import ModuleType

from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.extension import sources
from hookviewer.preprocessing import Preprocessing
from hookviewer.sources.arguments import parse
from hookviewer.sources.factory import failure, make_model
from hookviewer.sources.importing import importable
from hookviewer.sources.loaded import LoadedModel, weights_of

_SPEC = re.compile(
    r"(?P<module>[^\W\d]\w*(?:\.\w+)*):(?P<factory>[^\W\d][\w.]*)(?:\?(?P<query>.*))?"
)


@sources.register("module")
def load_module(spec: str, token: CancelToken) -> LoadedModel | None:
    """Import ``package.module`` and call its ``factory``: ``package.module:factory?key=value``.

    Modules in the current folder are found too, behind the installed ones.
    """
    match = _SPEC.fullmatch(spec)
    if match is None or match["module"].endswith(".py"):  # that is a file's name
        return None
    arguments = parse(match["query"] or "")
    token.check()
    with importable(Path.cwd(), first=False):
        module = _import(match["module"])
        token.check()
        model = make_model(module, match["factory"], arguments, match["module"])
    return LoadedModel(
        spec=spec,
        title=spec,
        model=model,
        preprocessing=Preprocessing.for_model(model),
        weights=weights_of(model, f"{match['module']}:{match['factory']}"),
    )


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the user's own code
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise HookviewerError(
                f"There is no module '{missing}' among the installed ones or in {Path.cwd()}."
            ) from error
        raise failure(f"Importing {name}", error) from error
