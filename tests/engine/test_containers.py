"""Every tensor in what modules hand on has its value and gradient; the model gets what it made."""

import dataclasses
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

from hookviewer.engine.plan import Inputs, Intervention

Pair = namedtuple("Pair", ["feat", "aux"])
X = torch.tensor([[1.0, 2.0]])


@dataclasses.dataclass
class Found:
    feat: Tensor
    aux: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class Sealed:
    feat: Tensor
    aux: object = None


class Named(OrderedDict):
    """Has its items as attributes too, as the outputs of language models have."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Lookup(Mapping):
    """A mapping that is no dictionary."""

    def __init__(self, items):
        self.items_ = items

    def __getitem__(self, key):
        return self.items_[key]

    def __setitem__(self, key, value):
        self.items_ = {**self.items_, key: value}

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)


KINDS = {
    "dictionary": (lambda y: {"feat": y, "aux": None}, lambda o: o["feat"]),
    "dictionary of its own": (lambda y: UserDict(feat=y), lambda o: o["feat"]),
    "ordered": (lambda y: OrderedDict(feat=y), lambda o: o["feat"]),
    "named": (lambda y: Named(feat=y), lambda o: o.feat),
    "mapping": (lambda y: Lookup({"feat": y}), lambda o: o["feat"]),
    "dataclass": (Found, lambda o: o.feat),
    "frozen dataclass": (Sealed, lambda o: o.feat),
    "named tuple": (lambda y: Pair(y, "text"), lambda o: o.feat),
    "tuple": (lambda y: (None, y), lambda o: o[1]),
    "list": (lambda y: ["text", [y]], lambda o: o[1][0]),
    "deep": (lambda y: {"a": (Found(None, [Named(feat=y)]),)}, lambda o: o["a"][0].aux[0].feat),
}
LEAVES = {"tuple": "1", "list": "1/0", "deep": "a/0/aux/0/feat"}


@pytest.fixture
def contained(record, around, does):
    """``contained(kind)``: the run of a module that hands on ``3 x`` in a container, squared."""

    def contained(kind, **options):
        make, take = KINDS[kind]
        net = around(does(lambda x: make(x * 3)), lambda body, x: take(seen(body(x))) ** 2)
        return record(net, X, "body", **options)

    kinds = []

    def seen(container):
        kinds.append(container)
        return container

    contained.handed_on = kinds
    return contained


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_in_a_container_has_its_value_and_gradient(contained, kind):
    (call,) = contained(kind)["body"].calls
    leaf = LEAVES.get(kind, "feat")
    assert {name: value.tolist() for name, value in call.outputs.items()} == {leaf: [[3, 6]]}
    assert {name: g.tolist() for name, g in call.grad_outputs.items()} == {leaf: [[6, 12]]}
    assert call.grad_inputs["0"].tolist() == [[18, 36]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_tensor_comes_in_a_container_of_the_same_kind(contained, kind):
    double = {"body": (Intervention(forward=lambda value: value * 2),)}
    run = contained(kind, interventions=double)
    assert run.output.tolist() == [[36, 144]]
    (handed_on,) = contained.handed_on
    assert type(handed_on) is type(KINDS[kind][0](X))


def test_a_container_that_nothing_is_changed_in_is_the_models_own(record, around, does):
    made = []

    def make(x):
        made.append(Found(x * 3))
        return made[-1]

    net = around(does(make), lambda body, x: x * (2 if body(x) is made[-1] else 0))
    assert record(net, X, "body").output.tolist() == [[2, 4]]


def test_the_same_tensor_under_two_names_has_all_its_gradient_under_both(record, around, does):
    net = around(does(lambda x: (lambda y: [y, {"again": y}])(x * 3)), lambda body, x: use(body(x)))

    def use(parts):
        return parts[0] * 2 + parts[1]["again"] * 5

    (call,) = record(net, X, "body")["body"].calls
    assert {leaf: g.tolist() for leaf, g in call.grad_outputs.items()} == {
        "0": [[7, 7]],
        "1/again": [[7, 7]],
    }


def test_containers_that_go_in_have_leaves_too(record, around, does):
    body = does(lambda boxes, *, more: boxes["a"] * more.feat + more.aux[0])
    net = around(body, lambda body, x: body({"a": x * 2, "n": 3}, more=Found(x * 3, [x * 5])))
    (call,) = record(net, X, ["body", "input:0"])["body"].calls
    assert {leaf: v.tolist() for leaf, v in call.inputs.items()} == {
        "0/a": [[2, 4]],
        "more/feat": [[3, 6]],
        "more/aux/0": [[5, 10]],
    }
    assert {leaf: g.tolist() for leaf, g in call.grad_inputs.items()} == {
        "0/a": [[3, 6]],
        "more/feat": [[2, 4]],
        "more/aux/0": [[1, 1]],
    }


def test_packed_sequences_have_leaves(record, around, does):
    def pack(x):
        return nn.utils.rnn.pack_padded_sequence(x, torch.tensor([2, 1]), batch_first=True)

    net = around(does(pack), lambda body, x: body(x).data * 2)
    given = torch.tensor([[[1.0], [2.0]], [[3.0], [0.0]]])
    (call,) = record(net, given, "body")["body"].calls
    assert call.outputs["data"].tolist() == [[1], [3], [2]]
    assert call.outputs["batch_sizes"].tolist() == [2, 1]
    assert call.grad_outputs["data"].tolist() == [[2]] * 3
    assert call.grad_inputs["0"].tolist() == [[[2], [2]], [[2], [0]]]


def test_distributions_and_other_objects_are_no_containers(record, around, does):
    net = around(does(lambda x: torch.distributions.Normal(x, 1.0)), lambda body, x: body(x).mean)
    node = record(net, X, "body")["body"]
    assert node.absence("output") == "no tensors"


def test_inputs_in_containers_of_any_kind_are_fed_as_they_are(record, does):
    def take(batch, *, sealed):
        return batch.feat * sealed.feat if isinstance(batch, Named) else batch["none"]

    inputs = Inputs(Named(feat=X), sealed=Sealed(X * 2, "text"))
    run = record(does(take), inputs, ["input:0", "input:sealed"])
    assert run.output.tolist() == [[2, 8]]
    assert run["input:0"].calls[0].grad_outputs["feat"].tolist() == [[2, 4]]
    assert run["input:sealed"].calls[0].grad_outputs["feat"].tolist() == [[1, 2]]
