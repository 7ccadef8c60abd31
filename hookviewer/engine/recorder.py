"""The only module that registers hooks, and the one that removes them all."""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from hookviewer.engine.again import InputsWanted, Manner
from hookviewer.engine.backward import FullBackward, needs_full_backward, partial_backward
from hookviewer.engine.buffers import Buffers
from hookviewer.engine.call import copies_of, unnamed
from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.collection import Collection
from hookviewer.engine.fusing import Fusing
from hookviewer.engine.gradients import Gradients
from hookviewer.engine.graph import nodes_between
from hookviewer.engine.leaves import leaves, shape_of
from hookviewer.engine.modes import without
from hookviewer.engine.node import OperationRecord
from hookviewer.engine.open_calls import OpenCalls
from hookviewer.engine.operations import Operations
from hookviewer.engine.paths import Paths
from hookviewer.engine.plan import Inputs, Plan
from hookviewer.engine.recording import Recording
from hookviewer.engine.roots import Roots
from hookviewer.engine.saved import nothing_saved_until
from hookviewer.engine.scopes import Scopes
from hookviewer.engine.sites import Sites, Watch

_MANY = 0.3
"""The share of modules above which hooks that all share cost less than each module's own."""


class Recorder:
    """Hooks a model for the length of a ``with`` block and collects captures.

    Args:
        paths: The model.
        plan: What to do.
        token: By which another thread may stop the run.
        buffers: Memory for the captures.
        manner: How it is made.
    """

    def __init__(
        self,
        paths: Paths,
        plan: Plan,
        token: CancelToken | None,
        buffers: Buffers,
        manner: Manner,
    ) -> None:
        self.manner = manner
        self._paths, self._plan, self._token = paths, plan, token
        self._thread = threading.get_ident()
        self._stack = ExitStack()
        self._bulk: dict[nn.Module, Watch] = {}
        self.sites = Sites(paths, plan)
        self.collection = Collection(buffers, plan.byte_limit)
        self._gradients, self._roots = Gradients(self.collection), Roots(manner.plants)
        self.recording = Recording(self.collection, self._gradients, self._roots)
        self.open_calls = OpenCalls(self.recording.drop)
        if plan.may_stop_early and self.sites.first_calls_are_known:
            self.recording.awaited = self.sites.awaited
        self._scopes = Scopes(paths.by_module)
        self.fusing = Fusing(self._roots, plan.needs_backward)
        self._operations: Operations | None = None
        has_masks = self.sites.want_gradients_of_inputs and len(plan.inputs) > 1
        if plan.survey or self.sites.may_be_operations or has_masks:
            self._operations = Operations(
                self.sites, self._scopes, self.recording, self.fusing, token, plan.survey
            )
            self.fusing.mode = self._operations
        self.output_leaves: tuple[str, ...] = ()
        self.shapes: dict[str, tuple[tuple[int, ...], ...]] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._roots.remove)
            self.fusing.install(stack, self._paths.by_module)
            for module, watch in self.sites.modules.items():
                if self._may_share_hooks(module, watch):
                    self._bulk[module] = watch
                else:
                    self._hook(stack, module, watch)
            self._hook_all(stack)
            if self.sites.want_gradients_of_operations:
                self._hook_embeddings(stack)
            if self._operations is not None:
                stack.enter_context(self._operations)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self.fusing.mode = None  # each holds the other: captures would wait for the collector

    def _may_share_hooks(self, module: nn.Module, watch: Watch) -> bool:
        """Whether hooks that all modules share are enough, and cheaper than hooks of its own.

        They know no keywords before a call, and come before the hooks of a module itself.
        """
        are_many = len(self.sites.modules) > len(self._paths.by_module) * _MANY
        has_hooks = module._forward_hooks or module._forward_pre_hooks
        return are_many and not watch.takes_inputs and not has_hooks

    def _hook(self, stack: ExitStack, module: nn.Module, watch: Watch) -> None:
        begin = partial(self._on_begin, watch)
        stack.callback(module.register_forward_pre_hook(begin, with_kwargs=True).remove)
        stack.callback(module.register_forward_hook(self._on_end, with_kwargs=True).remove)

    def _hook_all(self, stack: ExitStack) -> None:
        """Register the hooks that all modules share."""
        if self._token is not None or self._operations is not None or self._bulk:
            stack.callback(register_module_forward_pre_hook(self._on_enter).remove)
        if self._plan.survey or self._bulk:
            handle = register_module_forward_hook(self._on_return, with_kwargs=True)
            # torch leaves this of a removed hook that knows keywords
            stack.callback(torch_module._global_forward_hooks_with_kwargs.pop, handle.id, None)
            stack.callback(handle.remove)
        if self._operations is not None:
            leave = register_module_forward_hook(self._on_leave, always_call=True)
            stack.callback(leave.remove)

    def _hook_embeddings(self, stack: ExitStack) -> None:
        """Let gradients begin at what frozen embeddings make of whole numbers."""
        for module in self._paths.by_module:
            if isinstance(module, nn.Embedding | nn.EmbeddingBag):
                hook = module.register_forward_hook(lambda *call: self._roots.plant(call[2]))
                stack.callback(hook.remove)

    def feed(self, inputs: Inputs, device: torch.device | None) -> Inputs:
        """Return copies of ``inputs`` on ``device``, able to receive gradients that are wanted."""
        arguments = copies_of(inputs, device)
        for name, value in arguments.items():
            watch = self.sites.of_input(name)
            if watch is not None:
                arguments[name] = self.recording.take_input(watch, value)
        args, kwargs = unnamed(arguments, inputs.kwargs)
        if self.sites.want_gradients_of_operations or self.manner.plants_inputs:
            args, kwargs = self.recording.planted(args, kwargs)
        return Inputs(*args, **kwargs)

    @property
    def forward_has_ended(self) -> bool:
        """Whether the forward came to its end."""
        return not self.recording.is_counting

    def call(self, inputs: Inputs) -> Any:
        """Call the model, a module or any other function, and return what it returned.

        Raises:
            Finished: Nothing is left to record.
        """
        watch = None if self._paths.modules else self.sites.of_root()
        args, kwargs = inputs.args, dict(inputs.kwargs)
        self.recording.check_awaited()
        if watch is not None:
            call, args, kwargs = self.recording.begin(watch, args, args, kwargs)
        with self._looking(), self._saving():
            output = self._paths.model(*args, **kwargs)
        return output if watch is None else self.recording.end(call, args, kwargs, output)

    @property
    def has_planted(self) -> bool:
        """Whether values without a graph were made roots of one."""
        return self._roots.any_planted

    @property
    def live(self) -> Mapping[str, tuple[Any, ...]]:
        """What each call of the nodes that the target needs handed on, by path."""
        return {path: tuple(values) for path, values in self.recording.live.items()}

    @property
    def operations(self) -> tuple[OperationRecord, ...]:
        """Every operation, where the plan is a survey."""
        return self._operations.records if self._operations is not None else ()

    def end_forward(self) -> None:
        """Record no further calls: those that come now are recomputation inside backward.

        Raises:
            InputsWanted: Gradients are wanted where only inputs with a graph make one.
        """
        if self._token is not None:
            self._token.check()  # a model may have caught what was raised to stop it
        self.recording.is_counting = False
        if self.recording.is_in_checkpoint and not self.manner.plants_inputs:
            raise InputsWanted

    def differentiate(self, score: Tensor) -> None:
        """Record the gradients of ``score``, touching no ``.grad``.

        Only what lies between the score and the recorded values is computed.
        """
        edges = self._gradients.edges()
        if not edges or not score.requires_grad:
            self._gradients.settle({}, self.fusing.until)
            return
        between = list(nodes_between(score, edges))
        with ExitStack() as hooks:
            for node, tell in self._gradients.ways(between):
                hooks.callback(node.register_hook(tell).remove)
            if self._token is not None:
                for node in between:
                    hooks.callback(node.register_prehook(self._check).remove)
            if needs_full_backward(between):
                full = FullBackward(score, edges, self._paths.parameters)
                for node, tell in full.arrivals():
                    hooks.callback(node.register_prehook(tell).remove)
                with self._looking():
                    arrived = full.run()
            else:
                with self._looking():
                    arrived = partial_backward(score, edges)
        self._gradients.settle(arrived, self.fusing.until)

    def _looking(self) -> AbstractContextManager[None]:
        return nullcontext() if self._operations is None else self._operations.looking()

    def _aside(self) -> AbstractContextManager[None]:
        return nullcontext() if self._operations is None else without(self._operations)

    def _saving(self) -> AbstractContextManager[None]:
        if self.manner.saves_all or not self._plan.needs_backward:
            return nullcontext()
        return nothing_saved_until(lambda: self._gradients.has_begun)

    def _check(self, *_: object) -> None:
        if self._token is not None:
            self._token.check()

    def _on_enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if threading.get_ident() != self._thread:  # this hook sees every module of the process
            return
        self._check()
        if self._operations is not None:
            self._scopes.enter(module)
        watch = self._bulk.get(module)
        if watch is not None:
            call, _, _ = self.recording.begin(watch, args, args, {})
            self.open_calls.begin(module, call)

    def _on_leave(self, module: nn.Module, _args: object, _output: object) -> None:
        if threading.get_ident() == self._thread:
            self._scopes.leave(module)

    def _on_return(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        if threading.get_ident() != self._thread:
            return None
        if module in self._bulk:
            output = self._ended(module, args, args, kwargs, output)
        if self._plan.survey and self.recording.is_counting:
            with self._aside():
                self._survey(module, output)
        return output

    def _on_begin(
        self, watch: Watch, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        with self._aside():
            call, args, kwargs = self.recording.begin(watch, kwargs, args, kwargs)
        self.open_calls.begin(module, call)
        return args, kwargs

    def _on_end(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        return self._ended(module, kwargs, args, kwargs, output)

    def _ended(
        self,
        module: nn.Module,
        key: object,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
    ) -> Any:
        call = self.open_calls.end(module, key)
        with self._aside():
            return self.recording.end(call, args, kwargs, output)

    def _survey(self, module: nn.Module, output: Any) -> None:
        shape = next(map(shape_of, leaves(output).values()), ())
        for path in self._paths.by_module.get(module, ()):
            self.shapes[path] = (*self.shapes.get(path, ()), shape)
