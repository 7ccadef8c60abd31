"""Globs stand for the nodes they match; a run knows only the nodes."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hookviewer.engine.errors import UnknownPathError
from hookviewer.engine.globs import ALL, is_glob, matches, may_match_operations
from hookviewer.engine.node import NodeKind

X = torch.tensor([[1.0, -2.0, 3.0]])


class Steps(nn.Module):
    """Calls ``relu`` and adds 1."""

    def forward(self, x):
        return functional.relu(x) + 1


class Adding(nn.Sequential):
    """Adds ``more`` to what its children make of ``x``."""

    def forward(self, x, *, more=0.0):
        return super().forward(x) + more


def layers():
    return Adding(
        nn.Sequential(Steps(), nn.Linear(3, 3)),
        Steps(),
    )


def odd():
    net = nn.Sequential()
    for name, module in [("a/b", Steps()), ("c:d", nn.Linear(3, 3)), ("e\\", Steps())]:
        net.add_module(name, module)
    return net


@pytest.fixture
def met(record):
    """``met(model, *globs)``: the paths that a run's taps have."""

    def met(model, *globs, quantities=("output",), **options):
        run = record(model, X, globs, target=None, quantities=quantities, **options)
        return sorted({tap.path for tap in run.taps})

    return met


MATCHING = {
    "*": ["", "0", "0.0", "0.1", "1"],
    "?": ["0", "1"],
    "0*": ["0", "0.0", "0.1"],
    "0.?": ["0.0", "0.1"],
    "*0": ["0", "0.0"],
    "*/*": ["/add", "0.0/add", "0.0/relu", "1/add", "1/relu"],
    "/*": ["/add"],
    "*/relu": ["0.0/relu", "1/relu"],
    "0*/add": ["0.0/add"],
    "*/r?l*": ["0.0/relu", "1/relu"],
    "*/nothing": [],
    "input:*": ["input:0"],
    "*:?": ["input:0"],
    "0.0/add": ["0.0/add"],
    "0.1.weight": ["0.1.weight"],
}


@pytest.mark.parametrize("glob", MATCHING)
def test_a_glob_stands_for_what_it_matches(met, glob):
    assert met(layers(), glob) == MATCHING[glob]


def test_all_is_every_module_operation_parameter_and_input(met):
    everything = ["0.1.bias", "0.1.weight", *MATCHING["*"], *MATCHING["*/*"], "input:0"]
    assert met(layers(), ALL) == sorted(everything)


def test_all_has_no_buffers(met):
    assert met(nn.BatchNorm1d(3), ALL) == ["", "bias", "input:0", "weight"]


def test_several_globs_and_paths_add_up(met):
    assert met(layers(), "1", "*/relu", "0.1*", "1/add") == [
        "0.0/relu",
        "0.1",
        "1",
        "1/add",
        "1/relu",
    ]


def test_a_glob_of_letters_only_means_modules_not_operations(met):
    with pytest.raises(UnknownPathError):
        met(layers(), "*add")
    with pytest.raises(UnknownPathError):
        met(layers(), "*weight")


@pytest.mark.parametrize("glob", ["[01]", ".+", "(.)*", "^*", "0|1*", "{0,1}*"])
def test_nothing_but_stars_and_question_marks_is_special(met, glob):
    with pytest.raises(UnknownPathError):
        met(layers(), glob)


def test_a_glob_that_matches_no_module_names_near_ones(met):
    net = nn.Sequential()
    net.add_module("layer1", nn.ReLU())
    with pytest.raises(UnknownPathError, match=r"no node 'layr\*'\. Near it: layer1\."):
        met(net, "layr*")


def test_a_function_has_a_root_its_operations_and_inputs(met):
    assert met(lambda x: x + 1, ALL) == ["", "/add", "input:0"]
    assert met(lambda x: x + 1, "*") == [""]
    assert met(lambda x: x + 1, "*/a*") == ["/add"]
    with pytest.raises(UnknownPathError):
        met(lambda x: x + 1, "a*")


ESCAPED = {
    "a\\/b": ["a\\/b"],
    "a\\/b/relu": ["a\\/b/relu"],
    "a\\/*": ["a\\/b"],
    "a*": ["a\\/b"],
    "a*/*": ["a\\/b/add", "a\\/b/relu"],
    "c\\:d": ["c\\:d"],
    "c\\:*": ["c\\:d"],
    "c\\:d.bias": ["c\\:d.bias"],
    "e\\\\": ["e\\\\"],
    "e\\\\/add": ["e\\\\/add"],
    "e\\\\/*": ["e\\\\/add", "e\\\\/relu"],
    "*/add": ["a\\/b/add", "e\\\\/add"],
}


@pytest.mark.parametrize("glob", ESCAPED)
def test_odd_names_are_escaped_in_paths_and_globs(met, glob):
    assert met(odd(), glob) == ESCAPED[glob]


@pytest.mark.parametrize("path", ["a/b", "c:d"])
def test_a_name_without_its_backslash_is_unknown_and_the_right_one_near(met, path):
    right = path[0] + "\\\\" + path[1:]
    with pytest.raises(UnknownPathError, match=rf"Near it: {right}"):
        met(odd(), path)


def test_what_a_glob_met_has_values_under_its_own_path(record):
    run = record(layers(), X, "*/relu", target=None)
    assert run["0.0/relu"].output.tolist() == [[1, 0, 3]]
    with pytest.raises(UnknownPathError):
        run["*/relu"]


def test_attention_is_no_part_of_a_glob_s_taps(record):
    run = record(layers(), X, ALL, target=None, quantities=("output", "attention"))
    assert {tap.quantity for tap in run.taps} == {"output"}


def test_a_glob_means_of_parameters_and_inputs_only_what_they_have(record):
    run = record(layers(), X, ALL)
    for path in ("input:0", "0.1.weight"):
        assert {tap.quantity for tap in run.taps if tap.path == path} == {"output", "grad_output"}
    assert run.absences == {}


def test_a_glob_of_modules_has_their_parameters(record):
    run = record(layers(), X, "0*", quantities=("parameter", "parameter_gradient"))
    assert (
        sorted(run["0.1"].parameters)
        == sorted(run["0.1"].parameter_gradients)
        == [
            "bias",
            "weight",
        ]
    )
    assert run["0.0"].absence("parameter") == "no tensors"
    assert run["0"].absence("parameter") == "container"


def test_modules_that_were_not_called_are_named_and_operations_are_not(record, around):
    net = around(nn.ModuleList([Steps(), Steps()]), lambda body, x: body[0](x))
    run = record(net, X, ["body.?", "*/relu"], target=None)
    assert sorted({tap.path for tap in run.taps}) == ["body.0", "body.0/relu", "body.1"]
    assert run["body.1"].absence("output") == "not called"


def test_paths_tell_what_they_can_stand_for():
    assert [is_glob(path) for path in ("a.b/c", "a?", "*", "a\\/b")] == [False, True, True, False]
    assert may_match_operations(ALL)
    assert may_match_operations("a\\/b/add")
    assert not may_match_operations("a\\/b")
    assert not may_match_operations("input:0")
    assert not matches("*", "input:0", NodeKind.INPUT)
    assert not matches("*/*", "a\\/b", NodeKind.MODULE)
    assert not matches(ALL, "running_mean", NodeKind.BUFFER)
