"""A shown gradient is the derivative of the target with respect to exactly the shown value."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.errors import TargetError

X = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


def exactly(left, right):
    return torch.allclose(left, right, rtol=1e-5, atol=0)


def test_a_chain_has_the_gradients_of_the_chain_rule(record, chain, ones):
    run = record(chain, ones, ["0", "1", "2", "input:0"])
    assert run["2"].grad_output.tolist() == [[1]]
    assert run["2"].grad_input.tolist() == [[5, 6]]
    assert run["1"].grad_output.tolist() == [[5, 6]]
    assert run["1"].grad_input.tolist() == [[5, 0]]  # the second number was cut off, in place
    assert run["0"].grad_output.tolist() == [[5, 0]]
    assert run["0"].grad_input.tolist() == [[5, 10]]
    assert run["input:0"].grad_output.tolist() == [[5, 10]]
    assert run.score == 15


def test_cross_entropy_has_the_gradients_of_matrix_algebra(record):
    generator = torch.Generator().manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    labels = torch.tensor([2, 0])
    paths = ["0", "1", "2"]
    run = record(net, x, paths, target=lambda scores: functional.cross_entropy(scores, labels))
    with torch.no_grad():
        hidden = torch.tanh(x @ net[0].weight.T + net[0].bias)
        scores = hidden @ net[2].weight.T + net[2].bias
        of_scores = (scores.softmax(1) - functional.one_hot(labels, 3)) / 2
        of_hidden = of_scores @ net[2].weight
        of_sums = of_hidden * (1 - hidden**2)
    assert exactly(run["2"].grad_output, of_scores)
    assert exactly(run["1"].grad_output, of_hidden)
    assert exactly(run["0"].grad_output, of_sums)
    assert exactly(run["0"].grad_input, of_sums @ net[0].weight)
    assert run.score == pytest.approx(functional.cross_entropy(net(x), labels).item())


def test_grad_input_is_what_flows_through_the_module_and_not_around_it(record, residual, ones):
    run = record(residual, ones, ["", "inner", "relu", "input:0"])
    assert run["inner"].grad_output.tolist() == [[1, 1]]
    assert run["inner"].grad_input.tolist() == [[3, 3]]
    assert run["relu"].grad_input.tolist() == [[1, 1]]
    assert run[""].grad_input.tolist() == [[4, 4]]
    assert run["input:0"].grad_output.tolist() == [[4, 4]]


def test_a_gradient_is_that_of_the_value_before_it_was_changed(record, around, scale, ones):
    def call(body, x):
        out = body(x)
        out *= 2
        return out

    run = record(around(scale(3.0), call), ones, "body")
    assert run["body"].output.tolist() == [[3, 3]]
    assert run["body"].grad_output.tolist() == [[2, 2]]
    assert run["body"].grad_input.tolist() == [[6, 6]]


def test_a_second_class_has_its_own_gradient(record):
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    x = torch.tensor([[0.5, -0.5]], dtype=torch.float64)
    slope = (1 - torch.tanh(net[0](x)) ** 2).detach()
    for number in (0, 1, 0):
        run = record(net, x, "0", target=lambda scores, number=number: scores[0, number])
        assert exactly(run["0"].grad_output, net[2].weight[number].detach() * slope)


@pytest.mark.parametrize("target", [lambda output: output, lambda output: 3.0, lambda output: None])
def test_a_target_that_is_not_one_number_is_refused(record, chain, ones, target):
    with pytest.raises(TargetError, match="must give one number"):
        record(chain, torch.cat([ones, ones]), "0", target=target)


def test_a_target_that_fails_becomes_a_sentence_with_details(record, chain, ones):
    with pytest.raises(TargetError, match=r"target .*index 7 is out of bounds") as caught:
        record(chain, ones, "0", target=lambda output: output[0, 7])
    assert "IndexError" in caught.value.details
    assert caught.value.run["0"].output.tolist() == [[3, -1]]


def test_the_target_may_have_any_shape_with_one_element(record, chain, ones):
    assert record(chain, ones, "2", target=lambda output: output)["2"].grad_output.item() == 1


def test_a_value_that_the_target_takes_twice_counts_twice(record, around, scale):
    net = around(scale(2.0), lambda body, x: body(x))
    run = record(net, X, "body", target=lambda output: (output * output).sum())
    assert torch.equal(run["body"].grad_output, 2 * run["body"].output)


def test_leaves_of_containers_have_their_own_gradients(record, around, does):
    make = does(lambda x: {"left": x * 1, "rest": [x * 2, x.argmax()]})
    run = record(around(make, lambda body, x: body(x)["left"] + 5 * body(x)["rest"][0]), X, "body")
    first, second = run["body"].calls
    assert (first.grad_outputs["left"] == 1).all()
    assert run["body"].absence("grad_output", call=0, leaf="rest/0") == "no path to the target"
    assert run["body"].absence("grad_output", 0, "rest/1") == "not differentiable (int64)"
    assert (second.grad_outputs["rest/0"] == 5).all()
    assert (second.grad_inputs["0"] == 10).all()


def test_keyword_inputs_have_gradients_too(record, around, does):
    net = around(does(lambda *, a, b: a * 2 + b * 3), lambda body, x: body(a=x * 1, b=x * 1))
    (call,) = record(net, X, "body")["body"].calls
    assert (call.grad_inputs["a"] == 2).all()
    assert (call.grad_inputs["b"] == 3).all()


def test_a_tensor_passed_in_twice_gets_all_that_flows_to_it(record, around, does):
    net = around(does(lambda a, b: a * 2 + b * 3), lambda body, x: body(x, x))
    (call,) = record(net, X, "body")["body"].calls
    assert (call.grad_inputs["0"] == 5).all()
    assert (call.grad_inputs["1"] == 5).all()


def test_a_call_inside_a_call_has_its_own_gradient(record):
    class Twofold(nn.Module):
        def forward(self, x, again=True):
            return self(x * 2, again=False) * 3 if again else x * 5

    outer, inner = record(Twofold(), X, "")[""].calls
    assert (outer.grad_outputs["0"] == 1).all()
    assert (outer.grad_inputs["0"] == 30).all()
    assert (inner.grad_outputs["0"] == 3).all()
    assert (inner.grad_inputs["0"] == 15).all()


class _Round(torch.autograd.Function):
    """Rounds; its gradient passes between -1 and 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


def test_a_function_of_the_users_own_has_the_gradient_it_says(record, around, does):
    net = around(does(_Round.apply), lambda body, x: body(x).mul_(3))
    run = record(net, torch.tensor([0.4, 2.2]), "body")
    assert run["body"].grad_output.tolist() == [3, 3]
    assert run["body"].grad_input.tolist() == [3, 0]


def test_complex_values_have_complex_gradients(record, around, does):
    net = around(does(torch.fft.fft), lambda body, x: body(x).real * 2)
    run = record(net, X, "body")
    assert (run["body"].grad_output == 2).all()
    value = torch.fft.fft(X).requires_grad_()
    assert torch.equal(
        run["body"].grad_output, torch.autograd.grad((value.real * 2).sum(), value)[0]
    )


def test_an_lstm_has_gradients_at_every_leaf(record):
    net = nn.LSTM(2, 3, num_layers=2, batch_first=True).double()
    x = torch.randn(1, 4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def target(output):
        return (output[0] ** 2).sum() + output[1][1].sum()

    run = record(net, x, "", target=target)
    assert list(run[""].calls[0].outputs) == ["0", "1/0", "1/1"]
    given = x.clone().requires_grad_()
    output = net(given)
    assert exactly(run[""].calls[0].grad_outputs["0"], 2 * output[0].detach())
    assert (run[""].calls[0].grad_outputs["1/1"] == 1).all()
    assert run[""].absence("grad_output", leaf="1/0") == "no path to the target"
    assert exactly(run[""].grad_input, torch.autograd.grad(target(output), given)[0])
