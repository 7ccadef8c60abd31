"""What a source gives back: a model, with all that belongs to it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookviewer.preprocessing import Preprocessing

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model that was opened.

    Attributes:
        spec: What the user asked for.
        title: Its name in the window.
        model: The model itself, in the mode that its maker left it in.
        preprocessing: How pictures become its input.
        class_names: The names along the output's class axis; empty when unknown.
        weights: Where the weights come from, in words.
    """

    spec: str
    title: str
    model: "nn.Module" = field(repr=False)
    preprocessing: Preprocessing
    class_names: tuple[str, ...] = field(default=(), repr=False)
    weights: str = "random weights"
