"""The colours of a picture's 256 indices, from pyqtgraph's colour maps."""

from functools import lru_cache

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from hookviewer.render.palette import (
    GAP,
    NAN,
    NAN_COLOR,
    NEGATIVE_INFINITY,
    NEGATIVE_INFINITY_COLOR,
    POSITIVE_INFINITY,
    POSITIVE_INFINITY_COLOR,
    RGB,
    VALUE_COUNT,
    color_positions,
)

SEQUENTIAL = ("viridis", "cividis", "magma", "inferno", "plasma", "CET-L1")
"""Perceptually uniform maps from dark to bright; CET-L1 is grey."""
DIVERGING = ("CET-D1", "CET-D1A", "CET-D3", "CET-D9")
"""Perceptually uniform maps with a pale middle, for signed values."""


@lru_cache(maxsize=32)
def color_table(name: str, gap: RGB) -> NDArray[np.uint8]:
    """Return 256 colours (index, RGB): those of a map, then gap, NaN, +inf and -inf."""
    table = np.zeros((256, 3), np.uint8)
    table[:VALUE_COUNT] = pg.colormap.get(name).map(color_positions(), mode="byte")[:, :3]
    table[GAP] = gap
    table[NAN] = NAN_COLOR
    table[POSITIVE_INFINITY] = POSITIVE_INFINITY_COLOR
    table[NEGATIVE_INFINITY] = NEGATIVE_INFINITY_COLOR
    table.setflags(write=False)
    return table
