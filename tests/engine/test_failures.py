"""Every error is a sentence that a user can act on, and loses nothing."""

import copy
import sys

import pytest
import torch
from torch import nn

from hookviewer.engine.errors import (
    BackwardError,
    CannotRunError,
    ForwardError,
    HookviewerError,
    TargetError,
    UnknownPathError,
)
from hookviewer.engine.plan import Inputs


@pytest.fixture
def classifier():
    """Expects pictures of 4 × 4 pixels; with others ``head.1`` is given what it cannot multiply."""
    head = nn.Sequential(nn.Flatten(), nn.Linear(8, 2))
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(inplace=True), head)


def test_an_error_names_the_innermost_module_and_what_it_was_given(record, classifier):
    with pytest.raises(ForwardError, match=r"stopped in '2\.1' \(Linear\), .* 1 × 50: ") as caught:
        record(classifier, torch.ones(1, 1, 7, 7), ["0"])
    assert caught.value.path == "2.1"
    assert "shapes cannot be multiplied" in str(caught.value)
    assert "Traceback" in caught.value.details


def test_an_error_keeps_what_was_captured_before_it(record, classifier):
    with pytest.raises(ForwardError) as caught:
        record(classifier, torch.ones(1, 1, 7, 7), ["0", "2.0", "2.1"])
    run = caught.value.run
    assert run["0"].output.shape == (1, 2, 5, 5)
    assert run["2.0"].output.shape == (1, 50)
    assert run["2.1"].input.shape == (1, 50)
    assert run["2.1"].absence("output") == "not run (stopped)"
    assert run["0"].absence("grad_output") == "not run (stopped)"
    assert run.output is None


def test_what_an_error_kept_from_running_was_stopped_and_not_left_out(record, around, scale):
    def call(body, x):
        body[0](body[0](x))
        body[1]("text")
        return body[2](x)

    net = around(nn.ModuleList([scale(2.0), scale(3.0), scale(4.0)]), call)
    with pytest.raises(ForwardError) as caught:
        record(net, torch.ones(1), ["body.0", "body.1", "body.2"])
    run = caught.value.run
    assert [call.outputs["0"].item() for call in run["body.0"].calls] == [2, 4]
    assert run["body.1"].absence("output") == "not run (stopped)"
    assert run["body.1"].absence("input") == "no tensors"
    assert run["body.2"].absence("output") == "not run (stopped)"


def test_parameters_are_shown_though_the_forward_failed(record, classifier):
    with pytest.raises(ForwardError) as caught:
        record(classifier, torch.ones(1, 1, 7, 7), ["2.1"], quantities=["parameter"])
    assert torch.equal(caught.value.run["2.1"].parameters["weight"], classifier[2][1].weight)


def test_keyword_inputs_are_named_in_the_sentence_too(record, around, scale):
    net = around(scale(2.0), lambda body, x: body(x=x, other=1))
    with pytest.raises(ForwardError, match=r"'body' \(Scale\), which was given 2 × 3: .*other"):
        record(net, torch.ones(2, 3), "body")


def test_an_error_in_the_models_own_forward_names_its_class(record, does):
    def fail(x):
        raise ValueError("no cats here")

    with pytest.raises(ForwardError, match=r"The model stopped in Does.*: no cats here"):
        record(does(fail), torch.ones(1), "")


def test_an_error_without_words_is_named_by_its_kind(record, does):
    def fail(x):
        raise KeyboardInterrupt if x is None else NotImplementedError

    with pytest.raises(ForwardError, match=": NotImplementedError"):
        record(does(fail), torch.ones(1), "")


def test_a_function_that_fails_is_no_module(record):
    def fail(x):
        raise ValueError("no cats here")

    with pytest.raises(ForwardError, match="The model stopped: no cats here") as caught:
        record(fail, torch.ones(1), "input:0")
    assert caught.value.path is None


def test_arguments_that_do_not_fit_are_an_error_of_the_forward(record, chain, ones):
    with pytest.raises(ForwardError, match="positional argument"):
        record(chain, Inputs(ones, ones), "0")


def test_a_wrong_dtype_is_a_sentence(record, chain):
    with pytest.raises(ForwardError, match=r"'0' \(Linear\), which was given 1 × 2"):
        record(chain, torch.ones(1, 2), "0")


def test_a_backward_that_fails_keeps_the_forward(record, around, scale):
    def call(body, x):
        y = body(x).exp()
        z = y * 2
        y.add_(1)  # exp needs its own result
        return z

    with pytest.raises(BackwardError, match="modified by an inplace operation") as caught:
        record(around(scale(2.0), call), torch.ones(2), "body")
    assert caught.value.run["body"].output.tolist() == [2, 2]
    assert caught.value.run["body"].absence("grad_output") == "not run (stopped)"
    assert "Traceback" in caught.value.details


def test_a_target_that_is_refused_keeps_the_forward(record, chain, ones):
    with pytest.raises(TargetError) as caught:
        record(chain, ones, "0", target=lambda output: "cat")
    assert caught.value.run["0"].output.tolist() == [[3, -1]]
    assert caught.value.run["0"].absence("grad_output") == "not run (stopped)"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_error_of_the_model_passes_through(record, digest, around, scale, error):
    def call(body, x):
        body(x)
        raise error

    net = around(scale(2.0), call)
    before = digest(net)
    with pytest.raises(error):
        record(net, torch.ones(1), "body")
    assert digest(net) == before


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("2.9", "2.1"),
        ("haed", "head"),
        ("head.wieght", "head.weight"),
        ("haed.weight", "head.weight"),
    ],
)
def test_an_unknown_path_names_near_ones(record, classifier, path, near):
    classifier.head = classifier[2][1]
    with pytest.raises(UnknownPathError) as caught:
        record(classifier, torch.ones(1, 1, 4, 4), path)
    assert str(caught.value).startswith(f"This model has no node '{path}'. Near it: ")
    assert near in str(caught.value)


def test_an_unknown_path_without_near_ones_is_a_short_sentence(record, chain, ones):
    with pytest.raises(UnknownPathError) as caught:
        record(chain, ones, "transformer.encoder")
    assert str(caught.value) == "This model has no node 'transformer.encoder'."
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, HookviewerError)


def test_a_function_has_inputs_and_a_root_only(record):
    with pytest.raises(UnknownPathError):
        record(lambda x: x * 1, torch.ones(1), "conv1")
    assert record(lambda x: x * 2, torch.ones(1), "")[""].output == 2


def test_a_model_without_numbers_is_refused_before_it_runs(record, around):
    ran = []
    net = around(nn.Conv2d(1, 1, 1, device="meta"), lambda body, x: ran.append(1))
    with pytest.raises(CannotRunError, match="meta device"):
        record(net, torch.ones(1, 1, 2, 2), "body")
    assert ran == []


def test_a_lazy_model_runs_and_stays_lazy(record, digest):
    net = nn.Sequential(nn.LazyConv2d(3, 1), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    before = digest(net)
    run = record(
        net, torch.ones(1, 2, 2, 2), ["0", "1", "3"],
        quantities=["output", "grad_input", "parameter", "parameter_gradient"], train=True,
    )  # fmt: skip
    assert run["0"].output.shape == (1, 3, 2, 2)
    assert run["0"].grad_input.shape == (1, 2, 2, 2)
    assert run["0"].parameters["weight"].shape == (3, 2, 1, 1)
    assert run["3"].parameter_gradients["weight"].shape == (2, 12)
    assert digest(net) == before
    assert isinstance(net[0], nn.LazyConv2d)


def test_a_lazy_part_that_is_not_run_is_uninitialised(record, around):
    net = around(nn.LazyLinear(2), lambda body, x: x * 1)
    node = record(net, torch.ones(1), "body", quantities=["parameter", "parameter_gradient"])[
        "body"
    ]
    assert node.absence("parameter") == "uninitialised (lazy)"
    assert node.absence("parameter_gradient") == "uninitialised (lazy)"


def test_a_lazy_model_that_cannot_be_copied_is_a_sentence(record):
    net = nn.Sequential(nn.LazyLinear(2))
    net.kept = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(CannotRunError, match="is lazy and cannot be copied"):
        record(net, torch.ones(1, 3), "0")


def test_a_lazy_model_can_be_copied_with_the_users_hooks(record):
    net = nn.Sequential(nn.LazyLinear(2))
    net[0].register_forward_hook(lambda module, args, output: output + 100)
    assert record(net, torch.ones(1, 3), "0")["0"].output.min() > 50
    assert copy.deepcopy(net)[0].has_uninitialized_params()


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((1, 3, 4, 4), r"in '0' \(Conv2d\), which was given 1 × 3 × 4 × 4: it wants 1 channel\. "),
        ((1, 1, 7, 7), r"'2\.1' \(Linear\), .* 1 × 50: it wants 8 features in the last axis\. "),
    ],
)
def test_a_wrong_shape_says_what_the_module_wants(record, classifier, shape, sentence):
    with pytest.raises(ForwardError, match=sentence):
        record(classifier, torch.ones(shape), "0")


@pytest.mark.parametrize("dtype", [torch.float64, torch.uint8, torch.half])
def test_a_wrong_dtype_says_which_the_model_has_and_which_came(record, classifier, dtype):
    name = str(dtype).removeprefix("torch.")
    with pytest.raises(ForwardError, match=f"it has float32 parameters and was given {name}; "):
        record(classifier, torch.ones(1, 1, 4, 4, dtype=dtype), "0")


def test_a_tensor_on_another_device_is_named_with_it(record, around):
    net = around(nn.Linear(2, 2), lambda body, x: body(torch.ones(1, 2, device="meta")))
    with pytest.raises(ForwardError, match="is on cpu and was given a tensor on meta"):
        record(net, torch.ones(1), [])


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype")
def test_a_nested_tensor_that_does_not_fit_is_named(record, around):
    net = around(nn.Conv1d(1, 1, 1), lambda body, x: body(torch.nested.nested_tensor([x, x])))
    with pytest.raises(ForwardError, match="which was given a nested tensor"):
        record(net, torch.ones(1), [])


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("end", [sys.exit, interrupt])
@pytest.mark.parametrize("where", ["forward", "backward"])
def test_what_ends_the_program_leaves_nothing_behind(record, digest, around, scale, end, where):
    def call(body, x):
        y = torch.neg(body(x))
        if where == "forward":
            end()
        y.register_hook(lambda gradient: end())
        return y

    net = around(scale(2.0), call)
    before = digest(net)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        record(net, torch.ones(1), ["body", "/neg"])
    assert digest(net) == before
    assert torch.overrides._get_current_function_mode_stack() == []
