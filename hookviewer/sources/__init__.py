"""Sources: where models come from.

A source is a function that takes a spec, what the user typed, and gives a ``LoadedModel``, or None
for a spec of another kind. The one whose name begins the spec is asked first, then the others.
"""

import re

from hookviewer import extension
from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.sources import demo, module, script, torchvision_models
from hookviewer.sources.loaded import LoadedModel

__all__ = ["LoadedModel", "demo", "load", "module", "script", "torchvision_models"]


def load(spec: str, *, token: CancelToken | None = None) -> LoadedModel:
    """Open the model that ``spec`` names.

    Args:
        spec: ``demo``, ``torchvision:NAME``, ``script.py:factory`` or ``package.module:factory``;
            ``?key=value&key=value`` behind it are arguments.
        token: Lets another thread stop the loading between its steps.

    Raises:
        HookviewerError: It cannot be opened; the sentence says why, or what can be.
    """
    token = token or CancelToken()
    first = re.split("[:?]", spec)[0]
    for name in sorted(extension.sources, key=lambda name: name != first):
        loaded: LoadedModel | None = extension.sources[name](spec, token)
        if loaded is not None:
            token.check()
            return loaded
    raise HookviewerError(
        f"'{spec}' cannot be opened as a model. What can be: 'demo', a torchvision model "
        "('torchvision:resnet18'), and a function that makes one, in a Python file "
        "('script.py:factory') or in a module ('package.module:factory')."
    )
