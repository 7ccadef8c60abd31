"""The examples that come with hookviewer, and what is looked at first in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from hookviewer.gui.target_choice import TargetChoice, TargetKind


@dataclass(frozen=True, slots=True)
class Example:
    """A Python file in ``resources/examples`` with a model and an input for it.

    Attributes:
        file: Its name.
        path: The node to select.
        target: What gradients are taken of.
        model: The function in it that makes the model.
        input: The function in it that makes the input.
    """

    file: str
    path: str
    target: TargetChoice
    model: str = "model"
    input: str = "inputs"


EXAMPLES: Final[Mapping[str, Example]] = MappingProxyType(
    {
        "example_tensors": Example("tensors.py", "/add", TargetChoice(TargetKind.WHOLE)),
        "example_small_cnn": Example("small_cnn.py", "conv2", TargetChoice.loss(3)),
    }
)
"""By the names of their actions."""
