"""A run answers for every path, quantity, call and leaf that was asked for, or says why not."""

import dataclasses
import itertools
import random

import pytest
import torch

from hookviewer.engine.capture import Capture
from hookviewer.engine.description import RunDescription
from hookviewer.engine.errors import HookviewerError, UnknownPathError
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.engine.run import Run

OUTPUT, GRADIENT = Quantity.OUTPUT, Quantity.GRAD_OUTPUT


def capture(path, call=0, leaf="0", value=0.0, quantity=OUTPUT):
    return Capture(Tap(path, quantity), call, leaf, torch.tensor([value]))


@pytest.fixture
def run():
    """``a`` was called twice, ``b`` returned two leaves, ``c`` was not called."""
    taps = frozenset({Tap("a", OUTPUT), Tap("a", GRADIENT), Tap("b", OUTPUT), Tap("c", OUTPUT)})
    return Run(
        taps=taps,
        captures=(
            capture("a", value=1.0),
            capture("b", leaf="mask", value=2.0),
            capture("b", leaf="1/boxes", value=3.0),
            capture("a", call=1, value=4.0),
            capture("a", call=1, value=5.0, quantity=GRADIENT),
        ),
        absences={
            (Tap("a", GRADIENT), 0, "0"): "no path to the target",
            (Tap("c", OUTPUT), None, None): "not called",
        },
        score=1.0,
    )


def test_a_record_gives_the_only_leaf_of_the_first_call(run):
    assert run["a"].output.item() == 1
    assert run["a"].input is None
    assert run["a"].grad_output is None
    assert run["a"].grad_input is None


def test_calls_hold_leaves_by_path(run):
    first, second = run["a"].calls
    assert (first.outputs["0"].item(), second.outputs["0"].item()) == (1, 4)
    assert dict(first.grad_outputs) == {}
    assert second.grad_outputs["0"].item() == 5
    assert list(run["b"].calls[0].outputs) == ["mask", "1/boxes"]
    assert run["c"].calls == ()


def test_attention_is_found_like_every_other_quantity():
    weights = Quantity.ATTENTION
    captures = (capture("a", value=1.0, quantity=weights), capture("a", call=1, quantity=weights))
    run = Run(frozenset({Tap("a", weights), Tap("b", weights)}), captures=captures)
    assert run["a"].attention.item() == 1
    assert run["b"].attention is None
    assert [call.attentions["0"].item() for call in run["a"].calls] == [1, 0]
    assert run["b"].absence("attention") == "not called"


def test_calls_that_left_only_an_absence_count(run):
    taps = frozenset({Tap("a", OUTPUT)})
    missed = Run(taps, absences={(Tap("a", OUTPUT), 2, None): "no tensors"})
    assert [run.call_count(path) for path in ("a", "b", "c", "d")] == [2, 1, 0, 0]
    assert [dict(call.outputs) for call in missed["a"].calls] == [{}, {}, {}]


def test_parameters_are_of_no_call():
    parameter = capture("a", leaf="weight", quantity=Quantity.PARAMETER)
    run = Run(frozenset({parameter.tap}), captures=(parameter,))
    assert run["a"].calls == ()
    assert list(run["a"].parameters) == ["weight"]


def test_several_leaves_must_be_chosen_from_by_name(run):
    with pytest.raises(ValueError, match=r"'b' has several leaves of output: mask, 1/boxes\."):
        _ = run["b"].output


def test_absence_is_told_by_call_and_leaf(run):
    assert run["a"].absence("output") is None
    assert run["a"].absence("grad_output") == "no path to the target"
    assert run["a"].absence("grad_output", call=0, leaf="0") == "no path to the target"
    assert run["a"].absence("grad_output", call=1) is None
    assert run["a"].absence("output", call=2) == "not called"
    assert run["c"].absence("output") == "not called"
    assert run["b"].absence("output", leaf="mask") is None


def test_an_unknown_quantity_is_an_error(run):
    with pytest.raises(ValueError, match="is not a valid Quantity"):
        run["a"].absence("outputs")


def test_a_path_that_was_not_recorded_names_near_ones():
    run = Run(taps=frozenset({Tap("layer1.conv1", OUTPUT), Tap("fc", OUTPUT)}))
    with pytest.raises(UnknownPathError, match=r"This run has no node 'layer1.conv2'") as caught:
        _ = run["layer1.conv2"]
    assert "Near it: layer1.conv1." in str(caught.value)


def test_captures_are_found_by_quantity_and_path_in_the_order_of_calls(run):
    assert [found.call for found in run.of(OUTPUT, "a")] == [0, 1]
    assert run.of(Quantity.INPUT, "a") == ()
    assert run.byte_count == 5 * 4


def test_the_likeliest_classes_come_first_with_their_names():
    scores = torch.tensor([[0.0, 2.0, 1.0], [9.0, 0.0, 0.0]])
    run = Run(taps=frozenset(), output=scores, class_names=("cat", "dog"))
    top = run.top(2)
    assert [(index, name) for index, name, _ in top] == [(1, "dog"), (2, "class 2")]
    weights = [1.0, torch.e**2, torch.e]
    assert top[0][2] == pytest.approx(weights[1] / sum(weights))
    assert len(run.top()) == 3
    assert sum(probability for _, _, probability in run.top()) == pytest.approx(1)


@pytest.mark.parametrize(
    "output",
    [
        torch.zeros(3),
        torch.zeros(1, 2, 2),
        torch.zeros(0, 3),
        torch.zeros(1, 0),
        (torch.zeros(1, 3),),
    ],
)
def test_only_a_table_of_scores_has_likeliest_classes(output):
    with pytest.raises(HookviewerError, match="not a table of class scores"):
        Run(taps=frozenset(), output=output).top()


def test_a_run_without_output_says_why_it_has_no_likeliest_classes():
    with pytest.raises(HookviewerError, match=r"no output .* or the run ended before it could\.$"):
        Run(taps=frozenset()).top()


@pytest.mark.parametrize(
    "scores", [torch.tensor([[1, 3, 2]]), torch.tensor([[1.0, 3.0, 2.0]], dtype=torch.bfloat16)]
)
def test_scores_may_be_of_any_number_type(scores):
    assert [index for index, _, _ in Run(taps=frozenset(), output=scores).top(2)] == [1, 2]


def searched(captures, absences, tap, call, leaf):
    """Return what is to be found, by looking at everything."""
    for found in captures:
        if found.tap == tap and call in (None, found.call) and leaf in (None, found.leaf):
            return None
    for (of, in_call, at), reason in absences.items():
        fits = [None in (call, in_call) or call == in_call, None in (leaf, at) or leaf == at]
        if of == tap and all(fits):
            return reason
    return "not called"


@pytest.mark.parametrize("seed", range(20))
def test_absences_are_those_that_a_search_finds(seed):
    chosen = random.Random(seed)
    taps = [Tap("a", OUTPUT), Tap("b", OUTPUT)]
    places = list(itertools.product(taps, (0, 1), ("0", "1")))
    captures = tuple(
        Capture(*place, torch.zeros(1)) for place in chosen.sample(places, chosen.randrange(4))
    )
    keys = list(itertools.product(taps, (None, 0, 1), (None, "0", "1")))
    absences = {key: f"reason {key}" for key in chosen.sample(keys, chosen.randrange(6))}
    run = Run(frozenset(taps), captures=captures, absences=absences)
    for tap, call, leaf in itertools.product(taps, (None, 0, 1, 2), (None, "0", "1", "2")):
        found = run.absence(OUTPUT, tap.path, call, leaf)
        assert found == searched(captures, absences, tap, call, leaf)


def test_a_run_is_searched_once_for_its_first_question():
    class Counted(tuple):
        looks = 0

        def __iter__(self):
            Counted.looks += 1
            return super().__iter__()

    run = Run(frozenset({Tap("a", OUTPUT)}), captures=Counted([capture("a"), capture("b")]))
    assert Counted.looks == 0
    assert len(run.of(OUTPUT, "a")) == 1
    looks = Counted.looks
    assert len(run["a"].calls) == 1
    assert run["a"].absence("output") is None
    assert run["a"].output.item() == 0
    assert Counted.looks == looks


def test_what_a_run_was_made_of_is_unknown_unless_told(run):
    assert run.description == RunDescription()
    assert dataclasses.replace(run, score=2.0)["a"].output.item() == 1


def test_a_run_is_frozen(run):
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.score = 2.0


def test_a_run_knows_how_long_its_parts_took(record, chain, ones):
    run = record(chain, ones, ["0"])
    assert run.timings.forward > 0
    assert run.timings.backward > 0


def test_the_output_comes_as_the_model_gave_it_without_its_graph(record, does, ones):
    net = does(lambda x: {"scores": (x * 2, "text"), "none": None})
    output = record(net, ones, "", target=lambda output: output["scores"][0].sum()).output
    assert output["scores"][0].tolist() == [[2, 2]]
    assert not output["scores"][0].requires_grad
    assert (output["scores"][1], output["none"]) == ("text", None)


def test_a_survey_notes_the_shapes_of_every_call_of_every_module(record, twice, ones):
    run = record(twice, ones, [], target=None, survey=True)
    assert run.shapes == {"": ((1, 2),), "scale": ((1, 2), (1, 2))}
    assert run.captures == ()


def test_nothing_is_copied_that_was_not_asked_for(record, chain, ones):
    run = record(chain, ones, ["1"], quantities=["output"])
    assert [capture.tap for capture in run.captures] == [Tap("1", OUTPUT)]
