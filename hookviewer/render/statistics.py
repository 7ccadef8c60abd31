"""Describe values in a few numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

BIN_COUNT = 64
CHUNK = 32_768  # values looked at in one go: 256 kB of float64 stay in the cache
MODERATE = 400  # a power of two: squares of what is smaller neither overflow nor vanish

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What the values of an array have in common; computed in float64.

    Attributes:
        count: How many values there are, of any kind.
        minimum: The least finite value; None where no value is finite.
        maximum: The greatest finite value.
        mean: The mean of the finite values.
        standard_deviation: Of the finite values as a whole population (divided by their number).
        zero_share: Which part of all values is zero, 0 to 1; 0 when there are none.
        nan_count: How many are not a number.
        positive_infinity_count: How many are +inf.
        negative_infinity_count: How many are -inf.
        histogram: How many finite values fall into each of 64 bins, the last one closed.
        edges: The 65 limits of the bins, from the minimum to the maximum; when all values are
            equal, half their size to either side.
    """

    count: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    standard_deviation: float | None
    zero_share: float
    nan_count: int
    positive_infinity_count: int
    negative_infinity_count: int
    histogram: NDArray[np.int64] = field(repr=False)
    edges: Numbers = field(repr=False)


@dataclass(slots=True)
class _Tally:
    """What one pass over the values counts."""

    low: float = np.inf
    high: float = -np.inf
    zeros: int = 0
    nans: int = 0
    positive: int = 0
    negative: int = 0

    def add(self, chunk: Numbers) -> None:
        self.zeros += chunk.size - int(np.count_nonzero(chunk))
        least, greatest = float(chunk.min()), float(chunk.max())
        if not np.isfinite([least, greatest]).all():
            self.nans += int(np.count_nonzero(np.isnan(chunk)))
            self.positive += int(np.count_nonzero(chunk == np.inf))
            self.negative += int(np.count_nonzero(chunk == -np.inf))
            chunk = chunk[np.isfinite(chunk)]
            least, greatest = chunk.min(initial=np.inf), chunk.max(initial=-np.inf)
        self.low, self.high = min(self.low, float(least)), max(self.high, float(greatest))


def describe(values: NDArray[Any]) -> Statistics:
    """Look at every value of an array of real numbers, however it lies in memory."""
    tally = _Tally()
    with np.errstate(invalid="ignore"):  # a NaN says so when it is compared
        for chunk in _chunks(values):
            tally.add(chunk)
    others = tally.nans, tally.positive, tally.negative
    zero_share = tally.zeros / values.size if values.size else 0.0
    finite_count = values.size - sum(others)
    if finite_count == 0:
        nothing = np.zeros(BIN_COUNT, np.int64), np.linspace(0.0, 1.0, BIN_COUNT + 1)
        return Statistics(values.size, None, None, None, None, zero_share, *others, *nothing)
    low, high = tally.low, tally.high
    mean, deviation = _moments(values, finite_count, low, high)
    bins = _histogram(values, low, high)
    return Statistics(values.size, low, high, mean, deviation, zero_share, *others, *bins)


def _chunks(values: NDArray[Any]) -> Iterator[Numbers]:
    """Yield all values as short float64 arrays, each valid until the next one is asked for."""
    if values.size == 0:
        return
    yield from np.nditer(
        values,
        flags=["buffered", "external_loop"],
        op_flags=["readonly"],
        op_dtypes=[np.float64],
        buffersize=CHUNK,
    )


def _finite_chunks(values: NDArray[Any], shift: int) -> Iterator[Numbers]:
    """Yield the finite values times two to the power of ``shift``."""
    for chunk in _chunks(values):
        is_finite = np.isfinite(chunk)
        finite = chunk if is_finite.all() else chunk[is_finite]
        yield np.ldexp(finite, shift) if shift else finite


def _shift_of(low: float, high: float) -> int:
    """Return the power of two that brings values of this range into a moderate one."""
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    return -exponent if abs(exponent) > MODERATE else 0


def _moments(values: NDArray[Any], count: int, low: float, high: float) -> tuple[float, float]:
    """Return mean and standard deviation of the finite values, in two passes."""
    if low == high:
        return low, 0.0
    shift = _shift_of(low, high)
    mean = sum(float(chunk.sum()) for chunk in _finite_chunks(values, shift)) / count
    squares = sum(float(((chunk - mean) ** 2).sum()) for chunk in _finite_chunks(values, shift))
    deviation = np.ldexp((squares / count) ** 0.5, -shift)
    return min(max(float(np.ldexp(mean, -shift)), low), high), float(deviation)


def _histogram(values: NDArray[Any], low: float, high: float) -> tuple[NDArray[np.int64], Numbers]:
    """Return how many finite values fall into each bin, and the limits of the bins."""
    if low == high:
        margin = abs(low) / 2 or 0.5
        largest = float(np.finfo(np.float64).max)
        low, high = max(low - margin, -largest), min(high + margin, largest)
    shift = _shift_of(low, high)
    start, stop = float(np.ldexp(low, shift)), float(np.ldexp(high, shift))
    counts = np.zeros(BIN_COUNT, np.int64)
    for chunk in _finite_chunks(values, shift):
        bins = ((chunk - start) / (stop - start) * BIN_COUNT).astype(np.int64)
        counts += np.bincount(np.minimum(bins, BIN_COUNT - 1), minlength=BIN_COUNT)
    places = np.linspace(0.0, 1.0, BIN_COUNT + 1)
    return counts, low * (1 - places) + high * places
