"""What a source gives back: a model, with all that belongs to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hookviewer.preprocessing import Preprocessing


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model that was opened.

    Attributes:
        spec: What the user asked for.
        title: Its name in the window.
        model: The model itself, a module or a function, in the mode that its maker left it in.
        preprocessing: How pictures become its input.
        class_names: The names along the output's class axis; empty when unknown.
        weights: Where the weights come from, in words.
    """

    spec: str
    title: str
    model: Callable[..., Any] = field(repr=False)
    preprocessing: Preprocessing
    class_names: tuple[str, ...] = field(default=(), repr=False)
    weights: str = "random weights"


def weights_of(model: Callable[..., Any], maker: str) -> str:
    """Return in words where the weights of a model of the user's come from.

    Args:
        model: A module or a function.
        maker: What made it.
    """
    from torch import nn  # late: the window must be on the screen before torch is loaded

    is_module = isinstance(model, nn.Module)
    return f"weights as {maker} made them" if is_module else "a function, without weights"
