"""What the numbers in a picture stand for: values, gaps and what is no finite number."""

import numpy as np
from numpy.typing import NDArray

RGB = tuple[int, int, int]

VALUE_COUNT = 252
"""Values take the indices 0 to 251; zero in a symmetric range takes ``VALUE_COUNT // 2``."""
GAP, NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY = 252, 253, 254, 255

COLOR_COUNT = 256
"""Steps of one colour component; zero in a symmetric range takes ``COLOR_COUNT // 2``."""
GAP_COLOR: RGB = (64, 64, 64)
NAN_COLOR: RGB = (255, 0, 255)
POSITIVE_INFINITY_COLOR: RGB = (255, 128, 0)
NEGATIVE_INFINITY_COLOR: RGB = (0, 224, 224)


def color_positions() -> NDArray[np.float64]:
    """Return where in a colour map, 0 to 1, each of the ``VALUE_COUNT`` indices is read.

    Both ends are reached, and the index of zero in a symmetric range is exactly the middle.
    """
    middle = VALUE_COUNT // 2
    below = np.linspace(0.0, 0.5, middle + 1)
    above = np.linspace(0.5, 1.0, VALUE_COUNT - middle)
    return np.concatenate([below, above[1:]])
