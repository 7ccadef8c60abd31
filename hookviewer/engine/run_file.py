"""A run in one safetensors file.

The tensors lie in the file as such; everything else is JSON in the header. Nothing is pickled.
"""

import json
import os
import shutil
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.run import Run
from hookviewer.engine.run_json import run_from_json, run_to_json
from hookviewer.engine.tensor_parts import TensorMaker, TensorParts

FORMAT = 1
"""The version of what is written; higher whenever an older hookviewer could not read it."""
_KEY = "hookviewer_run"  # a single one: safetensors writes several in any order


def save_run(run: Run, path: str | PathLike[str]) -> None:
    """Write ``run`` to the file ``path``; the same run gives the same bytes.

    A file that is there is replaced, but only once the new one is whole.

    Raises:
        HookviewerError: The file cannot be written, or a tensor is of a kind that no file
            can hold.
    """
    parts = TensorParts()
    content = {"format": FORMAT, "run": run_to_json(run, parts)}
    header = {_KEY: json.dumps(content, allow_nan=False, separators=(",", ":"))}
    target = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    if not target.parent.is_dir():
        raise HookviewerError(f"The run was not saved: there is no folder '{target.parent}'.")
    if target.exists() and not target.is_file():  # a folder, or a device
        raise HookviewerError(f"The run was not saved: '{path}' is no ordinary file.")
    try:
        with TemporaryDirectory(prefix=".hookviewer-", dir=target.parent) as folder:
            written = _written(parts, header, Path(folder))
            written.replace(target)
    except (OSError, SafetensorError) as error:
        raise _failed(f"The run was not saved to '{path}'", error) from None


def open_run(path: str | PathLike[str]) -> Run:
    """Return the run in the file ``path``; no code from the file is run.

    Numbers, shapes and dtypes are those that were saved, bit for bit. Tensors are contiguous and
    on the CPU. In the output named tuples and dataclasses have become dictionaries, and what
    JSON cannot hold its text.

    Raises:
        HookviewerError: There is no such file, it is damaged, it holds no run, or a newer
            hookviewer wrote it.
    """
    try:
        Path(path).open("rb").close()  # its errors say what is wrong
        with safe_open(os.fspath(path), framework="pt") as file:
            content = _content(file.metadata(), path)
            maker = TensorMaker(lambda name: file.get_tensor(name).clone())  # not the file's memory
            return _made(content, maker, path)
    except OSError as error:
        raise _failed(f"'{path}' cannot be read", error) from None
    except SafetensorError as error:
        sentence = f"'{path}' is no safetensors file, or it is damaged or cut short."
        raise _with_details(sentence, error) from None


def _written(parts: TensorParts, header: dict[str, str], folder: Path) -> Path:
    """Return a new file in ``folder`` that is whole and safe on the disk."""
    file = folder / "run"
    save_file(parts.plain, file, metadata=header)
    with safe_open(file, framework="pt"):
        pass  # a header that is too large to be read is written without complaint
    ordinary = folder / "ordinary"
    ordinary.touch()
    shutil.copymode(ordinary, file)  # safetensors 0.8 lets nobody else read its files
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
    return file


def _content(header: dict[str, str] | None, path: str | PathLike[str]) -> Any:
    if header is None or _KEY not in header:
        raise HookviewerError(
            f"'{path}' holds tensors, perhaps the weights of a model, but not a run."
        )
    try:
        content = json.loads(header[_KEY])
        number, run = int(content["format"]), content["run"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _with_details(f"The run in '{path}' is damaged.", error) from None
    if number > FORMAT:
        raise HookviewerError(
            f"'{path}' was written by a newer hookviewer (format {number}, here {FORMAT}); "
            "bring hookviewer up to date to open it."
        )
    return run


def _made(content: Any, maker: TensorMaker, path: str | PathLike[str]) -> Run:
    try:
        return run_from_json(content, maker)
    except (OSError, SafetensorError):
        raise
    except Exception as error:  # what is not as we wrote it fails in any way
        raise _with_details(f"The run in '{path}' is damaged.", error) from None


def _failed(what: str, error: Exception) -> HookviewerError:
    reason = getattr(error, "strerror", None) or str(error).rpartition("I/O error: ")[2]
    return _with_details(f"{what}: {reason}.", error)


def _with_details(sentence: str, error: Exception) -> HookviewerError:
    told = HookviewerError(sentence)
    told.details = f"{type(error).__name__}: {error}"
    return told
