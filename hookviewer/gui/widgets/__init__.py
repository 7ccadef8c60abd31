"""Widgets that know pixels and tiles, not layers or gradients."""
