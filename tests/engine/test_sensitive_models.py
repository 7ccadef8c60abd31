"""Models that would notice a graph behind their tensors run as ever with everything recorded."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.errors import ForwardError
from hookviewer.engine.globs import ALL
from hookviewer.engine.plan import Inputs

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own

X = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])


def by_numpy(x):
    return torch.from_numpy((x.detach() * 2).numpy()) * x


def by_deepcopy(x):
    return copy.deepcopy(x.detach() * 2) * x


def by_flag(x):
    y = x.detach().clone()
    y.requires_grad = True
    return y * x


def by_own_backward(x):
    y = x.detach().clone().requires_grad_()
    (y**3).sum().backward()
    return y.grad * x


def by_own_grad(x):
    y = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    return gradient * x


def by_resizing(x):
    return x.clone().resize_(3)


def by_leaf(x):
    return x * (2 if (x.detach() + 1).is_leaf else 3)


def by_rows(x):
    for row in x:
        row.sub_(1)
    return x * 2


def by_rows_of_a_sum(x):
    y = x + 0
    for row in y:
        row.sub_(1)
    return y * 2


def by_chunks(x):
    first, _ = x.chunk(2)
    first.relu_()
    return x * 2


def by_vmap(x):
    return torch.vmap(lambda row: row.sin().mul_(2))(x)


def by_forward_derivative(x):
    return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1]


def by_functional_gradient(x):
    return torch.func.grad(lambda y: (y.sin() * 2).sum())(x)


def by_data(x):
    y = x * 1
    y.data.add_(1)
    return y * 2


def by_sparse(x):
    return torch.sparse.mm(torch.eye(2).to_sparse(), x)


def by_frequencies(x):
    return torch.view_as_real(torch.fft.rfft(x).conj() * 2) * 1


def by_lists(x):
    parts = torch._foreach_add([x, 2 * x], 1)
    torch._foreach_mul_(parts, 2)
    return parts[0] + parts[1]


MODELS = [
    by_numpy,
    by_deepcopy,
    by_flag,
    by_own_backward,
    by_own_grad,
    by_resizing,
    by_leaf,
    by_rows,
    by_rows_of_a_sum,
    by_chunks,
    by_vmap,
    by_forward_derivative,
    by_functional_gradient,
    by_data,
    by_sparse,
    by_frequencies,
    by_lists,
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_model_runs_as_ever_with_everything_recorded(record, model):
    run = record(model, X, ALL)
    assert torch.equal(run.output, model(X.clone()))


@pytest.mark.parametrize("at", ["/unbind", "/sub_", "input:0", "/mul"])
@pytest.mark.parametrize("model", [by_rows, by_rows_of_a_sum])
def test_rows_may_be_changed_in_place_whatever_is_recorded(record, model, at):
    run = record(model, X, at)
    assert torch.equal(run.output, 2 * (X - 1))


class OwnMask(nn.Module):
    """Attention with a mask that the model makes itself."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)

    def forward(self, x):
        x = self.project(x)
        hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
        mask = torch.zeros_like(x[0, :, :5]).masked_fill(hidden, -1e9)
        return functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


@pytest.mark.parametrize(
    "at", [ALL, "/masked_fill", "/zeros_like", "/scaled_dot_product_attention"]
)
def test_attention_gives_the_same_bits_though_its_mask_is_recorded(record, at):
    torch.manual_seed(0)
    net, given = OwnMask(), torch.randn(2, 5, 8)
    assert torch.equal(record(net, given, at).output, net(given.clone()))


@pytest.mark.parametrize("at", [ALL, "/masked_fill_", "/zeros_like", "input:src_key_padding_mask"])
def test_an_encoder_gives_the_same_bits_though_its_mask_is_recorded(record, digest, at):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    hidden = torch.arange(5) >= torch.tensor([[3], [4]])
    given = torch.randn(2, 5, 8)
    before = digest(net)
    run = record(net, Inputs(given, src_key_padding_mask=hidden), at)
    assert torch.equal(run.output, net(given.clone(), src_key_padding_mask=hidden))
    assert digest(net) == before


@pytest.mark.parametrize("at", [ALL, "input:1", "input:0"])
def test_attention_gives_the_same_bits_though_its_mask_is_an_input(record, at):
    torch.manual_seed(0)
    project, mask = (
        nn.Linear(8, 8),
        torch.zeros(5, 5).masked_fill_(torch.ones(5, 5).triu(1) > 0, -9),
    )

    def attention(x, mask):
        x = project(x)
        return functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    given = torch.randn(2, 5, 8)
    assert torch.equal(record(attention, Inputs(given, mask), at).output, attention(given, mask))


def test_a_model_that_torch_refuses_for_its_own_hooks_stops_after_a_second_try(record, scale):
    runs = []

    class Refused(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = scale(2.0)

        def forward(self, x):
            runs.append(1)
            self.scale(x)
            raise RuntimeError("torch.func.grad does not yet support saved tensor hooks.")

    with pytest.raises(ForwardError, match="saved tensor hooks"):
        record(Refused(), torch.ones(1), "scale", quantities=["grad_output"])
    assert len(runs) <= 3
