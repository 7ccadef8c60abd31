"""Interventions: functions that return a change to what passes at a node."""

from hookviewer.interventions.scale_gradient import scale_gradient
from hookviewer.interventions.zero_channels import zero_channels

__all__ = ["scale_gradient", "zero_channels"]
