"""``record`` takes what a person would write, and refuses in a sentence what it cannot take."""

import doctest
from types import SimpleNamespace
from typing import NamedTuple

import psutil
import pytest
import torch
from torch import nn

import hookviewer as hv
from hookviewer import api
from hookviewer.engine.plan import Tap

ONE, TWO, SIX = torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([6.0])


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


def difference(a, b):
    return a - b


def test_the_example_in_its_docstring_is_true():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    (example,) = [each for each in finder.find(hv.record, "record", globs={}) if each.examples]
    assert runner.run(example) == (0, 7)  # none of seven failed


@pytest.mark.parametrize(
    ("function", "x", "output"),
    [
        (torch.neg, SIX, -6),
        (difference, (SIX, TWO), 4),
        (difference, hv.Inputs(SIX, TWO), 4),
        (difference, hv.Inputs(b=SIX, a=TWO), -4),
        (lambda pair: pair.first * pair.second, Pair(SIX, TWO), 12),
        (lambda pair: pair[0] * pair[1], [SIX, TWO], 12),
    ],
)
def test_an_input_is_one_argument_a_tuple_or_inputs(function, x, output):
    assert hv.record(function, x, []).output.item() == output


@pytest.mark.parametrize(
    ("at", "paths"),
    [
        ("0", {"0"}),
        (["0", "2.weight"], {"0", "2.weight"}),
        ("?", {"0", "1", "2"}),
        (hv.ALL, {"", "0", "1", "2", "0.weight", "2.weight", "input:0"}),
        ([], set()),
    ],
)
def test_places_are_a_path_or_a_glob_or_several(chain, ones, at, paths):
    assert {tap.path for tap in hv.record(chain, ones, at).taps} == paths


def test_values_and_gradients_on_both_sides_are_recorded_unless_others_are_named(chain, ones):
    sides = {"input", "output", "grad_input", "grad_output"}
    assert {tap.quantity for tap in hv.record(chain, ones, "0").taps} == sides
    assert hv.record(chain, ones, "0", quantities="output").taps == {Tap("0", "output")}


def test_a_gradient_is_that_of_any_function_of_the_output(chain, ones):
    run = hv.record(chain, ones, "0", target=lambda output: 10 * output[0, 0])
    assert run["0"].grad_output.tolist() == [[50, 0]]  # the second number is below zero
    assert run.score == 150


def test_interventions_act_in_order(chain, ones):
    shift, double = hv.interventions.function(lambda x: x + 1), hv.interventions.scale(2)
    run = hv.record(chain, ones, "0", interventions={"0": [shift, double]})
    assert run["0"].output.tolist() == [[8, 0]]
    run = hv.record(chain, ones, "0", interventions={"0": double})
    assert run["0"].output.tolist() == [[6, -2]]


def test_a_run_that_stops_early_has_no_output(chain, ones):
    run = hv.record(chain, ones, "0", complete=False)
    assert (run.output, run["0"].output.tolist()) == (None, [[3, -1]])


def test_in_train_mode_the_seed_makes_two_looks_equal():
    drop, many = nn.Dropout(0.5).eval(), torch.ones(64)
    looks = [hv.record(drop, many, "", train=True, seed=seed).output for seed in (1, 1, 2)]
    assert looks[0].equal(looks[1])
    assert not looks[0].equal(looks[2])
    assert hv.record(drop, many, "").output.equal(many)


def test_a_run_says_what_it_was_made_of(chain, ones):
    run = hv.record(
        chain, ones, "0", hv.targets.class_score(0), seed=3,
        interventions={"1": [hv.interventions.scale_gradient(2), hv.interventions.zero()]},
    )  # fmt: skip
    said = run.description
    assert (said.model, said.spec, said.target) == ("Sequential", "", "class_score(0)")
    assert said.interventions == (("1", "scale_gradient"), ("1", "zero"))
    assert (said.train, said.seed, said.complete) == (False, 3, True)
    assert (said.hookviewer_version, said.torch_version) == (hv.__version__, torch.__version__)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"quantities": ["outputs"]}, "There is no quantity 'outputs'. There are: 'input', 'outp"),
        ({"at": [nn.ReLU()]}, "A node is named by its path, as 'layer1.0'; what has the type 'Re"),
        ({"target": 285}, "A target is a function of the output, as hv.targets.class_score(285) "),
        ({"model": "demo"}, "A model is a module or another callable; what has the type 'str' is"),
        ({"interventions": {"0": abs}}, "At '0' stands what has the type 'builtin_function_or_m"),
        ({"interventions": {"0": [abs]}}, "At '0' stands what has the type 'builtin_function_or_"),
        ({"device": "attic"}, "The device 'attic' cannot be used: "),
        ({"device": "meta"}, "This model is on the meta device: it has shapes but no numbers."),
        ({"at": "3"}, "This model has no node '3'."),
    ],
)
def test_what_cannot_be_done_is_a_sentence(chain, ones, digest, wrong, sentence):
    before = digest(chain)
    with pytest.raises(hv.HookviewerError) as caught:
        hv.record(**{"model": chain, "x": ones, "at": "0"} | wrong)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith(".")
    assert digest(chain) == before


def test_captures_may_take_half_of_the_memory_that_is_free(chain, ones, monkeypatch):
    def free(byte_count):
        memory = SimpleNamespace(available=byte_count)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)

    free(2 * 16)  # the output of "0" is two numbers of eight bytes
    assert hv.record(chain, ones, "0", quantities="output")["0"].output is not None
    free(2 * 15)
    with pytest.raises(hv.HookviewerError, match=r"would take more than .* \(reached at '0'\)"):
        hv.record(chain, ones, "0", quantities="output")


def test_a_model_that_is_on_the_device_already_is_no_copy(chain, ones):
    seen = []
    chain.register_forward_hook(lambda module, *_: seen.append(module))
    hv.record(chain, ones, "0", device="cpu")
    assert seen == [chain]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a second device")
def test_another_device_runs_a_copy_there(chain, ones, digest):
    before = digest(chain)
    run = hv.record(chain, ones, "0", target=hv.targets.whole(), device="cuda")
    assert digest(chain) == before
    assert run.output.device.type == "cuda"
    assert run["0"].output.tolist() == [[3, -1]]
    function = hv.record(difference, (ones, ones), "/sub", device="cuda")
    assert function.output.device.type == "cuda"


def test_a_model_that_cannot_be_copied_is_not_moved(chain, ones):
    chain.lock = (each for each in "")  # a generator cannot be copied
    with pytest.raises(hv.HookviewerError, match="No copy of this model can be put on 'meta'"):
        hv.record(chain, ones, "0", device="meta")
    assert chain[0].weight.device.type == "cpu"


def test_interrupting_a_run_leaves_nothing(dropping, digest):
    def interrupt(output):
        raise KeyboardInterrupt

    x = torch.ones(2, 2)
    hv.record(dropping, x, hv.ALL)
    before = digest(dropping)
    with pytest.raises(KeyboardInterrupt):
        hv.record(dropping, x, hv.ALL, target=interrupt, train=True)
    with pytest.raises(KeyboardInterrupt):
        hv.record(
            dropping, x, hv.ALL,
            interventions={"norm": hv.interventions.function(interrupt)}, train=True,
        )  # fmt: skip
    assert digest(dropping) == before


def test_half_is_the_share_that_the_docstring_states():
    assert api.MEMORY_SHARE == 0.5
    assert "more than half of the memory that is free" in " ".join(hv.record.__doc__.split())


def test_a_class_that_a_loaded_model_has_not_is_refused_before_it_runs():
    model, ran = hv.load("demo"), []
    hook = model.register_forward_pre_hook(lambda *_: ran.append(1))
    with pytest.raises(hv.HookviewerError, match="classes 0 to 999; 1000 is not among them"):
        hv.record(model, torch.zeros(1, 3, 32, 32), "", target=hv.targets.class_score(1000))
    hook.remove()
    assert ran == []
