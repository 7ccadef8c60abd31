"""A model in a file, and the command in this process."""

import pytest

from hookviewer.__main__ import main

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, 2, bias=False), nn.Linear(2, 2)

    def forward(self, x):
        return self.last(self.first(x) + 1)


def net():
    model = Net().double()
    with torch.no_grad():
        model.first.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, -4.0]]))
        model.last.weight.copy_(torch.tensor([[5.0, 6.0], [7.0, 8.0]]))
    return model


def ones():
    return torch.ones(1, 2, dtype=torch.float64)
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """``command(*words)``: run it beside ``net.py``; gives its code, its output and its errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # the command would set it for good
    (tmp_path / "net.py").write_text(NET)

    def command(*words):
        code = main([*words])
        return code, *capsys.readouterr()

    return command
