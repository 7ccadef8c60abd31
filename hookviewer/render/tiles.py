"""Read the axes of a capture: which parts of it are pictures, and what their pixels show."""

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hookviewer.engine.capture import Capture
from hookviewer.engine.errors import HookviewerError

if TYPE_CHECKING:
    from torch import Tensor

MAP_AXES = ("channel", "depth")
FILTER_AXES = ("filter", "input channel", "depth")


@dataclass(frozen=True, slots=True, eq=False)
class TileStack:
    """All pictures inside one capture, in the order of its index.

    Attributes:
        values: (tile, row, column), or (tile, row, column, RGB) for colour. Do not write to it.
        axes: The names of the index axes that select a tile.
        indices_shape: The lengths of those axes.
        pixel_axes: The names of the axes that run down and across a tile.
        columns: How many tiles belong side by side; None leaves it to the wanted aspect ratio.
        source_shape: The shape of the tensor without its batch axis, and without the colour axis
            if there is one; None stands for the indices, then row and column.
    """

    values: NDArray[Any] = field(repr=False)
    axes: tuple[str, ...]
    indices_shape: tuple[int, ...]
    pixel_axes: tuple[str, str] = ("row", "column")
    columns: int | None = None
    source_shape: tuple[int, ...] | None = None

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return int(self.values.shape[0])

    @property
    def tile_height(self) -> int:
        """Rows of a tile."""
        return int(self.values.shape[1])

    @property
    def tile_width(self) -> int:
        """Columns of a tile."""
        return int(self.values.shape[2])

    @property
    def is_color(self) -> bool:
        """Whether a pixel is three values: red, green, blue."""
        return self.values.ndim == 4

    def index_of(self, tile: int) -> tuple[int, ...]:
        """Return where ``tile`` stands on each of ``axes``."""
        return _unravel(tile, self.indices_shape)

    def value_at(self, tile: int, row: int, column: int) -> float | tuple[float, ...]:
        """Return the very value of a pixel; of a colour pixel red, green and blue."""
        value: float | list[float] = self.values[tile, row, column].tolist()
        return tuple(value) if isinstance(value, list) else value

    def position(self, tile: int, row: int, column: int) -> tuple[int, ...]:
        """Return the index into the tensor, without the batch axis, that a pixel shows.

        Of a colour pixel it is (filter, row, column).
        """
        shape = self.source_shape
        if shape is None:
            shape = (*self.indices_shape, self.tile_height, self.tile_width)
        offset = (tile * self.tile_height + row) * self.tile_width + column
        return _unravel(offset, shape)


def array_of(capture: Capture) -> NDArray[Any]:
    """Return the values by index, whatever their strides, as numpy can hold them.

    Floats of 16 and 8 bits become float32, bool becomes uint8 and complex its magnitude; sparse
    is made dense, quantized is dequantized. Everything else is shared with the capture, which is
    why the array is read-only.
    """
    return _to_array(_dense(capture.tensor))


def maps_of(capture: Capture, sample: int = 0) -> TileStack:
    """Return the maps of one sample of what flows through a node.

    (N, C, H, W) is one tile per channel, (N, C, D, H, W) one per channel and slice, more axes are
    folded likewise. (N, L, C) is one tile, token by feature. (N, C) is C tiles of one pixel.
    Tensors of one or no axis have no batch: all of their values are shown whatever the sample.

    Raises:
        HookviewerError: There is no such sample; the sentence says which there are.
    """
    tensor = _dense(capture.tensor)
    if tensor.ndim < 2:
        return _vector(_to_array(tensor), "feature")
    if tensor.numel() == 0:
        array = np.empty((0,) * (tensor.ndim - 1), _to_array(tensor).dtype)
    elif 0 <= sample < len(tensor):
        array = _to_array(tensor[sample])
    else:
        raise HookviewerError(
            f"There is no sample {sample}: this batch has the samples 0 to {len(tensor) - 1}."
        )
    if array.ndim == 1:
        return _vector(array, "feature")
    if array.ndim == 2:
        return _fold(array, {}, array.shape, ("token", "feature"))
    return _fold(array, _named(array.shape[:-2], MAP_AXES, first=1), array.shape[-2:])


def filters_of(capture: Capture) -> TileStack:
    """Return a parameter, a buffer or its gradient as pictures.

    Kernels (O, I, kh, kw) are one tile per filter and input channel, a filter a row; with three
    input channels one colour tile per filter, with a single one just a tile per filter;
    (O, I, kd, kh, kw) one tile per filter, input channel and slice. Kernels of a single pixel
    and (O, I) matrices are one tile, filter by input channel. One-dimensional kernels (O, I, k)
    are one tile per filter, input channel by place; so are kernels (O, I, k, 1, 1).
    Vectors are tiles of one pixel.
    """
    array = array_of(capture)
    if array.ndim < 2:
        return _vector(array, "channel")
    filters, inputs, *kernel = array.shape
    if array.ndim == 2:
        return _fold(array, {}, array.shape, ("output", "input"))
    if math.prod(kernel) == 1:
        return _fold(array, {}, (filters, inputs), ("filter", "input channel"))
    if len(kernel) != 2 and math.prod(kernel[1:]) == 1:
        return _fold(array, {"filter": filters}, (inputs, kernel[0]), ("input channel", "place"))
    if len(kernel) == 2 and inputs == 3:
        return _color(array)
    return _kernels(array)


def _kernels(array: NDArray[Any]) -> TileStack:
    """Return one tile per filter, input channel and what else stands before the last two axes."""
    indices = _named(array.shape[:-2], FILTER_AXES)
    columns = math.prod(array.shape[1:-2])
    if array.shape[1] == 1:
        del indices["input channel"]
    return _fold(array, indices, array.shape[-2:], columns=columns if columns > 1 else None)


def _color(array: NDArray[Any]) -> TileStack:
    """Return one colour tile per filter of (filter, RGB, row, column)."""
    filters, _, height, width = array.shape
    values = array.transpose(0, 2, 3, 1)
    if array.size == 0:
        values, filters = np.empty((0, height, width, 3), array.dtype), 0
    return TileStack(values, ("filter",), (filters,), source_shape=(filters, height, width))


def _vector(array: NDArray[Any], axis: str) -> TileStack:
    """Return one tile of one pixel per element of an array with one axis, or with none."""
    return _fold(array, {axis: array.size} if array.ndim else {}, (1, 1))


def _fold(
    array: NDArray[Any],
    indices: dict[str, int],
    picture: tuple[int, ...],
    pixel_axes: tuple[str, str] = ("row", "column"),
    columns: int | None = None,
) -> TileStack:
    """Return ``array`` cut into pictures of equal size, in its own order."""
    height, width = picture
    lengths = tuple(indices.values())
    if array.size == 0:
        values, lengths = np.empty((0, height, width), array.dtype), (0,) * len(lengths)
    else:
        values = array.reshape(math.prod(lengths), height, width)
    return TileStack(values, tuple(indices), lengths, pixel_axes, columns, array.shape)


def _named(lengths: tuple[int, ...], names: tuple[str, ...], first: int = 0) -> dict[str, int]:
    """Return the lengths by name; axes beyond the known names are called by their number."""
    more = (f"axis {axis}" for axis in itertools.count(first + len(names)))
    return dict(zip(itertools.chain(names, more), lengths, strict=False))


def _unravel(offset: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(index) for index in np.unravel_index(offset, shape))


def _dense(tensor: "Tensor") -> "Tensor":
    """Return the tensor with every element in its place: neither sparse nor quantized."""
    if tensor.is_nested:
        raise HookviewerError("A nested tensor has rows of unequal length, which no picture shows.")
    if tensor.is_quantized:
        return tensor.dequantize()
    return tensor if str(tensor.layout) == "torch.strided" else tensor.to_dense()


def _to_array(tensor: "Tensor") -> NDArray[Any]:
    if tensor.is_complex():
        array = np.asarray(np.hypot(_real_array(tensor.real), _real_array(tensor.imag)))
    else:
        array = _real_array(tensor)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    array.flags.writeable = False
    return array


def _real_array(tensor: "Tensor") -> NDArray[Any]:
    is_short = tensor.is_floating_point() and tensor.element_size() < 4
    values: NDArray[Any] = (tensor.float() if is_short else tensor).resolve_neg().numpy()
    return values
