"""Parameters and buffers have values and gradients, as modules have."""

import torch
from torch import nn

GRADIENTS = ("grad_input", "grad_output")
PARAMETERS = ("parameter", "parameter_gradient")


X = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


def test_parameters_without_a_target_are_forward_only_too(record, chain, ones):
    node = record(chain, ones, "0", target=None, quantities=PARAMETERS)["0"]
    assert node.parameters["weight"].tolist() == [[1, 2], [3, -4]]
    assert node.absence("parameter_gradient") == "forward only"


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


def test_a_module_that_is_not_called_has_no_calls_whatever_is_asked_of_its_parameters(
    record, around
):
    net = around(nn.BatchNorm1d(3).double(), lambda body, x: x * 1)
    node = record(net, X, "body", quantities=("output", *PARAMETERS))["body"]
    assert node.absence("parameter_gradient", leaf="num_batches_tracked") is not None
    assert node.calls == ()


class Direct(nn.Module):
    """Has parameters and a buffer of its own beside a list of them, as transformers have."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.tensor([5.0, 6.0]))
        self.scales = nn.ParameterList([torch.ones(1), torch.full((1,), 2.0)])
        self.register_buffer("places", torch.tensor([0.0, 1.0]), persistent=False)

    def forward(self, x):
        return (x * self.token + self.places) * self.scales[1]


def test_parameters_of_no_layer_are_shown_at_their_owner_and_at_their_own_paths(record):
    paths = ["", "scales", "token", "places", "scales.1", "scales.0"]
    run = record(Direct(), torch.ones(2), paths, quantities=["output", "grad_output", *PARAMETERS])
    assert {name: t.tolist() for name, t in run[""].parameters.items()} == {
        "token": [5, 6],
        "places": [0, 1],
    }
    assert {name: t.tolist() for name, t in run["scales"].parameters.items()} == {
        "0": [1],
        "1": [2],
    }
    assert run["scales"].absence("output") == "container"
    assert run["token"].grad_output.tolist() == [2, 2]
    assert run["scales.1"].grad_output.tolist() == [5 + 6 + 1]
    assert run["scales.0"].absence("grad_output") == "no path to the target"
    assert run["places"].output.tolist() == [0, 1]
