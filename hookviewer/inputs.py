"""What a model is fed, read from what the user named."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.plan import Inputs
from hookviewer.pictures import read_picture
from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of
from hookviewer.sources.factory import kind
from hookviewer.sources.script import made_input

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

DEMO_PICTURES = ("chelsea", "coffee", "camera")
"""The built-in pictures, the default first."""

_NOISE = re.compile(r"noise:(\d+(?:x\d+)*)")
_MOST_NUMBERS = 1 << 28
_FEW = 8
"""So many numbers are shown themselves instead of their shape."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedInput:
    """An input that was opened.

    Attributes:
        spec: What the user asked for.
        title: Its name in the window.
        inputs: What the model is called with; of a picture one float32 tensor,
            (1, channel, row, column).
        picture: The first sample as a person sees it, (row, column, 3), made from that tensor;
            None where there is nothing to see.
        lines: What is fed, one line for each tensor, where the title does not say it.
    """

    spec: str
    title: str
    inputs: Inputs = field(repr=False)
    picture: "NDArray[np.uint8] | None" = field(repr=False)
    lines: tuple[str, ...] = ()


def read_input(spec: str, preprocessing: Preprocessing) -> LoadedInput:
    """Open the input that ``spec`` names.

    Args:
        spec: ``demo``, ``demo:coffee``, ``demo:camera``, ``noise:1x3x224x224``, the path of a
            picture file, or ``script.py:factory``: a function in a Python file that returns a
            tensor, a tuple of positional arguments or ``Inputs``. The file is run.
        preprocessing: How the model wants pictures. All else is fed as it is.

    Raises:
        HookviewerError: It cannot be opened; the sentence says why.
    """
    if spec.startswith("noise:"):
        return _noise(spec)
    made = made_input(spec)
    if made is not None:
        return _made(spec, *made)
    kind, colon, name = spec.partition(":")
    if kind == "demo":
        name = name if colon else DEMO_PICTURES[0]
        if name not in DEMO_PICTURES:
            known = ", ".join(DEMO_PICTURES)
            raise HookviewerError(f"There is no built-in picture '{name}'; there are {known}.")
        return _picture(spec, name, path_of("images", f"{name}.png"), preprocessing)
    return _picture(spec, Path(spec).name, Path(spec), preprocessing)


def _picture(spec: str, title: str, path: Path, preprocessing: Preprocessing) -> LoadedInput:
    tensor = preprocessing.apply(read_picture(path))
    return LoadedInput(spec, title, Inputs(tensor), preprocessing.undo(tensor))


def _noise(spec: str) -> LoadedInput:
    """Return standard normal numbers, the same ones each time."""
    import torch  # late: the window must be on the screen before torch is loaded

    match = _NOISE.fullmatch(spec)
    shape = [int(size) for size in match[1].split("x")] if match else [0]
    if 0 in shape:
        raise HookviewerError(f"'{spec}' is no noise; write its sizes as in noise:1x3x224x224.")
    if math.prod(shape) > _MOST_NUMBERS:
        raise HookviewerError(f"'{spec}' would be {math.prod(shape):,} numbers; that is too many.")
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    return LoadedInput(spec, spec.replace(":", " "), Inputs(tensor), _picture_of(tensor))


def _made(spec: str, title: str, made: Any) -> LoadedInput:
    """Return the input that the user's own function made."""
    from torch import Tensor  # late: see above

    from hookviewer.engine.call import named
    from hookviewer.engine.leaves import leaves

    if isinstance(made, Tensor):
        inputs = Inputs(made)
    elif isinstance(made, tuple):
        inputs = Inputs(*made)
    elif isinstance(made, Inputs):
        inputs = made
    else:
        raise HookviewerError(
            f"'{title}' made {kind(made)}; an input is a tensor, a tuple of positional arguments "
            "or hookviewer.engine.plan.Inputs."
        )
    found = leaves(named(inputs.args, inputs.kwargs))
    seen = next((tensor for tensor in found.values() if _is_visible(tensor)), None)
    picture = None if seen is None else _picture_of(seen.detach().float().cpu())
    return LoadedInput(spec, title, inputs, picture, tuple(_line(*item) for item in found.items()))


def _is_visible(tensor: "Tensor") -> bool:
    """Whether the first sample of ``tensor`` is a picture, with or without channels."""
    is_plain = tensor.is_floating_point() and not (tensor.is_meta or tensor.is_nested)
    return (
        is_plain
        and str(tensor.layout) == "torch.strided"
        and tensor.ndim > 2
        and tensor.numel() > 0
        and bool(tensor.isfinite().all())
    )


def _line(leaf: str, tensor: "Tensor") -> str:
    """Return a tensor's name, its few numbers or its shape, and its dtype."""
    shape = "×".join(map(str, tensor.shape))
    dtype = str(tensor.dtype).removeprefix("torch.")
    is_plain = not (tensor.is_meta or tensor.is_nested) and str(tensor.layout) == "torch.strided"
    few = is_plain and tensor.ndim < 2 and tensor.numel() <= _FEW
    numbers = ", ".join(f"{value:.6g}" for value in tensor.flatten().tolist()) if few else ""
    return f"input:{leaf} = {numbers}  ({dtype})" if few else f"input:{leaf}  {shape}  {dtype}"


def _picture_of(tensor: "Tensor") -> "NDArray[np.uint8]":
    """Return the first sample scaled from its minimum to its maximum, (row, column, 3).

    Of a video it is the first frame, of a sequence one row for each channel, of a list of
    numbers one row.
    """
    import numpy as np

    sample = (tensor if tensor.ndim < 2 else tensor[0]).numpy()  # one axis is no batch
    while sample.ndim > 3:
        sample = sample[:, 0]
    sample = sample.reshape((1,) * (3 - sample.ndim) + sample.shape)
    if len(sample) not in (1, 3):
        sample = sample.mean(axis=0, keepdims=True)
    low, high = sample.min(), sample.max()
    grey = (sample - low) / (high - low) if high > low else np.zeros_like(sample)
    pixels = np.rint(grey * 255).astype(np.uint8).transpose(1, 2, 0)
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))
