"""Find paths that are misspelt, as far as only a call of the model can show it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor

from hookviewer.engine.call import named
from hookviewer.engine.errors import UnknownPathError
from hookviewer.engine.execute import execute
from hookviewer.engine.globs import is_glob
from hookviewer.engine.paths import split_operation
from hookviewer.engine.plan import Plan
from hookviewer.engine.run import Run

_INPUT = "input:"
_NAMESPACES = (torch, Tensor, torch.nn.functional, torch.linalg, torch.fft, torch.special)


def is_operation(path: str) -> bool:
    """Whether ``path`` stands for exactly one operation."""
    return not is_glob(path) and split_operation(path)[1] != ""


def check_inputs(plan: Plan) -> None:
    """See that the model is fed what the plan names.

    Raises:
        UnknownPathError: There is no such input; the sentence has near ones.
    """
    fed = [f"{_INPUT}{name}" for name in named(plan.inputs.args, plan.inputs.kwargs)]
    for path in sorted(_paths(plan)):
        if path.startswith(_INPUT) and not is_glob(path) and path not in fed:
            raise UnknownPathError(path, fed, "This call")


def check_operations(model: Callable[..., Any], plan: Plan, run: Run) -> None:
    """See that no operation that did not show up in ``run`` is a misspelt one.

    An operation may lie in a branch that was not taken; then its absence is the answer. It is held
    to be misspelt where its module called one of nearly that name and torch has no function of
    that name, or where its module called it in place (``add_`` instead of ``add``) or the other
    way round. To know what was called, the model is run forward once more.

    Raises:
        UnknownPathError: One is misspelt; the sentence has near ones, and the error the ``run``.
    """
    called = {record.path for record in run.operations}
    unseen = [
        path
        for path in sorted(_paths(plan))
        if is_operation(path) and path not in called and run.call_count(path) == 0
    ]
    if not unseen:
        return
    whole = replace(plan, taps=frozenset(), target=None, survey=True, complete=True)
    known = {record.path for record in execute(model, whole).operations}
    for path in unseen:
        near = _near(path, known)
        if path not in known and near:
            error = UnknownPathError(path, near)
            error.run = run
            raise error


def _paths(plan: Plan) -> set[str]:
    return {*(tap.path for tap in plan.taps), *plan.interventions}


def _near(path: str, known: Iterable[str]) -> list[str]:
    """Return those of the same module that ``path`` is likely to mean."""
    module, name = split_operation(path)
    names = [other for place, other in map(split_operation, known) if place == module]
    twin = name.removesuffix("_") if name.endswith("_") else f"{name}_"
    near = [twin] if twin in names else []
    if not near and not _is_of_torch(name):
        near = get_close_matches(name, names)
    return [f"{module}/{other}" for other in near]


def _is_of_torch(name: str) -> bool:
    spellings = (name, f"__{name}__")
    return any(hasattr(space, each) for space in _NAMESPACES for each in spellings)
