"""Targets: the scalars whose gradients are shown.

Each is a function that returns a ``Target``, which turns the model's output, or the live values of
nodes that it names, into the scalar. Where an output holds several tensors, ``leaf`` is the path of
the one that is meant. Over a batch a target sums; ``sample`` picks one sample of it.
"""

from hookviewer.targets.class_score import class_score
from hookviewer.targets.cross_entropy import cross_entropy
from hookviewer.targets.mean import mean
from hookviewer.targets.top_class import top_class
from hookviewer.targets.unit import unit
from hookviewer.targets.whole import whole

__all__ = ["class_score", "cross_entropy", "mean", "top_class", "unit", "whole"]
