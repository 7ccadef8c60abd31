"""What the picture worker does: from captured values to pictures and their statistics."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.capture import Capture
from hookviewer.render.mosaic import Mosaic, build_mosaic, tile_picture
from hookviewer.render.palette import GAP_COLOR, RGB
from hookviewer.render.scaling import Scaling
from hookviewer.render.statistics import Statistics, describe
from hookviewer.render.tiles import TileStack


@dataclass(frozen=True, slots=True, eq=False)
class PictureRequest:
    """A capture, and how it is to be looked at.

    Attributes:
        capture: The values.
        read: How its axes become tiles.
        scaling: How its values become colours.
        room: Width and height, in pixels, of the place it will be shown in.
        gap_color: The colour between colour tiles.
    """

    capture: Capture
    read: Callable[[Capture], TileStack] = field(repr=False)
    scaling: Scaling
    room: tuple[int, int] = (600, 400)
    gap_color: RGB = GAP_COLOR


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A finished mosaic, and the values behind it for reading."""

    request: PictureRequest
    stack: TileStack = field(repr=False)
    mosaic: Mosaic = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class TileDetails:
    """One tile large, with its statistics. ``low`` and ``high`` are the ends of its colours."""

    pixels: NDArray[Any] = field(repr=False)
    low: float
    high: float
    statistics: Statistics


def build_picture(request: PictureRequest, token: CancelToken) -> Picture:
    """Lay out all tiles of a capture."""
    stack = request.read(request.capture)
    token.check()
    width, height = request.room
    mosaic = build_mosaic(
        stack, request.scaling, width / height, _gap(stack, width * height), request.gap_color
    )
    return Picture(request, stack, mosaic)


def _gap(stack: TileStack, room: int) -> int | None:
    """Return a gap of at least one pixel of the screen, where several pixels share one there.

    A narrower one would be drawn between some tiles and not between others.
    """
    pixels = stack.count * stack.tile_height * stack.tile_width
    crowding = math.sqrt(pixels / room)
    return math.ceil(crowding) if crowding > 1 and stack.tile_height > 1 else None


def describe_tile(picture: Picture, tile: int, _token: CancelToken) -> TileDetails:
    """Return one tile of ``picture`` in the colours it has there."""
    low, high = float(picture.mosaic.low[tile]), float(picture.mosaic.high[tile])
    pixels = tile_picture(picture.stack, tile, low, high)
    return TileDetails(pixels, low, high, describe(picture.stack.values[tile]))
