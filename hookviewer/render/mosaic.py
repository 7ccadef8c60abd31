"""Lay out all tiles of a capture in one picture, with the way back from a pixel to its tile."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hookviewer.render.blocks import blocks
from hookviewer.render.palette import (
    COLOR_COUNT,
    GAP,
    GAP_COLOR,
    NAN,
    NEGATIVE_INFINITY,
    POSITIVE_INFINITY,
    RGB,
    VALUE_COUNT,
)
from hookviewer.render.scaling import Levels, Scaling, finite_ranges
from hookviewer.render.shading import Shading, mark_colors, mark_indices
from hookviewer.render.tiles import TileStack

__all__ = [
    "GAP",
    "NAN",
    "NEGATIVE_INFINITY",
    "POSITIVE_INFINITY",
    "VALUE_COUNT",
    "Mosaic",
    "build_mosaic",
    "tile_picture",
]

Picture = NDArray[np.uint8]
WIDE_TILE = 64  # pixels; from here on two pixels of gap show better than one


@dataclass(frozen=True, slots=True, eq=False)
class Mosaic:
    """One picture of ``count`` tiles, row by row from the top left.

    Attributes:
        pixels: (y, x) indices of the palette, or (y, x, RGB).
        count: How many tiles there are.
        columns: How many of them stand side by side.
        tile_height: Rows of a tile.
        tile_width: Columns of a tile.
        gap: Pixels between two tiles.
        low: The value of the lowest colour of each tile.
        high: The value of the highest colour of each tile.
    """

    pixels: Picture = field(repr=False)
    count: int
    columns: int
    tile_height: int
    tile_width: int
    gap: int
    low: Levels = field(repr=False)
    high: Levels = field(repr=False)

    def tile_at(self, x: float, y: float) -> tuple[int, int, int] | None:
        """Return (tile, row, column) of a place in the picture; None on a gap or outside."""
        height, width = self.pixels.shape[:2]
        if not (0 <= x < width and 0 <= y < height):  # NaN is not inside either
            return None
        tile_row, row = divmod(int(y), self.tile_height + self.gap)
        tile_column, column = divmod(int(x), self.tile_width + self.gap)
        tile = tile_row * self.columns + tile_column
        if row >= self.tile_height or column >= self.tile_width or tile >= self.count:
            return None
        return tile, row, column

    def rect_of(self, tile: int) -> tuple[int, int, int, int]:
        """Return (x, y, width, height) of a tile in the picture.

        Raises:
            IndexError: There is no such tile.
        """
        if not 0 <= tile < self.count:
            raise IndexError(f"There is no tile {tile} among {self.count}.")
        row, column = divmod(tile, self.columns)
        x, y = column * (self.tile_width + self.gap), row * (self.tile_height + self.gap)
        return x, y, self.tile_width, self.tile_height


def build_mosaic(
    stack: TileStack,
    scaling: Scaling,
    aspect: float = 1.5,
    gap: int | None = None,
    gap_color: RGB = GAP_COLOR,
) -> Mosaic:
    """Draw every value of every tile, and mark every value that is not finite.

    Args:
        stack: The tiles.
        scaling: How values become colours.
        aspect: The wanted width of the picture over its height, unless the stack has columns.
        gap: Pixels between tiles; None chooses: 2 for wide tiles, 1, or none for single pixels.
        gap_color: The colour between colour tiles; other tiles have the index ``GAP`` there.
    """
    height, width = stack.tile_height, stack.tile_width
    if gap is None:
        gap = _natural_gap(height, width)
    if stack.columns is None:
        columns = _best_columns(stack.count, (height + gap, width + gap), gap, aspect)
    else:
        columns = max(1, min(stack.columns, stack.count))
    ranges = finite_ranges(stack)
    low, high = scaling.levels_of(ranges, height * width)
    steps = COLOR_COUNT if stack.is_color else VALUE_COUNT
    shading = Shading.of(ranges, low, high, stack.values.dtype, steps)
    pixels = _draw(stack, shading, columns, gap, gap_color)
    return Mosaic(pixels, stack.count, columns, height, width, gap, low, high)


def tile_picture(stack: TileStack, tile: int, low: float, high: float) -> Picture:
    """Return one tile as it looks in a mosaic whose levels are ``low`` and ``high`` there.

    Values beyond the levels take the lowest or the highest colour.
    """
    alone = replace(stack, values=stack.values[tile : tile + 1])
    steps = COLOR_COUNT if stack.is_color else VALUE_COUNT
    levels = np.array([low], np.float64), np.array([high], np.float64)
    shading = Shading.of(finite_ranges(alone), *levels, stack.values.dtype, steps)
    return _draw(alone, shading, columns=1, gap=0)


def _natural_gap(height: int, width: int) -> int:
    if height * width == 1:
        return 0
    return 2 if min(height, width) >= WIDE_TILE else 1


def _best_columns(count: int, pitch: tuple[int, int], gap: int, aspect: float) -> int:
    """Return the columns whose picture comes nearest to ``aspect``; of two equals the fewer.

    Wide and narrow are told apart by ratio: half the aspect is as far from it as its double.
    """

    def size(columns: int) -> tuple[int, int]:
        rows = math.ceil(count / columns)
        return rows * pitch[0] - gap, columns * pitch[1] - gap

    narrow, wide = 1, max(count, 1)  # more columns are never narrower
    while wide - narrow > 1:
        middle = (narrow + wide) // 2
        height, width = size(middle)
        narrow, wide = (middle, wide) if width <= aspect * height else (narrow, middle)
    (height, width), (lower, wider) = size(narrow), size(wide)
    return narrow if width * wider >= aspect**2 * height * lower else wide


def _draw(
    stack: TileStack, shading: Shading, columns: int, gap: int, gap_color: RGB = GAP_COLOR
) -> Picture:
    """Return the picture of a stack, drawn part by part into its place."""
    pixels, places = _canvas(stack, columns, gap, gap_color)
    mark = mark_colors if stack.is_color else mark_indices
    with np.errstate(invalid="ignore", over="ignore"):  # such values are set afterwards
        for tiles, rows, samples in blocks(stack, columns):
            shades = shading.shade(samples, tiles)
            if shading.is_exceeded[tiles].any():
                mark(shades, samples)
            top, left = divmod(tiles.start, columns)
            bottom = math.ceil(tiles.stop / columns)
            place = places[top:bottom, left : left + len(samples) // (bottom - top), rows]
            place[...] = shades.view(places.dtype).reshape(place.shape)
    return pixels


def _canvas(
    stack: TileStack, columns: int, gap: int, gap_color: RGB
) -> tuple[Picture, NDArray[np.void]]:
    """Return a picture of gaps, and the places of its tiles in it: (row, column, line of a tile).

    A line is one element of so many bytes, because copying short lines byte by byte takes twice
    as long.
    """
    if stack.count == 0:
        empty = np.empty((0, 0, 3) if stack.is_color else (0, 0), np.uint8)
        return empty, empty.view(np.void)
    height, width, depth = stack.tile_height, stack.tile_width, 3 if stack.is_color else 1
    rows = math.ceil(stack.count / columns)
    size = (rows * (height + gap) - gap, columns * (width + gap) - gap)
    if stack.is_color:
        pixels = np.empty((*size, 3), np.uint8)
        pixels[...] = gap_color
    else:
        pixels = np.full(size, GAP, np.uint8)
    line = size[1] * depth
    places: NDArray[np.void] = np.ndarray(
        (rows, columns, height),
        np.dtype((np.void, width * depth)),
        buffer=pixels.data,
        strides=((height + gap) * line, (width + gap) * depth, line),
    )
    return pixels, places
