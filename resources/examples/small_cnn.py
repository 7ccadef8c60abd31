"""A small convolutional network on a picture of 32 x 32 pixels.

Open this file as a model (small_cnn.py:model) and as its input (small_cnn.py:inputs). What to
expect at conv2, for any target:

    value                          shape
    input                          1 x 6 x 16 x 16
    output                         1 x 9 x 16 x 16
    gradient of the output         1 x 9 x 16 x 16
    gradient of the input          1 x 6 x 16 x 16
    gradient of the weight         9 x 6 x 3 x 3
    gradient of the bias           9

Seen backward a layer has three inputs: what it was given, its kernel and its bias. The gradient of
each has the shape of its value.
"""

import torch
from torch import Tensor, nn


class SmallCNN(nn.Module):
    """Two convolutions, each halved by a pooling layer, and two linear layers: ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, kernel_size=3, padding=1)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(6, 9, kernel_size=3, padding=1)
        self.relu2 = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(9 * 8 * 8, 120)
        self.relu3 = nn.ReLU()
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return ten scores for each picture in x, (sample, channel, row, column)."""
        x = self.pool1(self.relu1(self.conv1(x)))  # 1 x 6 x 16 x 16
        x = self.pool2(self.relu2(self.conv2(x)))  # 1 x 9 x 8 x 8
        x = torch.flatten(x, 1)  # 1 x 576
        return self.fc2(self.relu3(self.fc1(x)))  # 1 x 10


def model() -> nn.Module:
    """Return the network with random weights, the same ones each time."""
    with torch.random.fork_rng(devices=[]):  # leaves the random numbers of others alone
        torch.manual_seed(0)
        return SmallCNN().eval()


def inputs() -> Tensor:
    """Return a picture, (1, channel, row, column): a disc before two ramps of colour.

    It requires gradients, so that in plain PyTorch its own gradient would be kept too.
    """
    place = torch.linspace(-1, 1, 32)
    row, column = torch.meshgrid(place, place, indexing="ij")
    disc = (row**2 + column**2 < 0.4).float()
    picture = torch.stack([disc, (row + 1) / 2, (column + 1) / 2])
    return picture.unsqueeze(0).requires_grad_()
