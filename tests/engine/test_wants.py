"""A module that was given what it does not want says what it wants."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from hookviewer.engine.wants import wanted

X = torch.ones(2, 3)
PICTURE = torch.ones(1, 3, 4, 4)
SEQUENCE = torch.ones(5, 2, 3)
INDICES = torch.tensor([0, 4])
CHANNELS, FEATURES = "it wants 3 channels", "it wants 3 features in the last axis"
SHAPES = [
    (nn.Conv2d(3, 2, 1), PICTURE[:, :1], CHANNELS),
    (nn.Conv2d(3, 2, 1), PICTURE[0, :1], CHANNELS),
    (nn.Conv2d(1, 2, 1), PICTURE, "it wants 1 channel"),
    (nn.Conv1d(3, 2, 1), torch.ones(1, 4, 5), CHANNELS),
    (nn.Conv3d(3, 2, 1), torch.ones(1, 4, 5, 5, 5), CHANNELS),
    (nn.ConvTranspose2d(3, 2, 1), PICTURE[:, :1], CHANNELS),
    (nn.Conv2d(3, 2, 1), X, "it wants 4 axes (sample, channel and 2 more), or 3"),
    (nn.Conv2d(3, 2, (3, 5)), PICTURE, "it wants at least 3 × 5 positions"),
    (nn.Conv2d(3, 2, 5, dilation=2, padding=1), PICTURE, "it wants at least 7 × 7 positions"),
    (nn.Linear(3, 2), torch.ones(2, 4), FEATURES),
    (nn.Linear(3, 2), torch.ones(5, 3, 4), FEATURES),
    (nn.Linear(3, 2), torch.tensor(1.0), FEATURES),
    (nn.LSTM(3, 2), torch.ones(5, 2, 4), FEATURES),
    (nn.GRU(3, 2), pack_sequence([torch.ones(5, 4)]), FEATURES),
    (nn.GRUCell(3, 2), torch.ones(2, 4), FEATURES),
    (nn.BatchNorm2d(3), torch.ones(1, 4, 2, 2), CHANNELS),
    (nn.BatchNorm1d(3), torch.ones(2, 4), CHANNELS),
    (nn.InstanceNorm2d(3, affine=True), torch.ones(1, 4, 2, 2), CHANNELS),
    (nn.GroupNorm(2, 4), torch.ones(1, 3, 2), "it wants 4 channels"),
    (nn.LayerNorm(3), torch.ones(2, 4), "it wants 3 in the last axis"),
    (nn.LayerNorm((2, 3)), torch.ones(5, 3, 3), "it wants 2 × 3 in the last 2 axes"),
    (nn.Embedding(5, 2), INDICES + 3, "it wants indices from 0 to 4 and was given 7"),
    (nn.Embedding(5, 2), INDICES - 2, "it wants indices from 0 to 4 and was given -2"),
    (nn.EmbeddingBag(5, 2), INDICES[None] + 1, "it wants indices from 0 to 4 and was given 5"),
]
DOUBLE = "it has float32 parameters and was given float64; convert the input to float32, or the "
WHOLE = "it has float32 parameters and was given uint8; convert the input to float32"
HALF = "it has float16 parameters and was given float32; convert the input to float16, or the "
DTYPES = [
    (nn.Conv2d(3, 2, 1), PICTURE.double(), f"{DOUBLE}model to float64"),
    (nn.Conv2d(3, 2, 1), PICTURE.byte(), WHOLE),
    (nn.Linear(3, 2), X.double(), f"{DOUBLE}model to float64"),
    (nn.Linear(3, 2), X.byte(), WHOLE),
    (nn.Linear(3, 2).half(), X, f"{HALF}model to float32"),
    (nn.BatchNorm2d(3), PICTURE.double(), f"{DOUBLE}model to float64"),
    (nn.BatchNorm2d(3), PICTURE.byte(), WHOLE),
    (nn.LayerNorm(3), X.double(), f"{DOUBLE}model to float64"),
    (nn.LSTM(3, 2), SEQUENCE.double(), f"{DOUBLE}model to float64"),
    (nn.Embedding(5, 2), X, "it wants whole numbers (int64) as indices and was given float32"),
    (nn.Embedding(5, 2), INDICES.short(),
     "it wants whole numbers (int64) as indices and was given int16"),
]  # fmt: skip


def what_is_said(module, *given):
    """What torch says of a call that must fail."""
    with pytest.raises(Exception, match=r".") as caught:
        module(*given)
    return str(caught.value)


@pytest.mark.parametrize(("module", "given", "expected"), [*SHAPES, *DTYPES])
def test_a_module_says_what_it_wants(module, given, expected):
    assert wanted(module, {"0": given}, what_is_said(module, given)) == expected


@pytest.mark.parametrize(
    ("build", "given"),
    [
        (lambda: nn.Conv2d(3, 2, 3, padding="same"), PICTURE[..., :1]),
        (lambda: nn.ConvTranspose2d(3, 2, 5), PICTURE),
        (lambda: nn.Conv2d(3, 2, 1), PICTURE[0]),
        (lambda: nn.GroupNorm(1, 3), X[0]),
        (lambda: nn.Linear(3, 2), SEQUENCE),
        (lambda: nn.LayerNorm((2, 3)), SEQUENCE),
        (lambda: nn.BatchNorm1d(3), X),
        (lambda: nn.GroupNorm(3, 3), PICTURE),
        (lambda: nn.LSTM(3, 2), SEQUENCE),
        (lambda: nn.Embedding(5, 2), INDICES),
        (lambda: nn.Embedding(5, 2), INDICES[:0]),
        (lambda: nn.MultiheadAttention(3, 1), SEQUENCE),
        (lambda: nn.ReLU(), X),
    ],
)
@pytest.mark.parametrize("said", ["no cats here", "wrong type", "wrong device"])
def test_what_fits_is_not_objected_to(build, given, said):
    assert wanted(build(), {"0": given}, said) is None


def test_attention_wants_its_width():
    said = what_is_said(nn.MultiheadAttention(4, 2), SEQUENCE, SEQUENCE, SEQUENCE)
    found = wanted(nn.MultiheadAttention(4, 2), {"0": SEQUENCE}, said)
    assert found == "it wants 4 features in the last axis"


def test_masks_and_lengths_need_not_have_the_parameters_dtype():
    given = {"0": SEQUENCE, "mask": INDICES, "seen": torch.ones(2, dtype=torch.bool)}
    assert wanted(nn.LSTM(3, 2), given, "wrong dtype") is None
    given["state"] = torch.ones(1, 2, 2, dtype=torch.float64)
    assert wanted(nn.LSTM(3, 2), given, "wrong dtype") == f"{DOUBLE}model to float64"


def test_whole_numbers_of_a_module_are_no_wish_for_whole_numbers():
    module = nn.Module()
    module.register_buffer("steps", INDICES)
    assert wanted(module, {"0": X}, "wrong dtype") is None


def test_a_tensor_from_elsewhere_is_told_by_its_device():
    module, away = nn.Linear(3, 2), torch.ones(2, 3, device="meta")
    found = wanted(module, {"0": away}, what_is_said(module, away))
    assert found == "it is on cpu and was given a tensor on meta"


def test_a_module_that_is_in_two_places_says_so():
    module = nn.Linear(3, 2)
    module.bias = nn.Parameter(torch.ones(2, device="meta"))
    found = wanted(module, {"0": X}, what_is_said(module, X))
    assert found == "its parameters and buffers are on different devices, cpu and meta"


def test_nothing_is_known_of_nothing():
    assert wanted(nn.Linear(3, 2), {}, "missing argument of type Tensor") is None


def test_nested_tensors_are_not_objected_to():
    nested = torch.nested.nested_tensor([torch.ones(2, 4)], layout=torch.jagged)
    assert wanted(nn.Linear(3, 2), {"0": nested}, "no cats here") is None
