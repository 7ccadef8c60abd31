"""Any model of torchvision by its name."""

import inspect
import typing
import warnings
import zipfile
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.extension import sources
from hookviewer.preprocessing import Preprocessing
from hookviewer.sources.arguments import parse
from hookviewer.sources.loaded import LoadedModel

# torch and torchvision are imported inside the functions because the window, which reads this
# module's names, must be on the screen before they are loaded.

_PREFIX = "torchvision:"
_STARTED_SLOWLY = ("googlenet", "inception_v3", "quantized_googlenet", "quantized_inception_v3")


def names() -> list[str]:
    """Return the names of all torchvision models. Imports torch."""
    from torchvision.models import list_models

    return list(list_models())


@sources.register("torchvision")
def load_torchvision(spec: str, token: CancelToken) -> LoadedModel | None:
    """Build ``torchvision:NAME?weights=MEMBER&key=value``; other arguments go to the builder.

    Weights are taken from torch's cache on this machine, never from the network.
    """
    if not spec.startswith(_PREFIX):
        return None
    name, _, query = spec.removeprefix(_PREFIX).partition("?")
    arguments = parse(query)
    token.check()
    builder = _builder(name)
    _choose_weights(name, builder, arguments)
    token.check()
    try:
        model = builder(**arguments)
    except Exception as error:  # the builder's own code, called with the user's arguments
        raise HookviewerError(f"torchvision cannot build '{name}': {_text(error)}.") from error
    weights = arguments.get("weights")
    fitting = Preprocessing.from_transforms(weights.transforms()) if weights else None
    return LoadedModel(
        spec=spec,
        title=name,
        model=model.eval(),
        preprocessing=fitting or Preprocessing.for_model(model),
        class_names=tuple(weights.meta.get("categories", ())) if weights else (),
        weights=_describe(weights, arguments.get("weights_backbone")),
    )


def _builder(name: str) -> Callable[..., Any]:
    from torchvision.models import get_model_builder

    known = names()
    if name not in known:
        near = get_close_matches(name, known, n=5, cutoff=0.5)
        hint = f" Near it: {', '.join(near)}." if near else ""
        raise HookviewerError(f"torchvision has no model '{name}'.{hint}")
    builder: Callable[..., Any] = get_model_builder(name)
    return builder


def _choose_weights(name: str, builder: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Replace the names of weights in ``arguments`` by members of torchvision's enums.

    A backbone's weights are set to None unless asked for: torchvision would download them.
    """
    for key in ("pretrained", "pretrained_backbone"):  # torchvision would download these too
        if key in arguments:
            raise HookviewerError(f"Instead of '{key}', write '?weights=DEFAULT'.")
    quantized = bool(arguments.get("quantize"))
    for key, parameter in inspect.signature(builder).parameters.items():
        enums = [e for e in typing.get_args(parameter.annotation) if hasattr(e, "__members__")]
        if not enums:
            continue
        # Builders of quantized models take one enum or the other, depending on "quantize".
        fitting = [enum for enum in enums if ("Quantized" in enum.__name__) == quantized]
        choice = arguments.get(key)
        arguments[key] = None if choice is None else _member((fitting or enums)[0], str(choice))
    if name in _STARTED_SLOWLY and arguments.get("weights") is None:
        arguments.setdefault("init_weights", True)  # its default is the same, plus a warning


def _member(enum: Any, name: str) -> Any:
    name = name.removeprefix(f"{enum.__name__}.")
    if name not in enum.__members__:
        known = ", ".join(enum.__members__) or "none"
        raise HookviewerError(f"There are no weights '{name}' in {enum.__name__}; it has {known}.")
    member = enum.__members__[name]
    _check_cached(member)
    return member


def _check_cached(weights: Any) -> None:
    """Make sure that torchvision will find the file, and that the file holds only weights.

    torchvision would run code that is hidden in it; torch's restricted reader refuses that.
    """
    import torch

    file = Path(torch.hub.get_dir(), "checkpoints", Path(weights.url).name)
    if not file.is_file():
        raise HookviewerError(
            f"The weights {weights} are not on this machine: there is no {file.name} in "
            f"{file.parent}. Without '?weights=' the model opens with random weights."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pickles in a form that torch does not write
            torch.load(file, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(file))
    except Exception as error:  # the reader meets a broken file with whatever comes up
        raise HookviewerError(f"{file} is damaged, or holds more than weights.") from error


def _describe(weights: Any, backbone: Any) -> str:
    if weights:
        return f"torchvision's weights ({weights})"
    return f"random weights on a backbone with {backbone}" if backbone else "random weights"


def _text(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
