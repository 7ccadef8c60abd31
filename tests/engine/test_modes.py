"""A function mode can be taken off while it is on."""

import pytest
import torch
from torch.overrides import TorchFunctionMode

from hookviewer.engine.modes import without


class Seen(TorchFunctionMode):
    """Notes its name in ``seen`` for each function called."""

    def __init__(self, name, seen):
        super().__init__()
        self.name, self.seen = name, seen

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(self.name)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def who():
    """``who()``: the names of the modes that see a call, the innermost first."""

    def who():
        seen.clear()
        torch.neg(one)
        return list(seen)

    seen, one = [], torch.ones(1)
    who.modes = [Seen(name, seen) for name in "abc"]
    return who


@pytest.mark.parametrize(("taken", "left"), [(0, "cb"), (1, "ca"), (2, "ba")])
def test_without_one_the_others_stay_on_in_their_order(who, taken, left):
    a, b, c = who.modes
    with a, b, c:
        with without(who.modes[taken]):
            assert who() == list(left)
        assert who() == ["c", "b", "a"]
    assert who() == []


def test_it_comes_back_after_an_error_and_nested(who):
    a, b, _ = who.modes
    with a, b:
        with pytest.raises(ValueError, match="on purpose"), without(a), without(a):
            raise ValueError("on purpose")
        assert who() == ["b", "a"]


def test_a_mode_that_is_not_on_stays_off(who):
    a, b, _ = who.modes
    with a, without(b):
        assert who() == ["a"]
    assert who() == []
