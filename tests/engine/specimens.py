"""Small nets of many kinds, each with another place where a run could leave a trace."""

import warnings
from collections import deque

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize, spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint


def _rows(*shape):
    return torch.linspace(-2, 3, torch.Size(shape).numel()).reshape(shape)


def first_hook(*_):
    """A hook of the user's, the first of its place."""


def second_hook(*_):
    """A hook of the user's, the second of its place."""


def halve_output(_module, _args, output):
    """A hook of the user's that changes what is handed on."""
    return output / 2


def scale_gradient(gradient):
    """A hook of the user's on a tensor."""
    return gradient * 3


def hooked():
    """Hooks of every kind in a given order, beside a ReLU in place."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4))
    for hook in (second_hook, first_hook):
        net.register_forward_pre_hook(hook)
        net[0].register_forward_pre_hook(hook, with_kwargs=True)
        net[0].register_forward_hook(hook)
        net[1].register_forward_hook(hook, with_kwargs=True, always_call=True)
        net[2].register_full_backward_hook(hook)
        net[2].register_full_backward_pre_hook(hook)
        net.register_state_dict_pre_hook(hook)
    net[0].register_forward_hook(halve_output, prepend=True)
    net[2].weight.register_hook(scale_gradient)
    net[2].bias.register_post_accumulate_grad_hook(first_hook)
    return net, (_rows(3, 4),)


def mixed_modes():
    """Norms and dropouts, some in train mode and some in eval mode."""
    net = nn.Sequential(
        nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None)
    )
    net[0].eval()
    return net.append(nn.Dropout(inplace=True).eval()), (_rows(3, 4),)


class Recurrent(nn.Module):
    """An LSTM whose states attend to each other."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 4, batch_first=True, bidirectional=True)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)

    def forward(self, x):
        states, (hidden, _) = self.lstm(x)
        mixed, weights = self.attention(states, states, value=states)
        return {"mixed": mixed + states, "more": (weights, hidden)}


def recurrent():
    """What keeps flat weights, and gives out several tensors."""
    return Recurrent(), (_rows(2, 3, 4),)


def fused():
    """An encoder layer that torch runs as one kernel."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return layer.eval().requires_grad_(False), (_rows(2, 3, 4),)


def partly_frozen():
    """Some parameters frozen, some with a gradient of before, some both."""
    net = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.Linear(4, 2))
    net[0].requires_grad_(False)
    for parameter in (net[0].weight, net[2].weight, net[3].bias):
        parameter.grad = torch.full_like(parameter, 7)
    return net, (_rows(3, 4),)


class Symmetric(nn.Module):
    """A weight that equals its own transpose."""

    def forward(self, weight):
        return weight.triu() + weight.triu(1).T


def dressed():
    """Weights that are computed from others, in the old and in the new manner."""
    layers = [nn.Linear(4, 4) for _ in range(5)]
    with warnings.catch_warnings(action="ignore"):
        weight_norm(layers[0])
    spectral_norm(layers[1])
    parametrizations.weight_norm(layers[2])
    parametrizations.spectral_norm(layers[3])
    parametrize.register_parametrization(layers[4], "weight", Symmetric())
    return nn.Sequential(*layers), (_rows(3, 4),)


class Checkpointed(nn.Module):
    """Computes its middle anew in backward, with a dropout."""

    def __init__(self, use_reentrant):
        super().__init__()
        self.before, self.after = nn.Linear(4, 4), nn.Linear(4, 4)
        self.middle = nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Dropout())
        self.use_reentrant = use_reentrant

    def forward(self, x):
        y = checkpoint(self.middle, self.before(x), use_reentrant=self.use_reentrant)
        return self.after(y)


def checkpointed():
    """A segment that is computed anew."""
    return Checkpointed(use_reentrant=False), (_rows(3, 4),)


def checkpointed_reentrant():
    """A segment that is computed anew, by a backward in a backward."""
    return Checkpointed(use_reentrant=True), (_rows(3, 4),)


def lazy():
    """A net whose shapes are not known yet."""
    return nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyBatchNorm1d()), (_rows(3, 4),)


class Viewing(nn.Module):
    """Writes through views, also to what it is given and to a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("table", torch.ones(2, 4))
        self.register_buffer("row", self.table[0], persistent=False)

    def forward(self, x):
        x += 1
        y = self.layer(x)
        y[:, :2].mul_(2)
        left, right = y.chunk(2, dim=1)
        turned = torch.cat([right, left], 1).t()
        turned[0] = 0
        self.row.add_(1)
        return functional.relu(turned.t().view(-1), inplace=True) + self.table.sum()


def viewing():
    """Views, and operations in place on them."""
    return Viewing(), (_rows(3, 4),)


class Reading(nn.Module):
    """Looks up rows by whole numbers; the head has the weight of the table."""

    def __init__(self):
        super().__init__()
        self.table, self.bag = nn.Embedding(5, 4, padding_idx=0), nn.EmbeddingBag(5, 4)
        self.frozen = nn.Embedding(5, 4).requires_grad_(False)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens, *, mask=None):
        found = self.table(tokens) + self.frozen(tokens) + self.bag(tokens).unsqueeze(1)
        return self.head(found if mask is None else found * mask)


def reading():
    """Whole numbers go in; a weight is shared."""
    return Reading(), (torch.tensor([[0, 1, 2], [3, 4, 0]]),)


def parallel():
    """What would run on several devices."""
    return nn.DataParallel(nn.Sequential(nn.Linear(4, 4), nn.ReLU())), (_rows(3, 4),)


def compiled():
    """What would run compiled, in part."""
    inner = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), backend="eager")
    return nn.Sequential(inner, nn.Linear(4, 2)), (_rows(3, 4),)


class Catching(nn.Module):
    """Goes on when a part of it fails, and when what it calls does not exist."""

    def __init__(self):
        super().__init__()
        self.failing, self.other = nn.Linear(3, 3), nn.Linear(4, 4)

    def forward(self, x):
        try:
            return self.failing(self.other(x))
        except RuntimeError:
            return self.other(x) * 2


def catching():
    """An error inside that the model deals with."""
    return Catching(), (_rows(3, 4),)


class Differentiating(nn.Module):
    """Takes derivatives on its way, with and without leaving them in ``.grad``."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            energy = self.layer(point).square().sum()
            (force,) = torch.autograd.grad(energy, point, create_graph=True)
            energy.backward(retain_graph=True)
        return self.last(x) + force


def differentiating():
    """A derivative inside of the forward."""
    return Differentiating(), (_rows(3, 4),)


class Transforming(nn.Module):
    """Uses the transforms of functions."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        mapped = torch.func.vmap(self.layer)(x)
        gradients = torch.func.grad(lambda point: self.layer(point).sum())(x)
        weights = {name: value * 2 for name, value in self.last.named_parameters()}
        return torch.func.functional_call(self.last, weights, (mapped,)) + gradients


def transforming():
    """Transforms of ``torch.func``."""
    return Transforming(), (_rows(3, 4),)


class Bookkeeping(nn.Module):
    """Keeps books in every kind of container, and draws from every source of chance."""

    def __init__(self):
        super().__init__()
        self.layer, self.unset = nn.Linear(4, 4), None
        self.queue, self.names, self.nested = deque(maxlen=2), {"a"}, {"deep": [torch.zeros(3)]}
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("late", None)

    def forward(self, x):
        y = self.layer(x) + torch.rand(4)
        self.queue.append(y)
        self.names.add("b")
        self.nested["deep"][0] += 1
        self.nested["new"] = y
        self.mean.mul_(0.9).add_(y.detach().mean(0))
        self.late, self.unset, self.last = y.mean(0), y, x
        self.layer.eval() if self.layer.training else self.layer.train()
        self.layer.bias.requires_grad_(not self.layer.bias.requires_grad)
        return y


def bookkeeping():
    """State outside of parameters and buffers."""
    return Bookkeeping(), (_rows(3, 4),)


class Shared(nn.Module):
    """Calls one layer under two names, and one of its own again."""

    def __init__(self):
        super().__init__()
        self.first, self.act = nn.Linear(4, 4, dtype=torch.complex64), nn.Tanh()
        self.second = nn.Sequential(self.first)

    def forward(self, x):
        return self.act(self.second(self.act(self.first(x))) + x.conj())


def shared():
    """A layer with two names, among complex numbers."""
    return Shared(), (_rows(3, 4).to(torch.complex64),)


KINDS = (
    hooked,
    mixed_modes,
    recurrent,
    fused,
    partly_frozen,
    dressed,
    checkpointed,
    checkpointed_reentrant,
    lazy,
    viewing,
    reading,
    parallel,
    compiled,
    catching,
    differentiating,
    transforming,
    bookkeeping,
    shared,
)
