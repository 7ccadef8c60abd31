"""Gradients of operations are those of the same function written without changes in place."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.plan import Inputs, Intervention

X = torch.tensor([[0.5, -1.5, 2.0], [-0.7, 1.1, -0.3]], dtype=torch.float64)
WEIGHTS = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)


def weighted(output):
    """The target: every element of the output counts differently."""
    return (output * WEIGHTS).sum()


def article(a, b, d):
    """The example that shows how gradients are spoilt by kept references."""
    c = a + b
    e = c * d
    return e.sum()


A, B, D = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([2.0])
LEAVES = ["input:0", "input:1", "input:2"]


@pytest.fixture
def gradients(record):
    """``gradients(function, paths)``: of weighted outputs, by (path, in or out, call, leaf)."""

    def gradients(function, paths, **options):
        run = record(function, X, paths, target=weighted, **options)
        return {
            (c.tap.path, c.tap.quantity.removeprefix("grad_"), c.call, c.leaf): c.tensor
            for c in run.captures
            if c.tap.quantity.is_gradient
        }

    return gradients


def grads(output, *values):
    return torch.autograd.grad(weighted(output), values, retain_graph=True)


def same(found, wanted):
    missing = wanted.keys() - found.keys()
    different = [key for key in wanted.keys() & found.keys() if not near(found[key], wanted[key])]
    return not missing and not different


def near(left, right):
    return torch.allclose(left, right, rtol=1e-10, atol=1e-12)


def test_the_article_s_example_has_its_values_and_gradients(record):
    run = record(article, Inputs(A, B, D), [*LEAVES, "/add", "/mul", "/sum"], target=lambda o: o)
    assert [run[path].output.tolist() for path in ("/add", "/mul", "/sum")] == [[4, 6], [8, 12], 20]
    assert [run[leaf].grad_output.tolist() for leaf in LEAVES] == [[2, 2], [2, 2], [10]]
    assert run["/mul"].grad_output.tolist() == [1, 1]
    assert run["/add"].grad_output.tolist() == [2, 2]
    assert [run["/mul"].calls[0].grad_inputs[leaf].tolist() for leaf in "01"] == [[2, 2], [10]]


def test_a_doubled_gradient_doubles_the_leaves_before_it_only(record):
    doubled = {"/add": (Intervention(backward=lambda gradient: 2 * gradient),)}
    run = record(
        article, Inputs(A, B, D), [*LEAVES, "/add"], target=lambda o: o, interventions=doubled
    )
    assert [run[leaf].grad_output.tolist() for leaf in LEAVES] == [[4, 4], [4, 4], [10]]
    assert run["/add"].grad_output.tolist() == [2, 2]
    assert [gradient.tolist() for gradient in run["/add"].calls[0].grad_inputs.values()] == [
        [4, 4],
        [4, 4],
    ]


@pytest.mark.parametrize("is_in_place", [True, False])
def test_a_residual_sum_hands_its_gradient_to_both_sides(gradients, is_in_place):
    def residual(x):
        y = x * 2
        z = y.sin()
        if is_in_place:
            z += y
        else:
            z = z + y
        return functional.relu(z, inplace=is_in_place)

    x = X.clone().requires_grad_()
    y = x * 2
    z = y.sin()
    total = z + y
    of_total, of_y, of_z = grads(total.relu(), total, y, z)
    add = "/add_" if is_in_place else "/add"
    assert same(
        gradients(residual, ["/mul", "/sin", add, "/relu"]),
        {
            ("/mul", "output", 0, "0"): of_y,
            ("/sin", "output", 0, "0"): of_z,
            ("/sin", "input", 0, "0"): of_z * y.cos(),
            (add, "output", 0, "0"): of_total,
            (add, "input", 0, "0"): of_total,
            (add, "input", 0, "1"): of_total,
            ("/relu", "output", 0, "0"): WEIGHTS,
            ("/relu", "input", 0, "0"): of_total,
        },
    )


CHAIN = ["/mul", "/add_", "/mul_", "/sub_", "/relu_"]


@pytest.mark.parametrize("paths", [CHAIN, *([path] for path in CHAIN)])
def test_each_link_of_a_chain_in_place_has_the_gradient_of_its_value(gradients, paths):
    def chain(x):
        y = x * 2
        y += 1
        y *= 3
        y.sub_(x)
        return y.relu_()

    x = X.clone().requires_grad_()
    values = [x * 2]
    for step in (lambda y: y + 1, lambda y: y * 3, lambda y: y - x, lambda y: y.relu()):
        values.append(step(values[-1]))
    wanted = dict(zip(CHAIN, grads(values[-1], *values), strict=True))
    before = dict(zip(CHAIN[1:], CHAIN, strict=False))
    found = gradients(chain, paths)
    for path in paths:
        assert near(found[path, "output", 0, "0"], wanted[path])
        into = wanted[before[path]] if path in before else 2 * wanted["/mul"]
        assert near(found[path, "input", 0, "0"], into)


def test_parts_of_a_split_and_of_a_join_have_gradients_of_their_own(gradients):
    def swapped(x):
        left, right = (x * 2).split([1, 2], 1)
        return torch.cat([right.sin(), left], 1)

    of_sin = WEIGHTS[:, :2]
    of_right = of_sin * (2 * X[:, 1:]).cos()
    assert same(
        gradients(swapped, ["/split", "/cat", "/sin"]),
        {
            ("/split", "output", 0, "0"): WEIGHTS[:, 2:],
            ("/split", "output", 0, "1"): of_right,
            ("/split", "input", 0, "0"): torch.cat([WEIGHTS[:, 2:], of_right], 1),
            ("/cat", "output", 0, "0"): WEIGHTS,
            ("/cat", "input", 0, "0/0"): of_sin,
            ("/cat", "input", 0, "0/1"): WEIGHTS[:, 2:],
            ("/sin", "input", 0, "0"): of_right,
        },
    )


def test_chunks_that_meet_again_add_up(gradients):
    def meeting(x):
        first, second = x.sin().chunk(2)
        return torch.cat([first * second, first])

    first, second = X.sin()
    of_first, of_second = WEIGHTS[0] * second + WEIGHTS[1], WEIGHTS[0] * first
    assert same(
        gradients(meeting, ["/chunk", "/mul"]),
        {
            ("/chunk", "output", 0, "0"): of_first[None],
            ("/chunk", "output", 0, "1"): of_second[None],
            ("/chunk", "input", 0, "0"): torch.stack([of_first, of_second]),
            ("/mul", "input", 0, "0"): (WEIGHTS[0] * second)[None],
            ("/mul", "input", 0, "1"): of_second[None],
        },
    )


def test_one_tensor_given_twice_has_all_its_gradient_on_both_leaves(gradients):
    found = gradients(lambda x: (y := x + 1) * y, ["/add", "/mul"])
    wanted = 2 * (X + 1) * WEIGHTS
    assert near(found["/add", "output", 0, "0"], wanted)
    assert near(found["/mul", "input", 0, "0"], wanted)
    assert near(found["/mul", "input", 0, "1"], wanted)


class Functional(nn.Module):
    """A linear map by a function, with the bias added in place."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[1.0, 0.5, 0.0], [0, 2, 1], [1, 1, 1]]).double())
        self.bias = nn.Parameter(torch.tensor([0.1, 0.2, -0.3]).double())

    def forward(self, x):
        y = functional.linear(x, self.weight)
        y += self.bias
        return y.relu()


@pytest.mark.parametrize("is_frozen", [True, False])
def test_operations_on_parameters_have_gradients_frozen_or_not(gradients, is_frozen):
    net = Functional().requires_grad_(not is_frozen)
    with_bias = X @ net.weight.detach().T + net.bias.detach()
    of_sum = WEIGHTS * (with_bias > 0)
    wanted = {
        ("/relu", "input", 0, "0"): of_sum,
        ("/add_", "output", 0, "0"): of_sum,
        ("/add_", "input", 0, "0"): of_sum,
        ("/linear", "output", 0, "0"): of_sum,
        ("/linear", "input", 0, "0"): of_sum @ net.weight.detach(),
    }
    if not is_frozen:
        wanted["/linear", "input", 0, "1"] = of_sum.T @ X
        wanted["/add_", "input", 0, "1"] = of_sum.sum(0)
    assert same(gradients(net, ["input:0", "/linear", "/add_", "/relu"]), wanted)


def test_attention_has_the_gradients_of_its_three_inputs(gradients):
    path = "/scaled_dot_product_attention"
    found = gradients(lambda x: functional.scaled_dot_product_attention(2 * x, x + 1, x), [path])
    query, key, value = (t.detach().requires_grad_() for t in (2 * X, X + 1, X))
    output = (query @ key.T / 3**0.5).softmax(-1) @ value
    wanted = grads(output, query, key, value)
    assert all(near(found[path, "input", 0, str(i)], each) for i, each in enumerate(wanted))
