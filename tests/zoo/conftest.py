"""The table of all models, printed at the end."""

import gc

import pytest
import torch

from .subjects import MOST_PARAMETERS, PARAMETERS

_ROWS = pytest.StashKey()


@pytest.fixture
def rows(request):
    """The rows of the table, for a test to add to."""
    return request.config.stash.setdefault(_ROWS, [])


@pytest.fixture(autouse=True)
def _one_thread_and_no_garbage():
    """Compute in one thread, as bits depend on it, and free each model before the next."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    gc.collect()


def pytest_terminal_summary(terminalreporter, config):
    """Print what was compared for each model."""
    rows = config.stash.get(_ROWS, [])
    if not rows:
        return
    terminalreporter.section("zoo")
    counts = ("values", "gradients", "by_full_hooks", "nonzero", "mismatches", "absences")
    heads = (*(name.replace("_", " ") for name in counts), "seconds")
    terminalreporter.write_line(f"{'model':38}" + "".join(f"{head:>15}" for head in heads))
    total = dict.fromkeys((*counts, "seconds"), 0)
    for row in rows:
        numbers = _numbers(row, counts)
        total = {name: total[name] + number for name, number in numbers.items()}
        terminalreporter.write_line(_line(row.name, numbers))
    terminalreporter.write_line(_line(f"{len(rows)} models", total))
    for name, count in PARAMETERS.items():
        if count > MOST_PARAMETERS:
            terminalreporter.write_line(f"left out: {name}, {count // 10**6} million parameters")


def _numbers(row, counts):
    found = {name: getattr(row, name) for name in counts}
    return found | {"mismatches": len(row.mismatches), "seconds": row.seconds.total()}


def _line(name, numbers):
    *counts, seconds = numbers.values()
    return f"{name:38}" + "".join(f"{count:15}" for count in counts) + f"{seconds:15.1f}"
