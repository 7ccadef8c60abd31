"""Panels: one file for each way of looking at a capture; importing them fills the registry."""

from hookviewer.gui.panels import feature_maps, filters, gradients

__all__ = ["feature_maps", "filters", "gradients"]
