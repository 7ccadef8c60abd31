"""A model that is recorded returns the very bits that it returns when it is not."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torchvision.models import SwinTransformer, mobilenet_v3_small

from hookviewer.engine.plan import Inputs


def layer(**options):
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **options)


class Attention(nn.Module):
    """Attention whose parts are views of one projection, with a mask of numbers."""

    def __init__(self):
        super().__init__()
        self.project, self.norm, self.back = nn.Linear(16, 48), nn.Identity(), nn.Linear(16, 16)

    def forward(self, x, mask=None):
        parts = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        query = self.norm(query)
        y = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.back(y.transpose(1, 2).flatten(2))


class InPlace(nn.Module):
    """Writes to parts of values wherever it can."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.flat = nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8), nn.Flatten()
        self.relu, self.head = nn.ReLU(inplace=True), nn.Linear(288, 5)

    def forward(self, x):
        x[:, 0].sub_(0.5)
        y = self.conv(x)
        z = self.norm(y)
        z[:, ::2] += y[:, 1::2]
        flat = self.flat(z)
        flat *= 0.5
        return self.head(self.relu(flat)) + z.mean() + x.sum()


SEQUENCE = Inputs(torch.randn(2, 9, 16, generator=torch.Generator().manual_seed(0)))
MASKED = Inputs(*SEQUENCE.args, mask=torch.randn(9, 9, generator=torch.Generator().manual_seed(1)))
ITSELF = Inputs(*SEQUENCE.args * 3)
PICTURE = Inputs(torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)))
LARGE = Inputs(torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)))
MODELS = {
    "encoder": (lambda: nn.TransformerEncoder(layer(), 2), SEQUENCE),
    "norm first": (lambda: layer(norm_first=True), SEQUENCE),
    "masked encoder": (lambda: nn.TransformerEncoder(layer(), 2), MASKED),
    "attention": (lambda: nn.MultiheadAttention(16, 4, batch_first=True), ITSELF),
    "own attention": (Attention, SEQUENCE),
    "own masked attention": (Attention, MASKED),
    "lstm": (lambda: nn.LSTM(16, 8, num_layers=2, bidirectional=True, dropout=0.5), SEQUENCE),
    "gru": (lambda: nn.GRU(16, 8), SEQUENCE),
    "in place": (InPlace, PICTURE),
    "mobilenet": (lambda: mobilenet_v3_small(width_mult=0.25), LARGE),
    "swin": (lambda: SwinTransformer([4, 4], 12, [2, 2], [2, 4], [4, 4]), LARGE),
}


def bits(output):
    parts = output if isinstance(output, tuple | list) else [output]
    flat = [part for each in parts for part in (each if isinstance(each, tuple) else [each])]
    return [part for part in flat if part is not None]


def copied(args):
    """Return copies to be written to; a tensor that is given twice stays one tensor."""
    copies = {id(tensor): tensor.clone() for tensor in args}
    return [copies[id(tensor)] for tensor in args]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("target", [None, lambda output: bits(output)[0].sum()])
@pytest.mark.parametrize("everything", [False, True])
def test_recording_changes_no_bit_of_the_output(record, name, train, target, everything):
    torch.manual_seed(0)
    build, inputs = MODELS[name]
    model = build().train(train)
    paths = [path for path, _ in model.named_modules()] if everything else []
    torch.manual_seed(5)
    expected = bits(model(*copied(inputs.args), **inputs.kwargs))
    torch.manual_seed(5)
    run = record(model, inputs, paths, target=target, train=train)
    assert len(bits(run.output)) == len(expected)
    assert all(map(torch.equal, bits(run.output), expected))
