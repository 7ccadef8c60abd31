from pathlib import Path

import pytest

import hookviewer
from hookviewer.cli.parser import parse


def refused(capsys, *arguments):
    """Return what is said about wrong usage, which must end with code 2."""
    with pytest.raises(SystemExit) as ended:
        parse(list(arguments))
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_without_arguments_it_is_the_demo():
    options = parse([])
    assert (options.model, options.input, options.at) == ("demo", "demo", "")
    assert (options.device, options.train, options.seed) == ("cpu", False, 0)
    assert (options.screenshot, options.size) == (None, None)


@pytest.mark.parametrize("arguments", [["net.py:build"], ["open", "net.py:build"]])
def test_open_may_be_left_out(arguments):
    assert parse(arguments).model == "net.py:build"


def test_a_file_that_is_called_open_is_named_with_its_folder():
    assert parse(["./open"]).model == "./open"
    assert parse(["open", "open"]).model == "open"
    assert parse(["open"]).model == "demo"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-i", "cat.png", "--at", "features.3", "demo"],
        ["demo", "-i", "cat.png", "--at", "features.3"],
        ["--at", "features.3", "open", "-i", "cat.png", "demo"],
        ["open", "--at=features.3", "demo", "--input=cat.png"],
    ],
)
def test_options_may_stand_anywhere(arguments):
    options = parse(arguments)
    assert (options.model, options.input, options.at) == ("demo", "cat.png", "features.3")


def test_every_option_is_understood():
    model = ["--device", "cuda:1", "--train", "--seed", "7"]
    options = parse([*model, "--screenshot", "a.png", "--size", "800x600"])
    assert (options.device, options.train, options.seed) == ("cuda:1", True, 7)
    assert (options.screenshot, options.size) == (Path("a.png"), (800, 600))


def test_a_command_may_stand_behind_options():
    options = parse(["--at", "a", "record", "-o", "b", "net.py:build", "--at", "c/*"])
    assert (options.command, options.model, options.input) == ("record", "net.py:build", "demo")
    assert (options.at, options.output) == (["a", "c/*"], Path("b"))
    assert parse(["tree"]).command == "tree"
    assert parse(["./tree"]).command == "open"


@pytest.mark.parametrize("text", ["800x600", "800×600"])
def test_a_size_is_width_x_height(text):
    assert parse(["--size", text]).size == (800, 600)


@pytest.mark.parametrize("text", ["800", "x", "800x", "800*600", "-8x600", "8x8", "99999x600", ""])
def test_what_is_no_size_is_answered_with_an_example(capsys, text):
    assert "1480x920" in refused(capsys, f"--size={text}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nonsense"], "--nonsense"),
        (["--seed", "three"], "three"),
        (["--screenshot"], "--screenshot"),
        (["one", "two"], "one model at a time, please; there are 2: one two"),
        (["open", "one", "two"], "there are 2: one two"),
        (["--at", "a", "--at", "b"], "the window shows one node at a time"),
        (["tree", "--at", "a"], "--at does not go with 'tree'"),
        (["--json"], "--json does not go with 'open'"),
        (["record", "--size", "800x600", "-o", "a"], "--size does not go with 'record'"),
        (["record", "--at", "a"], "'record' needs --at GLOB, what to record, and -o FILE"),
        (["record", "-o", "a"], "'record' needs --at GLOB, what to record, and -o FILE"),
        (["record", "--quantity", "outputs"], "invalid choice: 'outputs'"),
        (["record", "--target", "285"], "'285' is no target; there are class:285"),
        (["record", "--target", "class:-1"], "'class:-1' is no target"),
        (["record", "--target", "top:1"], "'top:1' is no target"),
    ],
)
def test_wrong_usage_is_named(capsys, arguments, said):
    answer = refused(capsys, *arguments)
    assert said in answer
    assert answer.startswith("usage: hookviewer ")


@pytest.mark.parametrize(
    ("option", "said"),
    [("--version", hookviewer.__version__), ("--help", "script.py:factory")],
)
def test_version_and_help_are_told(capsys, option, said):
    with pytest.raises(SystemExit) as ended:
        parse(["demo", option])
    assert ended.value.code == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("seed", ["-1", "1.5", "x", str(2**63)])
def test_a_seed_is_a_whole_number(seed, capsys):
    with pytest.raises(SystemExit) as end:
        parse(["--seed", seed])
    assert end.value.code == 2
    assert "seed" in capsys.readouterr().err
