"""Panels: one file for each way of looking at a capture."""
