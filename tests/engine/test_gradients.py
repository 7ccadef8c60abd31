"""A shown gradient is the derivative of the target with respect to exactly the shown value."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.errors import TargetError
from hookviewer.engine.plan import Inputs

PARAMETERS = ("parameter", "parameter_gradient")
GRADIENTS = ("grad_input", "grad_output")
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


IDENTITIES = [nn.Identity(), nn.Sequential(), nn.Dropout(0.5), nn.Dropout(0.5, inplace=True)]


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("prepare", [lambda x: x, lambda x: x * 1, lambda x: (x * 1)[:, 1:]])
def test_what_returns_its_own_input_has_its_gradient_through_it_alone(
    record, around, identity, prepare
):
    def call(body, x):
        x = prepare(x)
        return body(x) * 3 + x * 7

    run = record(around(identity, call), X, "body")
    assert (run["body"].grad_output == 3).all()
    assert torch.equal(run["body"].grad_input, run["body"].grad_output)
    assert torch.equal(run.output, prepare(X) * 10)


def test_an_identity_changed_in_place_changes_its_input_as_ever(record, around):
    def call(body, x):
        x = x * 1
        body(x).mul_(5)
        return x * 2

    net = around(nn.Identity(), call)
    run = record(net, X, "body")
    assert torch.equal(run.output, net(X))
    assert (run["body"].grad_output == 10).all()
    assert (run["body"].grad_input == 10).all()


VIEWS = {
    "flatten": nn.Flatten(0),
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[:, 1:],
    "row": lambda x: x[1],
    "reverse": lambda x: x.t()[1:].t(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "deeper": lambda x: x[None].flatten(1)[:, 2:5],
    "instance norm": nn.InstanceNorm1d(2).double(),
    "identity": nn.Identity(),
}
CHANGES = {
    "relu": lambda y: y.relu_(),
    "add": lambda y: y.add_(1),
    "multiply": lambda y: y.mul_(-3),
    "twice": lambda y: y.mul_(2).relu_(),
    "a part": lambda y: (y[..., 0].mul_(-5), y)[1],
    "overwrite": lambda y: (y[..., 0].fill_(2), y)[1],
    "not at all": lambda y: y,
    "use, then change": lambda y: torch.stack([y * 9, y.mul_(2) * 1]).sum(0),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("prepare", [lambda x: x, lambda x: x * 2, lambda x: (x * 2)[:2]])
def test_a_view_changed_in_place_has_the_gradient_of_its_own_value(
    record, around, does, view, change, prepare
):
    make, change = VIEWS[view], CHANGES[change]

    def call(body, x):
        y = change(body(prepare(x)))
        return (y * torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape)).sum()

    part = make if isinstance(make, nn.Module) else does(make)
    net = around(part, call)
    run = record(net, X.clone(), "body")

    given = prepare(X.clone()).clone().requires_grad_()
    value = make(given).detach().clone().requires_grad_()
    wanted = torch.autograd.grad(call(lambda _: value.clone(), X), value)[0]
    through = torch.autograd.grad(make(given), given, wanted)[0]
    assert torch.equal(run["body"].output, value)
    assert exactly(run["body"].grad_output, wanted)
    assert exactly(run["body"].grad_input, through)
    assert torch.equal(run.output, net(X.clone()))


def test_a_view_that_is_changed_in_place_still_changes_what_it_is_a_view_of(record, around):
    def call(body, x):
        x = x * 1
        return body(x).relu_().sum() + 10 * x.sum()  # x was cut off too

    net = around(nn.Flatten(), call)
    run = record(net, X, "body")
    assert torch.equal(run.output, net(X))
    wanted = torch.where(X > 0, 11.0, 0.0).double()
    assert torch.equal(run["body"].grad_output, wanted)
    assert torch.equal(run["body"].grad_input, wanted)


def test_a_module_that_changes_a_view_it_is_given_has_its_gradient(record, around):
    run = record(around(nn.ReLU(inplace=True), lambda body, x: body((x * 1).t()) * 3), X, "body")
    assert torch.equal(run["body"].input, X.t())
    assert (run["body"].grad_output == 3).all()
    assert torch.equal(run["body"].grad_input, torch.where(X.t() > 0, 3.0, 0.0).double())


def test_a_module_that_only_writes_to_its_input_has_its_gradient(record, around, does):
    def call(body, x):
        x = x * 1
        body(x)
        return x * 2

    run = record(around(does(lambda x: (x.mul_(3), None)[1]), call), X, "body")
    assert (run["body"].grad_input == 6).all()
    assert run["body"].absence("grad_output") == "no tensors"


def test_each_part_of_a_split_has_its_own_gradient(record, around, does):
    net = around(does(lambda x: x.chunk(3, dim=1)), lambda body, x: body(x * 1)[2] * 4)
    (call,) = record(net, X, "body")["body"].calls
    assert list(call.grad_outputs) == ["2"]
    assert call.grad_outputs["2"].tolist() == [[4], [4]]
    assert call.grad_inputs["0"].tolist() == [[0, 0, 4], [0, 0, 4]]


def test_inputs_may_be_changed_in_place_part_by_part(record, around, scale):
    def call(body, x):
        for row in x:
            row.sub_(1)
        return body(x)

    run = record(around(scale(3.0), call), X.clone(), "body")
    assert (run["body"].grad_input == 3).all()


def test_a_model_may_leave_torch_before_its_first_parameter(record, around, scale):
    net = around(scale(3.0), lambda body, x: body(torch.from_numpy(x.numpy() + 1)))
    assert (record(net, X, "body")["body"].grad_input == 3).all()


@pytest.mark.parametrize("frozen", [False, True])
def test_frozen_parameters_hide_no_gradient(record, chain, ones, frozen):
    chain.requires_grad_(not frozen)
    run = record(chain, ones, ["0", "1", "2", ""])
    assert run["1"].grad_input.tolist() == [[5, 0]]
    assert run["0"].grad_input.tolist() == [[5, 10]]
    assert run[""].grad_input.tolist() == [[5, 10]]


@pytest.mark.parametrize("paths", [["2"], ["1"], ["0"], [""]])
def test_one_node_of_a_frozen_model_has_its_gradients(record, chain, ones, paths):
    wanted = {"2": [[5, 6]], "1": [[5, 0]], "0": [[5, 10]], "": [[5, 10]]}
    run = record(chain.requires_grad_(False), ones, paths)
    assert run[paths[0]].grad_input.tolist() == wanted[paths[0]]


class Words(nn.Module):
    """The sum of ``weights`` times the embedding of each word, normalised by a view."""

    def __init__(self):
        super().__init__()
        self.table, self.flat, self.head = nn.Embedding(4, 2), nn.Flatten(), nn.Linear(4, 1, False)
        self.head.weight = nn.Parameter(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))

    def forward(self, words, mask=None):
        known = self.table(words)
        if mask is not None:
            known = known * mask
        return self.head(self.flat(known))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("mask", [None, torch.full((1, 2, 2), 10.0)])
@pytest.mark.parametrize("paths", [["table", "flat", "head"], ["table"], ["flat"], ["head"]])
def test_numbers_of_words_end_where_gradients_begin(record, frozen, mask, paths):
    net = Words().requires_grad_(not frozen)
    run = record(net, Inputs(torch.tensor([[3, 1]]), mask), paths)
    factor = 1 if mask is None else 10
    wanted = {"table": [[[1, 2], [3, 4]]], "flat": [[1, 2, 3, 4]], "head": [[1]]}
    for path in paths:
        gradient = run[path].grad_output
        assert (gradient / (factor if path == "table" else 1)).tolist() == wanted[path]
    if "table" in paths:
        assert run["table"].absence("grad_input") == "not differentiable (int64)"
    if "flat" in paths:
        assert run["flat"].grad_input.tolist() == wanted["table"]


def test_words_have_no_gradient_themselves(record):
    run = record(Words(), torch.tensor([[3, 1]]), "input:0")
    assert run["input:0"].absence("grad_output") == "not differentiable (int64)"


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_part_without_gradient_mode_says_so(record, around, scale, mode, frozen):
    def call(body, x):
        with mode():
            kept = body[0](x)
        return body[1](kept.clone())

    net = around(nn.ModuleList([scale(2.0), scale(5.0)]), call).requires_grad_(not frozen)
    run = record(net, X, ["body.0", "body.1"])
    assert torch.equal(run["body.0"].output, X * 2)
    assert run["body.0"].absence("grad_output") == "computed without gradient"
    assert run["body.0"].absence("grad_input") == "computed without gradient"
    assert (run["body.1"].grad_output == 1).all()


def without_gradient(x):
    with torch.no_grad():
        return x * 2


@pytest.mark.parametrize("make", [without_gradient, lambda x: x.detach() * 2])
def test_a_module_that_cuts_the_graph_says_so(record, around, scale, does, make):
    body = nn.ModuleList([scale(3.0), does(make), scale(5.0)])
    net = around(body, lambda body, x: body[2](body[1](body[0](x))))
    run = record(net, X, ["body.1", "body.2"])
    assert run["body.1"].absence("grad_output") == "computed without gradient"
    assert run["body.1"].absence("grad_input") == "no path to the target"
    assert (run["body.2"].grad_output == 1).all()
    assert (run["body.2"].grad_input == 5).all()


@torch.inference_mode()
def inferred(x=X, part=slice(None)):
    return x[part] * 2


@pytest.mark.parametrize("part", [slice(None), slice(1)])
def test_what_comes_from_inference_mode_says_so(record, around, does, part):
    net = around(does(lambda: inferred()[part]), lambda body, x: body() * x.clone())
    run = record(net, 3.0 * torch.ones(1), "body")
    assert torch.equal(run.output, X[part] * 6)
    assert run["body"].absence("grad_output") == "computed without gradient"


def test_a_frozen_parameter_that_is_handed_on_stays_a_parameter(record, around, does):
    weight = nn.Parameter(torch.ones(2), requires_grad=False)
    net = around(does(lambda: weight), lambda body, x: (body() * x, weight.is_leaf)[0])
    run = record(net, torch.ones(2), "body")
    assert run["body"].output.tolist() == [1, 1]
    assert run["body"].absence("grad_output") == "computed without gradient"


@pytest.mark.parametrize(
    ("make", "name"), [(lambda x: x.argmax(1), "int64"), (lambda x: x > 0, "bool")]
)
def test_whole_numbers_and_truth_values_are_not_differentiable(record, around, does, make, name):
    net = around(does(make), lambda body, x: x * body(x).sum())
    node = record(net, X, "body")["body"]
    assert node.output is not None
    assert node.absence("grad_output") == f"not differentiable ({name})"


def test_a_side_branch_has_no_path_to_the_target(record, around, scale):
    node = record(around(scale(2.0), lambda body, x: (x * 3, body(x))), X, "body")["body"]
    assert node.absence("grad_output") == "no path to the target"
    assert node.absence("grad_input") == "no path to the target"
    assert node.absence("output") is None


def test_a_target_without_a_graph_has_no_path(record, around, scale):
    node = record(around(scale(2.0), lambda body, x: body(x).detach()), X, "body")["body"]
    assert node.absence("grad_output") == "no path to the target"


def test_a_gradient_that_is_zero_is_a_captured_zero(record, around, scale):
    node = record(around(scale(2.0), lambda body, x: body(x) * 0), X, "body")["body"]
    assert node.absence("grad_output") is None
    assert (node.grad_output == 0).all()
    assert (node.grad_input == 0).all()


def test_infinite_gradients_and_those_that_are_no_numbers_are_kept(record, around, does):
    net = around(does(lambda x: x * 1), lambda body, x: body(x).sqrt() * torch.tensor([1.0, 0.0]))
    gradient = record(net, torch.zeros(2), "body")["body"].grad_output.tolist()
    assert gradient[0] == math.inf
    assert math.isnan(gradient[1])


def test_without_a_target_there_is_a_forward_only(record, chain, ones):
    run = record(chain, ones, ["1", "input:0"], target=None, quantities=(*GRADIENTS, *PARAMETERS))
    assert run["1"].absence("grad_output") == "forward only"
    assert run["1"].absence("grad_input") == "forward only"
    assert run["input:0"].absence("grad_output") == "forward only"
    assert (run.score, run.timings.backward) == (None, None)


def test_parameters_without_a_target_are_forward_only_too(record, chain, ones):
    node = record(chain, ones, "0", target=None, quantities=PARAMETERS)["0"]
    assert node.parameters["weight"].tolist() == [[1, 2], [3, -4]]
    assert node.absence("parameter_gradient") == "forward only"


def test_a_target_without_gradient_taps_gives_a_score_alone(record, chain, ones):
    run = record(chain, ones, ["0"], quantities=["output"])
    assert (run.score, run.timings.backward) == (15, None)


def test_a_second_class_has_its_own_gradient(record):
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    x = torch.tensor([[0.5, -0.5]], dtype=torch.float64)
    slope = (1 - torch.tanh(net[0](x)) ** 2).detach()
    for number in (0, 1, 0):
        run = record(net, x, "0", target=lambda scores, number=number: scores[0, number])
        assert exactly(run["0"].grad_output, net[2].weight[number].detach() * slope)


def test_parameter_gradients_are_those_of_autograd(record, chain, ones):
    run = record(chain, ones, ["0", "2"], quantities=PARAMETERS)
    assert run["0"].parameter_gradients["weight"].tolist() == [[5, 5], [0, 0]]
    assert run["2"].parameter_gradients["weight"].tolist() == [[3, 0]]
    wanted = torch.autograd.grad(chain(ones).sum(), list(chain.parameters()))
    assert torch.equal(run["0"].parameter_gradients["weight"], wanted[0])


def test_a_shared_parameter_has_the_sum_of_its_gradients(record, twice, ones):
    run = record(twice, ones, ["scale"], quantities=(*PARAMETERS, *GRADIENTS))
    assert run["scale"].parameter_gradients["factor"].item() == (3 + 2) * 2
    assert [call.grad_outputs["0"].tolist() for call in run["scale"].calls] == [[[2, 2]], [[1, 1]]]
    assert [call.grad_inputs["0"].tolist() for call in run["scale"].calls] == [[[4, 4]], [[2, 2]]]


def test_a_parameter_has_a_path_of_its_own(record, chain, ones):
    run = record(chain, ones, ["0.weight"], quantities=["output", "grad_output", "input"])
    assert run["0.weight"].output.tolist() == [[1, 2], [3, -4]]
    assert run["0.weight"].grad_output.tolist() == [[5, 5], [0, 0]]
    assert run["0.weight"].absence("input") == "no tensors"


def test_a_frozen_parameter_says_so_and_its_value_is_shown(record, chain, ones):
    chain[0].weight.requires_grad_(False)
    node = record(chain, ones, "0", quantities=(*PARAMETERS, *GRADIENTS))["0"]
    assert node.absence("parameter_gradient") == "frozen"
    assert node.parameters["weight"].tolist() == [[1, 2], [3, -4]]
    assert node.grad_input.tolist() == [[5, 10]]


def test_a_parameter_that_was_not_used_has_no_path(record, around, scale):
    net = around(scale(2.0), lambda body, x: x * 1)
    assert (
        record(net, X, "body", quantities=PARAMETERS)["body"].absence("parameter_gradient")
        == "no path to the target"
    )


def test_modules_without_parameters_say_so(record, chain, ones):
    run = record(chain, ones, ["", "1"], quantities=PARAMETERS)
    assert run["1"].absence("parameter") == "no tensors"
    assert run["1"].absence("parameter_gradient") == "no tensors"
    assert run[""].absence("parameter") == "container"


def test_counters_have_no_gradient(record):
    node = record(nn.BatchNorm1d(3).double(), X, "", quantities=PARAMETERS)[""]
    absence = node.absence("parameter_gradient", leaf="num_batches_tracked")
    assert absence == "not differentiable (int64)"
    assert node.absence("parameter_gradient", leaf="weight") is None


def test_parameters_are_those_the_forward_began_with(record):
    net = nn.BatchNorm1d(3).double()
    node = record(net, X, "", quantities=PARAMETERS, train=True)[""]
    assert node.parameters["running_mean"].tolist() == [0, 0, 0]
    assert node.parameters["num_batches_tracked"].item() == 0


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


READINGS = [torch.conj, lambda z: z.conj().imag, torch.view_as_real, lambda z: z.real]


@pytest.mark.parametrize("view", READINGS)
def test_a_view_without_a_graph_that_reads_its_memory_in_another_way_keeps_its_values(
    record, around, does, view
):
    numbers = torch.complex(X, 2 * X)
    run = record(around(does(lambda: view(numbers)), lambda body, x: body().abs() * x), 3.0, "body")
    assert torch.equal(run["body"].output, view(numbers))
    assert torch.equal(run.output, view(numbers).abs() * 3)


@pytest.mark.parametrize("view", READINGS)
def test_a_view_that_reads_its_memory_in_another_way_keeps_its_values(record, around, does, view):
    numbers = torch.complex(X, 2 * X)
    run = record(around(does(view), lambda body, z: body(z * 1).abs()), numbers, "body")
    value = view(numbers).resolve_conj().resolve_neg().requires_grad_()
    assert torch.equal(run["body"].output, value)
    assert torch.equal(run.output, value.abs())
    wanted = torch.autograd.grad(value.abs().sum(), value)[0]
    assert torch.allclose(run["body"].grad_output, wanted)


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
