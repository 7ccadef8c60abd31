"""A run in a file: what is saved comes back, what cannot be opened is told in a sentence."""

import dataclasses
import errno
import json
import math
import os
import pathlib
import pickle
import stat
import subprocess
import sys

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from hookviewer.engine import run_file
from hookviewer.engine.capture import Capture
from hookviewer.engine.description import RunDescription
from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.node import OperationRecord
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.engine.run import Run, Timings
from hookviewer.engine.run_file import open_run

OUTPUT, GRADIENT = Quantity.OUTPUT, Quantity.GRAD_OUTPUT


@pytest.fixture
def path(tmp_path):
    """Where a run may be saved."""
    return tmp_path / "run.safetensors"


@pytest.fixture
def again(path):
    """``again(run)``: the run, saved and opened."""

    def again(run):
        run.save(path)
        return open_run(path)

    return again


def some_run(value=1.0):
    tap = Tap("layer", OUTPUT)
    capture = Capture(tap, 0, "0", torch.full((2, 3), value))
    return Run(frozenset({tap}), captures=(capture,), output=torch.tensor([value]))


def header_of(path):
    with safe_open(path, "pt") as file:
        return file.metadata()


def test_everything_that_is_no_tensor_comes_back(again):
    tap = Tap("a", OUTPUT)
    run = again(
        Run(
            taps=frozenset({tap, Tap("a/add", GRADIENT), Tap("", Quantity.PARAMETER)}),
            leaves=("0", "1/boxes"),
            score=0.1,
            absences={(tap, 1, "0"): "not called", (tap, None, None): "frozen"},
            shapes={"b": ((1, 2), ()), "a": ()},
            operations=(OperationRecord("a/add", "resnet.py:102", ((1, 2), ())),),
            timings=Timings(0.25, None),
            class_names=("cat", "dög"),
            description=RunDescription(
                model="ResNet",
                spec="torchvision:resnet18",
                target="class score 3",
                interventions=(("a", "scale 2"), ("a", "zero")),
                train=True,
                seed=7,
                complete=False,
                hookviewer_version="0.1.0",
                torch_version="2.14.1",
            ),
        )
    )
    assert run.taps == {tap, Tap("a/add", GRADIENT), Tap("", Quantity.PARAMETER)}
    assert (run.output, run.leaves, run.score) == (None, ("0", "1/boxes"), 0.1)
    assert list(run.absences.items()) == [
        ((tap, 1, "0"), "not called"),
        ((tap, None, None), "frozen"),
    ]
    assert list(run.shapes.items()) == [("b", ((1, 2), ())), ("a", ())]
    assert run.operations == (OperationRecord("a/add", "resnet.py:102", ((1, 2), ())),)
    assert run.timings == Timings(0.25, None)
    assert run.class_names == ("cat", "dög")
    assert run.description.interventions == (("a", "scale 2"), ("a", "zero"))
    assert dataclasses.replace(run.description, interventions=()) == RunDescription(
        "ResNet", "torchvision:resnet18", "class score 3", (), True, 7, False, "0.1.0", "2.14.1"
    )


def test_an_opened_run_answers_as_the_saved_one(again, record, chain, ones):
    saved = record(chain, ones, ["0", "2"], quantities=["output", "grad_output", "parameter"])
    run = again(saved)
    assert run["0"].output.tolist() == [[3, -1]]
    assert run["0"].grad_output.tolist() == [[5, 0]]
    assert run["2"].parameters["weight"].tolist() == [[5, 6]]
    assert run.output.tolist() == [[15]]
    assert run.score == 15
    assert run.timings == saved.timings
    assert run["0"].absence("output", call=1) == "not called"
    assert [(c.tap, c.call, c.leaf) for c in run.captures] == [
        (c.tap, c.call, c.leaf) for c in saved.captures
    ]


def test_a_score_may_be_no_number(again):
    assert math.isnan(again(Run(frozenset(), score=math.nan)).score)
    assert again(Run(frozenset(), score=-math.inf)).score == -math.inf
    assert again(Run(frozenset(), score=1 + 2j)).score == 1 + 2j


def test_opened_tensors_share_no_memory_with_the_file(path):
    some_run().save(path)
    run = open_run(path)
    with path.open("rb+") as file:
        file.write(bytes(path.stat().st_size))
    assert run.output.tolist() == [1]


def test_a_tensor_in_several_captures_is_saved_once(again, path):
    shared = torch.zeros(1000)
    taps = [Tap("a", OUTPUT), Tap("b", OUTPUT)]
    run = again(Run(frozenset(taps), captures=tuple(Capture(t, 0, "0", shared) for t in taps)))
    assert path.stat().st_size < 2 * 4000
    assert run["a"].output is run["b"].output


def test_names_in_the_file_can_be_read_and_are_never_the_same(path):
    one = Capture(Tap("a.b", OUTPUT), 0, "0", torch.tensor([1.0]))
    two = Capture(Tap("a.b", OUTPUT), 0, "0", torch.tensor([2.0]))
    Run(frozenset({one.tap}), captures=(one, two), output=[torch.tensor(3.0)]).save(path)
    with safe_open(path, "pt") as file:
        assert sorted(file.keys()) == ["a.b output 0 0", "a.b output 0 0 (2)", "output/0"]
    assert [capture.tensor.item() for capture in open_run(path).captures] == [1, 2]


def test_the_same_run_gives_the_same_bytes(tmp_path):
    taps = [Tap(f"layer{index}", quantity) for index in range(20) for quantity in Quantity]
    captures = tuple(Capture(tap, 0, "0", torch.ones(index)) for index, tap in enumerate(taps))
    first, second = tmp_path / "first", tmp_path / "second"
    Run(frozenset(taps), captures=captures).save(first)
    Run(frozenset(reversed(taps)), captures=captures).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_taps_are_in_order_in_the_file_whatever_their_hashes(path):
    taps = [[str(index), str(quantity)] for index in range(9) for quantity in Quantity]
    Run(frozenset(Tap(at, Quantity(quantity)) for at, quantity in taps)).save(path)
    assert json.loads(header_of(path)["hookviewer_run"])["run"]["taps"] == sorted(taps)


def test_what_a_run_is_can_be_known_without_torch():
    code = "import sys, hookviewer.engine.run; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_saving_replaces_an_older_run_and_leaves_nothing_else(path):
    some_run(1.0).save(path)
    some_run(2.0).save(str(path))
    assert open_run(str(path)).output.tolist() == [2]
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_a_saved_run_has_the_rights_of_any_new_file(path):
    ordinary = path.with_name("ordinary")
    ordinary.touch()
    some_run().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets few people make links")
def test_saving_through_a_link_replaces_what_it_points_to(path):
    link = path.with_name("link")
    link.symlink_to(path)
    some_run().save(link)
    assert link.is_symlink()
    assert open_run(path).output.tolist() == [1]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(HookviewerError, match=r"not saved: there is no folder '.*missing'\."):
        some_run().save(tmp_path / "missing" / "run.safetensors")


def test_a_folder_or_device_is_not_replaced_by_a_run(tmp_path):
    with pytest.raises(HookviewerError, match="is no ordinary file"):
        some_run().save(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(HookviewerError, match="is no ordinary file"):
            some_run().save(tmp_path / "pipe")


def test_a_folder_that_cannot_be_written_to_is_told(path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(run_file, "TemporaryDirectory", refuse)
    with pytest.raises(HookviewerError, match=r"was not saved to '.*': Permission denied\.$"):
        some_run().save(path)


def test_a_full_disk_leaves_the_older_run(path):
    resource = pytest.importorskip("resource")
    some_run().save(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(HookviewerError, match=r"was not saved to '.*File too large"):
            Run(frozenset(), output=torch.zeros(5000)).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert open_run(path).output.tolist() == [1]
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_at_the_end_leaves_the_older_run(path, monkeypatch, step):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    some_run(1.0).save(path)
    monkeypatch.setattr(*((os, step) if step == "fsync" else (pathlib.Path, step)), fail)
    with pytest.raises(HookviewerError, match=r"': No space left on device\.$") as error:
        some_run(2.0).save(path)
    assert "OSError" in error.value.details
    monkeypatch.undo()
    assert open_run(path).output.tolist() == [1]
    assert list(path.parent.iterdir()) == [path]


def test_what_is_not_there_or_no_file_is_told(tmp_path):
    with pytest.raises(HookviewerError, match=r"none' cannot be read: No such file or directory\."):
        open_run(tmp_path / "none")
    with pytest.raises(HookviewerError, match="cannot be read: "):
        open_run(tmp_path)


@pytest.mark.parametrize("kept", [0, 7, 8, 100, -1])
def test_a_file_cut_short_is_told(path, kept):
    some_run().save(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(HookviewerError, match="it is damaged or cut short") as error:
        open_run(path)
    assert "SafetensorError" in error.value.details


@pytest.mark.parametrize(
    "content", [b"no tensors at all", b"\x80\x04\x95", b"PK\x03\x04" + b"0" * 99]
)
def test_a_file_of_another_kind_is_told(path, content):
    path.write_bytes(content)
    with pytest.raises(HookviewerError, match="is no safetensors file, or it is damaged"):
        open_run(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_weights_are_told_from_a_run(path, metadata):
    save_file({"weight": torch.zeros(2)}, path, metadata)
    with pytest.raises(HookviewerError, match="perhaps the weights of a model, but not a run"):
        open_run(path)


def test_a_run_of_a_newer_format_is_told(path):
    save_file({}, path, {"hookviewer_run": json.dumps({"format": 2, "run": "unknown"})})
    with pytest.raises(HookviewerError, match=r"newer hookviewer \(format 2, here 1\)"):
        open_run(path)


def changed(path, change):
    """Save what is in ``path`` again with ``change`` done to the run's JSON."""
    header = json.loads(header_of(path)["hookviewer_run"])
    change(header["run"])
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, {"hookviewer_run": json.dumps(header)})


@pytest.mark.parametrize(
    "header", ["", "1", "[]", "{}", '{"format": "x", "run": {}}', '{"format": 1}', "[" * 100_000]
)
def test_a_damaged_header_is_told(path, header):
    save_file({}, path, {"hookviewer_run": header})
    with pytest.raises(HookviewerError, match=r"The run in '.*' is damaged\."):
        open_run(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.pop("captures"),
        lambda run: run["taps"].append(["a", "taste"]),
        lambda run: run["captures"].append(["a", "output", "first", "0", "output"]),
        lambda run: run["description"].update(unknown=1),
        lambda run: run.update(output={"call": "print"}),
        lambda run: run.update(output={"tensor": {"kind": "pickle"}}),
        lambda run: run.update(
            output={"tensor": {"kind": "meta", "dtype": "load", "shape": [1]}},
        ),
        lambda run: run.update(
            output={"tensor": {"kind": "other", "dtype": "int64", "shape": [9], "bytes": "output"}},
        ),
        lambda run: run.update(output={"mapping": [[[], 1]]}),
    ],
)
def test_a_damaged_run_is_told(path, change):
    some_run().save(path)
    changed(path, change)
    with pytest.raises(HookviewerError, match=r"The run in '.*' is damaged\."):
        open_run(path)


def test_a_tensor_that_the_file_lacks_is_told(path):
    some_run().save(path)
    changed(path, lambda run: run.update(output={"tensor": "lost"}))
    with pytest.raises(HookviewerError, match="damaged"):
        open_run(path)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(
    ("layout", "lie"),
    [
        (torch.sparse_coo, {"shape": [1, 1]}),
        (torch.sparse_coo, {"indices": "output.values"}),
        (torch.sparse_csr, {"shape": [2, 1]}),
        (torch.sparse_csr, {"plain_indices": "output.compressed_indices"}),
    ],
)
def test_sparse_tensors_from_a_file_are_checked(path, layout, lie):
    Run(frozenset(), output=torch.eye(2).to_sparse(layout=layout)).save(path)
    changed(path, lambda run: run["output"]["tensor"].update(lie))
    with pytest.raises(HookviewerError, match="is damaged"):
        open_run(path)


def test_nothing_is_pickled(path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("pickled")

    for module, name in [(pickle, "loads"), (pickle, "Unpickler"), (pickle, "Pickler")]:
        monkeypatch.setattr(module, name, refuse)
    for name in ("save", "load"):
        monkeypatch.setattr(torch, name, refuse)
    some_run().save(path)
    assert open_run(path)["layer"].output.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_the_header_is_strict_json(path):
    Run(frozenset(), output=[math.nan], score=math.inf).save(path)

    def refuse(name):
        raise AssertionError(name)

    assert json.loads(header_of(path)["hookviewer_run"], parse_constant=refuse)["format"] == 1


def test_a_header_that_no_reader_takes_is_not_left_behind(path):
    names = tuple("x" * 1_000_000 for _ in range(101))
    with pytest.raises(HookviewerError, match="was not saved to"):
        Run(frozenset(), class_names=names).save(path)
    assert not path.exists()
