"""Carry out a plan."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from hookviewer.engine.absence import STOPPED
from hookviewer.engine.again import Again, Manner, NothingSaved, RootRefused
from hookviewer.engine.buffers import Buffers
from hookviewer.engine.cancel import CancelToken, Finished
from hookviewer.engine.computed import computed_tensors
from hookviewer.engine.errors import HookviewerError, TargetError
from hookviewer.engine.explain import explain
from hookviewer.engine.failure import (
    backward_error,
    forward_error,
    is_out_of_memory,
    memory_error,
    target_error,
)
from hookviewer.engine.lazy import runnable
from hookviewer.engine.leaves import leaves, map_leaves
from hookviewer.engine.paths import Paths, is_uninitialised, own_tensors
from hookviewer.engine.plan import LiveTarget, Plan, Quantity, Tap, Target
from hookviewer.engine.recorder import Recorder
from hookviewer.engine.run import Run, Timings
from hookviewer.engine.saved import is_about_hooks
from hookviewer.engine.state import preserved
from hookviewer.engine.unwrap import eager

_INTO = (Quantity.INPUT, Quantity.GRAD_INPUT)


def execute(
    model: Callable[..., Any],
    plan: Plan,
    token: CancelToken | None = None,
    buffers: Buffers | None = None,
) -> Run:
    """Run ``plan`` on ``model`` and return what its taps saw.

    Call it from any one thread; hooks fire in that thread. Whatever happens, the model comes back
    as it was: no hook, no ``.grad``, no mode, no buffer and no random state is changed.

    Args:
        model: A module or any other callable.
        plan: What to do.
        token: By which another thread may stop the run.
        buffers: Memory of the captures of earlier runs, to be used again.

    Raises:
        UnknownPathError: A tap's path names no node of this model.
        CannotRunError: The model has no data to compute with.
        ForwardError: The model's own code raised. What was captured before is in the error's
            ``run``, as with the two below.
        TargetError: The target is no scalar of this model's output.
        BackwardError: Autograd cannot differentiate this model.
        Cancelled: ``token`` asked the run to stop.
    """
    try:
        with torch.inference_mode(mode=False):
            paths, buffers = runnable(Paths(model)), buffers or Buffers()
        manner = Manner()
        while True:
            try:
                return _executed(paths, Recorder(paths, plan, token, buffers, manner), plan)
            except Again as again:
                manner = again.instead(manner)
    except HookviewerError as error:
        error.__context__ = None  # its frames, like those of the error, hold every tensor of a run
        raise error.with_traceback(None) from None
    except Exception as error:
        if is_out_of_memory(error):
            raise memory_error(error) from None
        raise


def _executed(paths: Paths, recorder: Recorder, plan: Plan) -> Run:
    with (
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        preserved(paths, train=plan.train, seed=plan.seed),
        eager(paths.by_module),
    ):
        computed = _computed_parameters(paths, recorder.sites.taps)
        return _recorded_with(computed, paths, recorder, plan)


def _recorded_with(
    computed: Mapping[Tap, Mapping[str, Tensor]], paths: Paths, recorder: Recorder, plan: Plan
) -> Run:
    with recorder:
        try:
            parameters = _parameters(paths, recorder.sites.taps)
            for tensors in (computed, parameters):
                recorder.recording.take_parameters(tensors, plan.needs_backward)
            output, forward = _forward(paths, plan, recorder)
            recorder.output_leaves = tuple(leaves(output))
            returned = map_leaves(output, lambda _, tensor: tensor.detach().clone())
            score, backward = _differentiate(plan, recorder, output)
        except HookviewerError as error:
            error.run = _recorded(paths, plan, recorder)
            raise
        run = _recorded(paths, plan, recorder)
    return replace(run, output=returned, score=score, timings=Timings(forward, backward))


def _forward(paths: Paths, plan: Plan, recorder: Recorder) -> tuple[Any, float]:
    started = time.perf_counter()
    try:
        inputs = recorder.feed(plan.inputs, next((p.device for p in paths.parameters), None))
        started = time.perf_counter()
        output = recorder.call(inputs)
    except Finished:
        output = None
    except HookviewerError:  # an intervention that does not fit
        raise
    except Exception as error:  # whatever the model's code raises, the user reads where
        if is_about_hooks(error) and not recorder.manner.saves_all:
            raise NothingSaved from None
        if recorder.has_planted and not is_out_of_memory(error):
            raise RootRefused from None
        raise forward_error(error, paths) from None
    finally:
        recorder.open_calls.drop_all()
        # Those of lazy modules are there now.
        parameters = _parameters(paths, recorder.sites.taps)
        recorder.recording.take_parameters(parameters, plan.needs_backward)
    ended = time.perf_counter()
    recorder.end_forward()
    return output, ended - started


def _differentiate(
    plan: Plan, recorder: Recorder, output: Any
) -> tuple[float | None, float | None]:
    if plan.target is None:
        return None, None
    try:
        score = _score(plan.target, recorder, output)
    except HookviewerError:
        raise
    except Exception as error:  # the target may be any function of the user's
        raise target_error(error) from None
    if not isinstance(score, Tensor) or score.numel() != 1:
        raise TargetError("The target must give one number; choose one class or a sum.")
    if not plan.needs_backward:
        return score.item(), None
    started = time.perf_counter()
    try:
        recorder.differentiate(score.reshape(()))
    except HookviewerError:  # an intervention that does not fit
        raise
    except Exception as error:  # autograd's, or that of a custom function's backward
        raise backward_error(error) from None
    return score.item(), time.perf_counter() - started


def _score(target: Target, recorder: Recorder, output: Any) -> Tensor:
    if not isinstance(target, LiveTarget):
        return target(output)
    live = recorder.live
    for path in target.nodes:
        if path not in live:
            raise TargetError(f"The target is about '{path}', which was not called in this run.")
    return target.score(live)


def _parameters(paths: Paths, taps: Iterable[Tap]) -> Mapping[Tap, Mapping[str, Tensor]]:
    """Return the parameters and buffers that are tapped, by tap and name."""
    found: dict[Tap, Mapping[str, Tensor]] = {}
    for tap in taps:
        module = paths.modules.get(tap.path)
        if module is not None:
            if tap.quantity.is_of_parameters:
                own = own_tensors(module)
                found[tap] = {name: own[name] for name in own if not is_uninitialised(own[name])}
        elif tap.quantity not in _INTO and (owner := paths.owner(tap.path)) is not None:
            tensor = own_tensors(paths.modules[owner[0]])[owner[1]]
            if not is_uninitialised(tensor):
                found[tap] = {owner[1]: tensor}  # a parameter's own value is its output
    return found


def _computed_parameters(paths: Paths, taps: Iterable[Tap]) -> Mapping[Tap, Mapping[str, Tensor]]:
    """Return what tapped modules will compute of their parameters, by tap and name."""
    return {
        tap: computed_tensors(paths.modules[tap.path])
        for tap in taps
        if tap.quantity is Quantity.PARAMETER and tap.path in paths.modules
    }


def _recorded(paths: Paths, plan: Plan, recorder: Recorder) -> Run:
    """Return the run as far as the recorder knows it."""
    collection = recorder.collection
    absences, taps = dict(collection.absences), recorder.sites.taps
    for tap in taps:
        if not collection.mentions(tap):
            if recorder.forward_has_ended or tap.quantity is Quantity.PARAMETER:
                was_called = recorder.sites.called(tap.path) > 0
                reason = explain(paths, plan, tap, was_called, recorder.fusing.has_inside)
            else:
                reason = STOPPED
            absences[tap, None, None] = reason
    return Run(
        taps=taps | {capture.tap for capture in collection.captures},
        leaves=recorder.output_leaves,
        captures=tuple(sorted(collection.captures, key=lambda capture: capture.call)),
        absences=absences,
        shapes=recorder.shapes,
        operations=recorder.operations,
        class_names=plan.class_names,
    )
