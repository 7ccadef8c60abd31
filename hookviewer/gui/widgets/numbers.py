"""How numbers are written everywhere in the window."""

import numpy as np
from numpy.typing import DTypeLike


def number_text(value: float | None) -> str:
    """Return ``value`` with four significant digits; a dash where there is none."""
    if value is None:
        return "–"
    text = f"{value:.4g}"
    return "0" if text == "-0" else text


def reading_text(
    position: tuple[int, ...], value: float | tuple[float, ...], dtype: DTypeLike
) -> str:
    """Return ``[channel, row, column] = value``, with as few digits as mean this very value."""
    values = value if isinstance(value, tuple) else (value,)
    numbers = ", ".join(str(np.asarray(number, dtype)[()]) for number in values)
    return f"[{', '.join(map(str, position))}] = {numbers}"


def duration_text(seconds: float) -> str:
    """Return a duration in milliseconds, or in seconds when it is long."""
    return f"{seconds * 1000:.0f} ms" if seconds < 9.9995 else f"{seconds:.1f} s"


def bytes_text(count: int) -> str:
    """Return an amount of memory in the unit that suits it."""
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


def count_text(count: int) -> str:
    """Return how many there are, in thousands or millions when there are many."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if count >= limit:
            return f"{count / limit:.1f}{unit}"
    return str(count)
