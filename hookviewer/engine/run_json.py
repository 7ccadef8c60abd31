"""A run as JSON with its tensors apart, and back."""

import operator
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hookviewer.engine import nested_json
from hookviewer.engine.capture import Capture
from hookviewer.engine.description import RunDescription
from hookviewer.engine.node import OperationRecord
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.engine.run import Run, Timings
from hookviewer.engine.tensor_parts import TensorMaker, TensorParts


def run_to_json(run: Run, parts: TensorParts) -> Mapping[str, Any]:
    """Return everything of ``run`` but its tensors, which go into ``parts``.

    Raises:
        HookviewerError: A tensor is of a kind that cannot be kept.
    """
    return {
        "description": asdict(run.description),
        "taps": [[tap.path, tap.quantity] for tap in sorted(run.taps)],
        "output": nested_json.to_json(
            run.output, lambda path, tensor: parts.add(tensor, f"output{path}")
        ),
        "leaves": run.leaves,
        "score": nested_json.plain_to_json(run.score),
        "captures": [_capture_to_json(capture, parts) for capture in run.captures],
        "absences": [
            [tap.path, tap.quantity, call, leaf, reason]
            for (tap, call, leaf), reason in run.absences.items()
        ],
        "shapes": [[path, shapes] for path, shapes in run.shapes.items()],
        "operations": [[seen.path, seen.source, seen.shapes] for seen in run.operations],
        "timings": asdict(run.timings),
        "class_names": run.class_names,
    }


def run_from_json(content: Mapping[str, Any], maker: TensorMaker) -> Run:
    """Return the run that ``run_to_json`` was given. What it did not write raises anything."""
    described = content["description"]
    interventions = tuple((path, text) for path, text in described["interventions"])
    return Run(
        taps=frozenset(Tap(path, Quantity(quantity)) for path, quantity in content["taps"]),
        output=nested_json.from_json(content["output"], maker.make),
        leaves=tuple(content["leaves"]),
        score=nested_json.from_json(content["score"], maker.make),
        captures=tuple(_capture_from_json(each, maker) for each in content["captures"]),
        absences={
            (Tap(path, Quantity(quantity)), call, leaf): reason
            for path, quantity, call, leaf, reason in content["absences"]
        },
        shapes={path: _shapes(shapes) for path, shapes in content["shapes"]},
        operations=tuple(
            OperationRecord(path, source, _shapes(shapes))
            for path, source, shapes in content["operations"]
        ),
        timings=Timings(**content["timings"]),
        class_names=tuple(content["class_names"]),
        description=RunDescription(**{**described, "interventions": interventions}),
    )


def _capture_to_json(capture: Capture, parts: TensorParts) -> list[Any]:
    path, quantity = capture.tap.path, capture.tap.quantity
    name = f"{path} {quantity} {capture.call} {capture.leaf}"
    return [path, quantity, capture.call, capture.leaf, parts.add(capture.tensor, name)]


def _capture_from_json(content: list[Any], maker: TensorMaker) -> Capture:
    path, quantity, call, leaf, recipe = content
    return Capture(Tap(path, Quantity(quantity)), operator.index(call), leaf, maker.make(recipe))


def _shapes(content: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(shape) for shape in content)
