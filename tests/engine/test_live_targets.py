"""A target may be made of what nodes handed on, as it was at that moment."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.errors import TargetError, UnknownPathError
from hookviewer.engine.plan import Inputs, Intervention, LiveTarget

X = torch.tensor([1.0, -2.0, 3.0])


def squares(path, call=0, leaf=lambda value: value):
    """The sum of the squares of what one call of ``path`` handed on."""
    return LiveTarget((path,), lambda live: (leaf(live[path][call]) ** 2).sum())


class Doubled(nn.Module):
    """Twice its input."""

    def forward(self, x):
        return x * 2


def test_a_module_s_value_is_a_target(record):
    run = record(
        nn.Sequential(Doubled(), nn.ReLU(inplace=True)), X, ["input:0", "0"], target=squares("0")
    )
    assert run.score == 4 + 16 + 36
    assert run["0"].grad_output.tolist() == [4, -8, 12]
    assert run["input:0"].grad_output.tolist() == [8, -16, 24]
    assert run.output.tolist() == [2, 0, 6]


def test_an_operation_s_value_is_a_target_though_it_is_changed_later(record):
    def changing(x):
        y = x * 2
        y.relu_()
        return y + 1

    run = record(changing, X, ["input:0", "/mul", "/relu_"], target=squares("/mul"))
    assert run.score == 56
    assert run["/mul"].grad_output.tolist() == [4, -8, 12]
    assert run["input:0"].grad_output.tolist() == [8, -16, 24]
    assert run["/relu_"].absence("grad_output") == "no path to the target"


def test_an_operation_in_place_is_a_target_as_it_left_its_tensor(record):
    def changing(x):
        y = x * 2
        y.neg_()
        y += 100
        return y

    run = record(changing, X, ["input:0", "/mul"], target=squares("/neg_"))
    assert run.score == 56
    assert run["/mul"].grad_output.tolist() == [4, -8, 12]
    assert run.output.tolist() == [98, 104, 94]


def test_an_input_is_a_target_though_it_is_changed_later(record):
    run = record(lambda x: x.mul_(3), X, ["input:0"], target=squares("input:0"))
    assert run.score == 14
    assert run["input:0"].grad_output.tolist() == [2, -4, 6]
    assert run.output.tolist() == [3, -6, 9]


def test_the_root_of_a_function_is_a_target(record):
    run = record(lambda x: x * 2, X, ["input:0"], target=squares(""))
    assert run.score == 56
    assert run["input:0"].grad_output.tolist() == [8, -16, 24]


@pytest.mark.parametrize(("call", "gradient"), [(0, [4, -2, 8]), (1, [12, -12, 28])])
def test_each_call_is_a_target_of_its_own(record, call, gradient):
    run = record(lambda x: (x + 1) + x, X, ["input:0", "/add"], target=squares("/add", call))
    assert run["input:0"].grad_output.tolist() == gradient  # 2 (x + 1), 4 (2 x + 1)
    assert (run["/add"].absence("grad_output", call=1) is None) == (call == 1)


def test_calls_come_in_a_tuple_in_order(record, around):
    seen = []
    target = LiveTarget(("body",), lambda live: seen.append(live["body"]) or live["body"][2].sum())
    net = around(Doubled(), lambda body, x: body(body(body(x))))
    record(net, X, "body", target=target)
    assert [value.tolist() for value in seen[0]] == [[2, -4, 6], [4, -8, 12], [8, -16, 24]]


def test_one_leaf_of_several_is_a_target(record):
    run = record(
        lambda x: torch.cat(x.split([1, 2])),
        X,
        ["/split", "input:0"],
        target=squares("/split", leaf=lambda parts: parts[1]),
    )
    assert run["input:0"].grad_output.tolist() == [0, -4, 6]
    assert run["/split"].calls[0].grad_outputs["1"].tolist() == [-4, 6]
    assert run["/split"].absence("grad_output", leaf="0") == "no path to the target"


def test_several_nodes_are_one_target(record):
    target = LiveTarget(
        ("input:0", "/relu"), lambda live: (live["input:0"][0] * live["/relu"][0]).sum()
    )
    run = record(lambda x: functional.relu(x * 2), X, ["input:0", "/mul"], target=target)
    assert run.score == 2 + 18
    assert run["input:0"].grad_output.tolist() == [4, 0, 12]
    assert run["/mul"].calls[0].grad_outputs["0"].tolist() == [1, 0, 3]


def test_an_input_by_name_is_a_target(record):
    given = Inputs(X, factor=torch.tensor([2.0, 2.0, 2.0]))
    run = record(
        lambda x, factor: x * factor,
        given,
        ["input:factor", "input:0"],
        target=squares("input:factor"),
    )
    assert run["input:factor"].grad_output.tolist() == [4, 4, 4]
    assert run["input:0"].absence("grad_output") == "no path to the target"


def test_a_target_sees_what_an_intervention_handed_on(record):
    halved = {"/mul": (Intervention(forward=lambda value: value / 2),)}
    run = record(lambda x: x * 2, X, ["input:0"], target=squares("/mul"), interventions=halved)
    assert run.score == 14
    assert run["input:0"].grad_output.tolist() == [2, -4, 6]


def test_a_target_sees_a_view_as_it_was(record):
    def through(x):
        y = x * 2
        y[1:].zero_()
        return y

    run = record(through, X, ["input:0"], target=squares("/getitem"))
    assert run.score == 16 + 36
    assert run["input:0"].grad_output.tolist() == [0, -16, 24]


def test_a_frozen_model_of_whole_numbers_has_gradients_of_a_live_target(record):
    net = nn.Sequential(nn.Embedding(4, 2), Doubled()).requires_grad_(False)
    with torch.no_grad():
        net[0].weight.copy_(torch.arange(8.0).view(4, 2))
    run = record(net, torch.tensor([1, 3]), ["0", "1"], target=squares("1"))
    assert run["1"].grad_output.tolist() == [[8, 12], [24, 28]]
    assert run["0"].grad_output.tolist() == [[16, 24], [48, 56]]


def test_a_live_target_leaves_no_trace(record, digest):
    net = nn.Sequential(nn.Linear(3, 3), Doubled(), nn.ReLU(inplace=True))
    before = digest(net)
    record(net, X, ["0", "2"], target=squares("1/mul"))
    assert digest(net) == before


def test_without_gradients_to_record_there_is_a_score(record):
    run = record(lambda x: x * 2, X, ["/mul"], target=squares("/mul"), quantities=["output"])
    assert run.score == 56


def test_a_target_at_an_unknown_node_is_refused_before_the_run(record):
    called = []
    net = nn.Sequential(Doubled())
    net.register_forward_hook(lambda *_: called.append(1))
    with pytest.raises(UnknownPathError):
        record(net, X, ["0"], target=squares("7"))
    assert called == []


def test_a_target_at_a_node_that_is_not_called_says_so(record):
    with pytest.raises(TargetError, match=r"'/add', which was not called in this run\."):
        record(lambda x: x * 2, X, ["/mul"], target=squares("/add"))


@pytest.mark.parametrize("path", ["0.weight", "?", "*/relu"])
def test_a_target_is_about_modules_operations_and_inputs_only(record, path):
    called = []
    net = nn.Sequential(nn.Linear(3, 3))
    net.register_forward_hook(lambda *_: called.append(1))
    with pytest.raises(TargetError, match="A target can be about a module"):
        record(net, X, ["0"], target=squares(path))
    assert called == []
