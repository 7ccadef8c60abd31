"""Say in words what a run was made of and how."""

from collections.abc import Callable
from typing import Any

import torch

import hookviewer
from hookviewer.engine.description import RunDescription
from hookviewer.engine.plan import Intervention, LiveTarget, Plan, Target


def describe(model: Callable[..., Any], plan: Plan) -> RunDescription:
    """Return what can be known of a run of ``plan`` on ``model`` by looking at these two.

    Targets and interventions are named by the functions that made them: ``class_score``.
    """
    return RunDescription(
        model=_name(model),
        target="" if plan.target is None else _target_name(plan.target),
        interventions=tuple(
            (path, _intervention_name(each))
            for path, several in plan.interventions.items()
            for each in several
        ),
        train=plan.train,
        seed=plan.seed,
        complete=plan.complete,
        hookviewer_version=hookviewer.__version__,
        torch_version=torch.__version__,
    )


def _target_name(target: Target) -> str:
    return _name(target.score if isinstance(target, LiveTarget) else target)


def _intervention_name(intervention: Intervention) -> str:
    functions = (intervention.forward, intervention.backward, intervention.rule)
    return ", ".join({_name(each): None for each in functions if each is not None})


def _name(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the one that made it, or what an object says it is."""
    if "__str__" in vars(type(function)):
        return str(function)
    name = getattr(function, "__qualname__", type(function).__name__)
    return str(name.partition(".<locals>")[0])
