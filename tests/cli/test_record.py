"""``hookviewer record`` runs a model once and saves what was seen."""

import pytest

import hookviewer as hv

GIVEN = ("record", "net.py:net", "-i", "net.py:ones", "-o", "run.safetensors")


def test_a_run_is_saved(command):
    done = command(*GIVEN, "--at", "first", "--at", "*/add", "--target", "class:1")
    run = hv.open_run("run.safetensors")
    assert run["first"].output.tolist() == [[3, -1]]
    assert run["/add"].grad_output.tolist() == [[7, 8]]
    assert run.description.spec == "net.py:net"
    # Four of each node, of two numbers of eight bytes.
    assert done == (0, "run.safetensors: 8 tensors of 2 nodes, 0.0 MiB\n", "")


def test_without_a_target_it_runs_forward_only(command):
    command(*GIVEN, "--at", "first")
    run = hv.open_run("run.safetensors")
    assert run["first"].absence("grad_output") == "forward only"


def test_what_is_recorded_can_be_chosen(command):
    command(*GIVEN, "--at=last", "--quantity=parameter", "--quantity=input")
    quantities = {tap.quantity for tap in hv.open_run("run.safetensors").taps}
    assert quantities == {"parameter", "input"}


@pytest.mark.parametrize(
    ("target", "gradient"),
    [("whole", [12, 14]), ("class:0", [5, 6]), ("top", [7, 8]), ("loss:0", [2, 2])],
)
def test_targets_are_named_in_a_word(command, target, gradient):
    # 5, 6 and 7, 8 on 4, 0 are 20 and 28: the second class has a probability of 0.9997, and the
    # loss against the first grows with the second score and falls with the first.
    command(*GIVEN, "--at", "/add", "--target", target)
    saved = hv.open_run("run.safetensors")["/add"].grad_output
    assert saved.tolist() == [pytest.approx(gradient, abs=2e-2)]


def test_mode_and_seed_are_handed_on(command):
    command(*GIVEN, "--at=first", "--train", "--seed=7")
    said = hv.open_run("run.safetensors").description
    assert (said.train, said.seed) == (True, 7)


def test_what_fails_is_one_line_and_saves_nothing(command, tmp_path):
    code, out, error = command(*GIVEN, "--at", "frist")
    assert (code, out) == (1, "")
    assert error == "hookviewer: This model has no node 'frist'. Near it: first.\n"
    assert not (tmp_path / "run.safetensors").exists()
