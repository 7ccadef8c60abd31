"""A run answers for every path, quantity, call and leaf that was asked for, or says why not."""

import dataclasses

import pytest
import torch

from hookviewer.engine.capture import Capture
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
        None,
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


@pytest.mark.parametrize(
    "scores", [torch.tensor([[1, 3, 2]]), torch.tensor([[1.0, 3.0, 2.0]], dtype=torch.bfloat16)]
)
def test_scores_may_be_of_any_number_type(scores):
    assert [index for index, _, _ in Run(taps=frozenset(), output=scores).top(2)] == [1, 2]


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
