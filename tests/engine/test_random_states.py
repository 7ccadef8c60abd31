"""Random numbers go on as if nobody had looked, and a seed makes two looks equal."""

import random

import numpy as np
import torch
from torch import nn

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


def test_random_numbers_go_on_as_if_nobody_had_looked(record, dropping):
    def draw():
        return torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random()

    def start():
        torch.manual_seed(1)
        np.random.seed(1)
        random.seed(1)

    start()
    expected = draw()
    for seed in (None, 5):
        start()
        record(dropping, X, ["drop"], train=True, seed=seed)
        assert draw() == expected


def test_two_looks_with_one_seed_see_the_same(record, dropping):
    first = record(dropping, X, "drop", train=True, seed=3)
    torch.rand(5)
    second = record(dropping, X, "drop", train=True, seed=3)
    other = record(dropping, X.repeat(50, 1), "drop", train=True, seed=4)
    assert torch.equal(first.output, second.output)
    assert torch.equal(first["drop"].output, second["drop"].output)
    assert not torch.equal(other["drop"].output[:2], first["drop"].output)


def test_without_a_seed_the_state_at_hand_is_used(record):
    torch.manual_seed(2)
    expected = nn.functional.dropout(torch.ones(100))
    torch.manual_seed(2)
    assert torch.equal(record(nn.Dropout(), torch.ones(100), "", train=True).output, expected)
