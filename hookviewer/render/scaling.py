"""Decide which value of a tile is the lowest and which the highest colour."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hookviewer.render.blocks import blocks
from hookviewer.render.tiles import TileStack

Levels = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FiniteRanges:
    """The range of the finite values of each tile.

    Attributes:
        low: The least finite value of each tile; +inf where there is none.
        high: The greatest finite value of each tile; -inf where there is none.
        all_finite: Whether a tile has neither NaN nor infinity in it.
    """

    low: Levels
    high: Levels
    all_finite: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scaling:
    """How values become colours.

    Attributes:
        shared: Whether all tiles have one range, so that they can be compared.
        symmetric: Whether zero is the middle of the range.
    """

    shared: bool = False
    symmetric: bool = False

    def levels(self, stack: TileStack) -> tuple[Levels, Levels]:
        """Return the lowest and the highest value of each tile, from all finite values.

        A colour tile has one range for its three components. Tiles of one pixel always share
        theirs. A tile without any finite value has (0, 0), unless it shares that of others.
        """
        return self.levels_of(finite_ranges(stack), stack.tile_height * stack.tile_width)

    def levels_of(self, ranges: FiniteRanges, tile_pixels: int) -> tuple[Levels, Levels]:
        """Return the same from ranges already measured on tiles of so many pixels."""
        low, high = ranges.low, ranges.high
        if self.shared or tile_pixels == 1:
            low = np.full_like(low, low.min(initial=np.inf))
            high = np.full_like(high, high.max(initial=-np.inf))
        is_empty = low > high
        low, high = np.where(is_empty, 0.0, low), np.where(is_empty, 0.0, high)
        if self.symmetric:
            high = np.maximum(abs(low), abs(high))
            low = 0.0 - high  # never -0.0
        return low, high


def finite_ranges(stack: TileStack) -> FiniteRanges:
    """Measure every value of every tile; none is left out for speed."""
    if stack.values.size == 0:
        nothing = np.full(stack.count, np.inf)
        return FiniteRanges(nothing, -nothing, np.ones(stack.count, np.bool_))
    least = stack.values[:, 0, 0].reshape(stack.count, -1)[:, 0].copy()
    greatest = least.copy()
    with np.errstate(invalid="ignore"):  # a NaN says so when it is compared
        for tiles, _, samples in blocks(stack):
            below, above = _extremes(samples)
            np.minimum(least[tiles], below, out=least[tiles])
            np.maximum(greatest[tiles], above, out=greatest[tiles])
    all_finite = np.isfinite(least) & np.isfinite(greatest)
    low, high = least.astype(np.float64), greatest.astype(np.float64)
    if not all_finite.all():
        _leave_out_non_finite(stack, low, high, ~all_finite)
    return FiniteRanges(low, high, all_finite)


def _extremes(samples: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the greatest of each (tile, sample), NaN where there is one."""
    if not samples.flags.c_contiguous:
        return samples.min(axis=1), samples.max(axis=1)
    # On short tiles this takes half the time of the line above.
    flat, starts = samples.ravel(), np.arange(0, samples.size, samples.shape[1])
    return np.minimum.reduceat(flat, starts), np.maximum.reduceat(flat, starts)


def _leave_out_non_finite(
    stack: TileStack, low: Levels, high: Levels, again: NDArray[np.bool_]
) -> None:
    """Measure some tiles again, and of them only the finite values."""
    low[again], high[again] = np.inf, -np.inf
    for tiles, _, samples in blocks(stack):
        chosen = np.flatnonzero(again[tiles])
        values = samples[chosen]
        is_finite = np.isfinite(values)
        least = np.where(is_finite, values, np.inf).min(axis=1)
        greatest = np.where(is_finite, values, -np.inf).max(axis=1)
        chosen += tiles.start
        low[chosen] = np.minimum(low[chosen], least)
        high[chosen] = np.maximum(high[chosen], greatest)
