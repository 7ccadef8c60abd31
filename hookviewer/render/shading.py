"""Turn values into steps of a palette or of a colour component."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hookviewer.render import palette
from hookviewer.render.scaling import FiniteRanges, Levels

MARGIN = 0.01  # of a step: what rounding may not push a value across


@dataclass(frozen=True, slots=True, eq=False)
class Shading:
    """For each tile the line ``step = (value - origin) * factor``, and where it does not do.

    Attributes:
        low: The value of the lowest step, (tile,).
        high: The value of the highest step, (tile,).
        origin: (tile, 1), in the type that the steps are computed in.
        factor: (tile, 1), in the same type.
        steps: How many steps there are.
        is_constant: Tiles whose range is a single value: they take the middle step.
        is_extreme: Tiles whose range is too wide or too narrow for the type.
        is_exceeded: Tiles with values that are not finite or outside their range.
        is_special: Any of these.
    """

    low: Levels
    high: Levels
    origin: NDArray[Any]
    factor: NDArray[Any]
    steps: int
    is_constant: NDArray[np.bool_]
    is_extreme: NDArray[np.bool_]
    is_exceeded: NDArray[np.bool_]
    is_special: NDArray[np.bool_]

    @classmethod
    def of(
        cls, ranges: FiniteRanges, low: Levels, high: Levels, dtype: np.dtype[Any], steps: int
    ) -> "Shading":
        """Decide how values of this type and these ranges are mapped to these levels."""
        work = np.result_type(dtype, np.float32)
        reach = 1e30 if work == np.float32 else 1e290
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            span = high - low
            origin, factor = _line(low, high, steps)
        is_constant = span == 0
        is_extreme = ~is_constant & ((span > reach) | (span < 1 / reach))
        has_no_line = is_constant | is_extreme
        origin[has_no_line], factor[has_no_line] = 0, 0
        is_exceeded = ~ranges.all_finite | (ranges.low < low) | (ranges.high > high)
        line = origin.astype(work)[:, None], factor.astype(work)[:, None]
        special = is_constant, is_extreme, is_exceeded, has_no_line | is_exceeded
        return cls(low, high, *line, steps, *special)

    def shade(self, samples: NDArray[Any], tiles: slice) -> NDArray[np.uint8]:
        """Return the step of each of (tile, sample); what is outside takes the nearest."""
        steps: NDArray[Any] = np.subtract(samples, self.origin[tiles])
        np.multiply(steps, self.factor[tiles], out=steps)
        if self.is_special[tiles].any():
            self._correct(steps, samples, tiles)
        return np.ascontiguousarray(steps.astype(np.uint8))

    def _correct(self, steps: NDArray[Any], samples: NDArray[Any], tiles: slice) -> None:
        """Set the steps of special tiles."""
        extreme = np.flatnonzero(self.is_extreme[tiles])
        if extreme.size:
            low, high = self.low[tiles][extreme], self.high[tiles][extreme]
            steps[extreme] = _extreme_steps(samples[extreme], low, high, self.steps)
        steps[self.is_constant[tiles]] = self.steps // 2
        if self.is_exceeded[tiles].any():
            steps[~(samples >= self.low[tiles, None])] = 0
            steps[samples > self.high[tiles, None]] = self.steps - 1


def _line(low: Levels, high: Levels, steps: int) -> tuple[Levels, Levels]:
    """Return origin and factor of the line that takes ``low`` to 0 and ``high`` to the last step.

    Where the range is symmetric, zero comes to lie 0.6 margins above the lower edge of the middle
    step, and ``high`` 0.4 below the end. Elsewhere the origin is ``low`` itself, so that the
    difference is exact in narrow ranges.
    """
    factor = (steps - 2 * MARGIN) / (high - low)
    origin = np.where(low == -high, low - 1.6 * MARGIN / factor, low)
    return origin, factor


def _extreme_steps(samples: NDArray[Any], low: Levels, high: Levels, steps: int) -> Levels:
    """Return the steps of values whose range no type holds, brought near 1 by powers of two."""
    shift = -np.frexp(np.maximum(abs(low), abs(high)))[1]
    origin, factor = _line(np.ldexp(low, shift), np.ldexp(high, shift), steps)
    values = np.ldexp(samples.astype(np.float64), shift[:, None])
    result: Levels = (values - origin[:, None]) * factor[:, None]
    return result


def mark_indices(shades: NDArray[np.uint8], samples: NDArray[Any]) -> None:
    """Give each of (tile, sample) that is not finite its index of the palette."""
    shades[np.isnan(samples)] = palette.NAN
    shades[samples == np.inf] = palette.POSITIVE_INFINITY
    shades[samples == -np.inf] = palette.NEGATIVE_INFINITY


def mark_colors(shades: NDArray[np.uint8], samples: NDArray[Any]) -> None:
    """Give each pixel with a component that is not finite its colour; NaN goes first."""
    pixels, values = shades.reshape(-1, 3), samples.reshape(-1, 3)
    pixels[(values == -np.inf).any(axis=1)] = palette.NEGATIVE_INFINITY_COLOR
    pixels[(values == np.inf).any(axis=1)] = palette.POSITIVE_INFINITY_COLOR
    pixels[np.isnan(values).any(axis=1)] = palette.NAN_COLOR
