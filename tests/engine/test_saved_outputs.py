"""The output of an opened run is nested as the model returned it."""

import dataclasses
import enum
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal

import numpy as np
import pytest
import torch

from hookviewer.engine.run import Run
from hookviewer.engine.run_file import open_run

Pair = namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Boxes:
    """A dataclass such as a detector returns."""

    corners: torch.Tensor
    count: int


@pytest.fixture
def returned(tmp_path):
    """``returned(output)``: the output of a run that was saved and opened."""

    def returned(output):
        Run(frozenset(), output=output).save(tmp_path / "run.safetensors")
        return open_run(tmp_path / "run.safetensors").output

    return returned


def test_an_output_keeps_its_nesting(returned):
    one, two = torch.tensor([1.0]), torch.tensor([2])
    output = returned(((one, [two, None]), {"a": (3, 0.5, True, "text"), 1: [], (1, "x"): ()}))
    assert output == ((one, [two, None]), {"a": (3, 0.5, True, "text"), 1: [], (1, "x"): ()})
    assert isinstance(output[1]["a"][2], bool)
    assert returned([False])[0] is False


def test_named_tuples_and_dataclasses_come_back_as_dictionaries(returned):
    one = torch.tensor([1.0])
    assert returned(Pair(one, 2)) == {"first": one, "second": 2}
    assert returned([Boxes(one, 2)]) == [{"corners": one, "count": 2}]
    unfinished = Boxes(one, 2)
    del unfinished.count
    assert returned(unfinished) == {"corners": one}
    assert type(returned(OrderedDict(b=one, a=one))) is dict
    assert list(returned(OrderedDict(b=one, a=one))) == ["b", "a"]


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (Decimal("1.50"), "1.50"),
        ({"key": frozenset({1})}, {"key": "frozenset({1})"}),
        ({Decimal(1): 2}, {"1": 2}),
        (torch.float32, "torch.float32"),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (1 - 2j, 1 - 2j),
        (math.inf, math.inf),
        (torch.Size([1, 2]), (1, 2)),
        (OrderedDict, str(OrderedDict)),
        (Boxes, str(Boxes)),
    ],
)
def test_what_json_cannot_hold_comes_back_as_its_text(returned, value, back):
    assert returned(value) == back


def test_a_string_that_is_more_comes_back_as_its_content(returned):
    class Name(str, enum.Enum):  # noqa: UP042 - whose own text is Name.CAT
        CAT = "cat"

    assert returned([Name.CAT]) == ["cat"]


def test_an_object_without_a_text_comes_back_as_the_name_of_its_class(returned):
    class Broken:
        def __str__(self):
            raise RuntimeError("on purpose")

    assert returned((Broken(),)) == ("<Broken>",)


def test_an_output_may_hold_itself(returned):
    output = [torch.tensor(1.0)]
    output.append(output)
    assert returned(output) == [torch.tensor(1.0), "..."]
