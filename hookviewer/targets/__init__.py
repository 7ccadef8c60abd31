"""Targets: the scalars whose gradients are shown.

Each is a function that returns a ``Target``, which turns the model's output into the scalar.
Where an output holds several tensors, ``leaf`` is the path of the one that is meant.
"""

from hookviewer.targets.class_score import class_score
from hookviewer.targets.top_class import top_class
from hookviewer.targets.whole import whole

__all__ = ["class_score", "top_class", "whole"]
