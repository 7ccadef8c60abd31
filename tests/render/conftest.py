"""What the tests of the pictures are made from."""

import numpy as np
import pytest
import torch

from hookviewer.engine.capture import Capture
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.render.tiles import TileStack


@pytest.fixture
def capture():
    """Return a function: a tensor or nested list as the capture of an output."""

    def make(values, quantity=Quantity.OUTPUT):
        return Capture(Tap("conv", quantity), 0, "0", torch.as_tensor(values))

    return make


@pytest.fixture
def stack():
    """Return a function: (tile, row, column) values as a stack with one tile axis."""

    def make(values, dtype=np.float32, columns=None):
        array = np.asarray(values, dtype)
        return TileStack(array, ("channel",), array.shape[:1], columns=columns)

    return make
