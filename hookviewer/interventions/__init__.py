"""Interventions: functions that return a change to what passes at a node."""

from hookviewer.interventions.clip_gradient import clip_gradient
from hookviewer.interventions.deconvnet import deconvnet
from hookviewer.interventions.expression import expression
from hookviewer.interventions.function import function
from hookviewer.interventions.guided_backpropagation import guided_backpropagation
from hookviewer.interventions.replace import replace
from hookviewer.interventions.replace_channels import replace_channels
from hookviewer.interventions.replace_units import replace_units
from hookviewer.interventions.scale import scale
from hookviewer.interventions.scale_channels import scale_channels
from hookviewer.interventions.scale_gradient import scale_gradient
from hookviewer.interventions.zero import zero
from hookviewer.interventions.zero_channels import zero_channels
from hookviewer.interventions.zero_gradient import zero_gradient
from hookviewer.interventions.zero_units import zero_units

__all__ = [
    "clip_gradient",
    "deconvnet",
    "expression",
    "function",
    "guided_backpropagation",
    "replace",
    "replace_channels",
    "replace_units",
    "scale",
    "scale_channels",
    "scale_gradient",
    "zero",
    "zero_channels",
    "zero_gradient",
    "zero_units",
]
