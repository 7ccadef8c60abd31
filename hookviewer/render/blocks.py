"""Cut a stack of tiles into parts that stay in the processor's cache."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from hookviewer.render.tiles import TileStack

BLOCK_SAMPLES = 131_072  # 512 kB of float32, as measured: less costs calls, more the cache


def blocks(
    stack: TileStack, columns: int | None = None
) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
    """Yield which tiles, which of their rows, and those values as (tile, sample).

    Samples are the pixels, or the components of the colour pixels. A part is never wider than
    one row of a mosaic of ``columns`` columns, unless it is made of whole rows of it.
    """
    count, height = stack.values.shape[:2]
    if stack.values.size == 0:
        return
    row_samples = stack.values.size // (count * height)
    if stack.values.strides[0] < stack.values.strides[1]:  # channels last: neighbours are tiles
        tiles_at_once = min(count, max(1, BLOCK_SAMPLES // row_samples))
    else:
        tiles_at_once = min(count, max(1, BLOCK_SAMPLES // (row_samples * height)))
    rows_at_once = min(height, max(1, BLOCK_SAMPLES // (row_samples * tiles_at_once)))
    for tiles in _tile_ranges(count, columns or count, tiles_at_once):
        for top in range(0, height, rows_at_once):
            rows = slice(top, top + rows_at_once)
            part = stack.values[tiles, rows]
            yield tiles, rows, part.reshape(len(part), -1)


def _tile_ranges(count: int, columns: int, most: int) -> Iterator[slice]:
    """Yield ranges of at most ``most`` tiles: whole rows of the mosaic, or parts of one row."""
    if most >= columns:
        full = count - count % columns
        step = most - most % columns
        yield from (slice(first, min(first + step, full)) for first in range(0, full, step))
        if full < count:
            yield slice(full, count)
        return
    for start in range(0, count, columns):
        end = min(start + columns, count)
        yield from (slice(first, min(first + most, end)) for first in range(start, end, most))
