"""What a model is fed, read from what the user named."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.plan import Inputs
from hookviewer.pictures import read_picture
from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

DEMO_PICTURES = ("chelsea", "coffee", "camera")
"""The built-in pictures, the default first."""

_NOISE = re.compile(r"noise:(\d+(?:x\d+)*)")
_MOST_NUMBERS = 1 << 28


@dataclass(frozen=True, slots=True, eq=False)
class LoadedInput:
    """An input that was opened.

    Attributes:
        spec: What the user asked for.
        title: Its name in the window.
        inputs: What the model is called with: one float32 tensor, (1, channel, row, column).
        picture: The first sample as a person sees it, (row, column, 3), made from that tensor.
    """

    spec: str
    title: str
    inputs: Inputs = field(repr=False)
    picture: "NDArray[np.uint8]" = field(repr=False)


def read_input(spec: str, preprocessing: Preprocessing) -> LoadedInput:
    """Open the input that ``spec`` names.

    Args:
        spec: ``demo``, ``demo:coffee``, ``demo:camera``, ``noise:1x3x224x224`` or the path of a
            picture file.
        preprocessing: How the model wants pictures. Noise is fed as it is.

    Raises:
        HookviewerError: It cannot be opened; the sentence says why.
    """
    if spec.startswith("noise:"):
        return _noise(spec)
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


def _picture_of(tensor: "Tensor") -> "NDArray[np.uint8]":
    """Return the first sample scaled from its minimum to its maximum, (row, column, 3).

    Of a video it is the first frame, of a sequence one row for each channel, of a list of
    numbers one row.
    """
    import numpy as np

    sample = tensor[0].numpy()
    while sample.ndim > 3:
        sample = sample[:, 0]
    sample = sample.reshape((1,) * (3 - sample.ndim) + sample.shape)
    if len(sample) not in (1, 3):
        sample = sample.mean(axis=0, keepdims=True)
    low, high = sample.min(), sample.max()
    grey = (sample - low) / (high - low) if high > low else np.zeros_like(sample)
    pixels = np.rint(grey * 255).astype(np.uint8).transpose(1, 2, 0)
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))
