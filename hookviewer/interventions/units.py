"""Check the units that an intervention is about, and find them in every sample."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.fit import check_counted, check_unit

if TYPE_CHECKING:
    from torch import Tensor

Unit = tuple[int, ...]
"""A place behind the sample axis, as (channel, row, column)."""
Places = tuple[slice | list[int], ...]
"""What a tensor is indexed with."""


def counted_units(indices: Sequence[Unit]) -> list[Unit]:
    """Return a copy of ``indices``.

    Raises:
        HookviewerError: One is no tuple of whole numbers from 0.
    """
    for index in indices:
        if not isinstance(index, tuple):
            raise HookviewerError(f"Units are tuples as (channel, row, column); {index!r} is none.")
        check_counted(index, "The numbers of a unit")
    return list(indices)


def places(units: Sequence[Unit], output: "Tensor") -> Places:
    """Return where ``units`` are in ``output``; indexed with it, that is (sample, unit).

    Raises:
        HookviewerError: One is not in ``output``; the first and the last are named.
    """
    for unit in units:
        check_unit(unit, output.shape)
    return (slice(None), *([unit[axis] for unit in units] for axis in range(output.ndim - 1)))
