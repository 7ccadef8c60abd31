import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import expression

X = torch.tensor([[1.0, -2.0]])


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2 * x.relu()", [[2, 0]]),
        (" x + 1 ", [[2, -1]]),
        ("torch.maximum(x, -x)", [[1, 2]]),
        ("abs(x)", [[1, 2]]),
        ("sum(x + i for i in range(3))", [[6, -3]]),
        ("(lambda y: y * y)(x)", [[1, 4]]),
        ("x", [[1, -2]]),
    ],
)
def test_an_expression_is_what_python_makes_of_it(text, result):
    assert expression(forward=text).forward(X).tolist() == result


def test_an_expression_of_the_gradient_changes_the_gradient():
    intervention = expression(backward="g.clamp(-1, 1)")
    assert intervention.backward(torch.tensor([3.0, -0.5])).tolist() == [1, -0.5]
    assert intervention.forward is None


def test_gradients_flow_through_an_expression():
    x = X.clone().requires_grad_()
    result = expression(forward="x * x").forward(x)
    assert torch.autograd.grad(result.sum(), x)[0].tolist() == [[2, -4]]


def test_an_empty_expression_leaves_its_direction_alone():
    intervention = expression(forward=" ")
    assert (intervention.forward, intervention.backward) == (None, None)


def test_an_expression_that_writes_to_its_value_reaches_nothing_else():
    value = X.clone()
    assert expression(forward="x.relu_()").forward(value).tolist() == [[1, 0]]
    assert torch.equal(value, X)


@pytest.mark.parametrize("text", ["2 *", "x = 1", "x;x", "yield x", "(", "x\0", "import torch"])
def test_what_is_no_expression_is_refused_at_once(text):
    with pytest.raises(HookviewerError) as caught:
        expression(forward=text)
    assert str(caught.value).startswith(f"The expression '{text}' is no Python: ")


@pytest.mark.parametrize(
    ("direction", "text", "name", "known"),
    [
        ("forward", "y + x", "y", "x"),
        ("forward", "np.abs(x)", "np", "x"),
        ("forward", "g", "g", "x"),
        ("backward", "x", "x", "g"),
    ],
)
def test_an_unknown_name_is_refused_at_once(direction, text, name, known):
    sentence = f"The expression '{text}' uses '{name}'; what it can use is {known} and torch."
    with pytest.raises(HookviewerError) as caught:
        expression(**{direction: text})
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x[0]", "The expression 'x[0]' gives 2 of float32 where 1 × 2 of float32 is needed."),
        ("x > 0", "The expression 'x > 0' gives 1 × 2 of bool where 1 × 2 of float32 is needed."),
        ("x.sum().item()", "The expression 'x.sum().item()' gives no tensor but float;"),
        ("x.nothing", "The expression 'x.nothing' could not be computed: 'Tensor' object has no"),
        ("x @ x", "The expression 'x @ x' could not be computed: mat1 and mat2"),
    ],
)
def test_what_an_expression_should_not_give_is_said_with_the_expression(text, sentence):
    with pytest.raises(HookviewerError) as caught:
        expression(forward=text).forward(X)
    assert str(caught.value).startswith(sentence)


def test_an_expression_that_raises_keeps_the_traceback_as_text():
    with pytest.raises(HookviewerError) as caught:
        expression(backward="g.nothing").backward(X)
    assert "AttributeError" in caught.value.details
