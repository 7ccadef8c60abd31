"""See the operations of a model: the calls of torch functions that its modules make."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode

from hookviewer.engine.attention import attention_weights, is_attention
from hookviewer.engine.call import named
from hookviewer.engine.callers import is_in_autograd_function, is_in_transform, source_of
from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.function_names import QUERIES, name_of
from hookviewer.engine.fusing import Fusing
from hookviewer.engine.graph import is_strided, version_of
from hookviewer.engine.leaves import leaves, shape_of
from hookviewer.engine.node import OperationRecord
from hookviewer.engine.plan import Quantity
from hookviewer.engine.recording import Recording
from hookviewer.engine.scopes import Scope, Scopes
from hookviewer.engine.sites import Sites, Watch

TorchFunction = Callable[..., Any]


@dataclass(slots=True, eq=False)
class _Seen:
    """An operation that a survey has come across."""

    source: str
    shapes: list[tuple[int, ...]] = field(default_factory=list)


class Operations(TorchFunctionMode):
    """Lets a recording take part in every operation that is called in a ``looking`` block.

    Args:
        sites: What is wanted.
        scopes: Which module is running.
        recording: What takes part.
        fusing: What keeps attention as it is.
        token: Looked at before each operation.
        survey: Whether to note every operation, also where nothing is wanted.
    """

    def __init__(
        self,
        sites: Sites,
        scopes: Scopes,
        recording: Recording,
        fusing: Fusing,
        token: CancelToken | None,
        survey: bool,
    ) -> None:
        super().__init__()
        self._sites, self._scopes, self._recording = sites, scopes, recording
        self._fusing, self._token, self._survey = fusing, token, survey
        self._is_looking = False
        self._seen: dict[str, _Seen] = {}

    @property
    def records(self) -> tuple[OperationRecord, ...]:
        """Every operation that a survey has seen, in the order of first calls."""
        return tuple(
            OperationRecord(path, seen.source, tuple(seen.shapes))
            for path, seen in self._seen.items()
        )

    @property
    def _is_internal(self) -> bool:
        """Whether a transform of torch.func, or an autograd function, is at work."""
        if is_in_transform():
            return True
        if torch.is_grad_enabled():
            return False
        return not self._recording.is_counting or is_in_autograd_function(sys._getframe())

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Take part in what is called in this block: not all calls are the model's."""
        self._is_looking = True
        try:
            yield
        finally:
            self._is_looking = False

    def __torch_function__(
        self,
        function: TorchFunction,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call ``function``, and record it if that is wanted."""
        kwargs = kwargs or {}
        scope = self._scopes.innermost
        name = name_of(function)
        if scope.is_opaque or name in QUERIES or not self._is_looking or self._is_internal:
            return function(*args, **kwargs)
        if self._token is not None:
            self._token.check()
        if is_attention(function):
            args, kwargs = self._fusing.without_masks(function, args, kwargs)
        watch = self._watch(scope, name)
        if watch is not None and _takes_tensors(args, kwargs):
            result = self._watched(watch, function, args, kwargs)
        else:
            result = function(*args, **kwargs)
        if is_attention(function) and self._recording.is_counting:
            inside = self._sites.modules.get(scope.module) if scope.module is not None else None
            self._take_attention([watch, inside], function, args, kwargs)
        if self._survey and self._recording.is_counting:
            self._note(scope, name, args, kwargs, result)
        return result

    def _watch(self, scope: Scope, name: str) -> Watch | None:
        if name not in scope.watches:
            scope.watches[name] = self._sites.of_operation(scope.paths, name)
        return scope.watches[name]

    def _watched(
        self, watch: Watch, function: TorchFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        call, args, kwargs = self._recording.begin(watch, kwargs, args, kwargs)
        given = [*leaves(named(args, kwargs)).values()]
        versions = [*map(version_of, given)]
        try:
            with _kept_for_backward(given if watch.interventions else []):
                result = function(*args, **kwargs)
        except BaseException:
            self._recording.drop(call)
            raise
        written = _written(given, versions)
        output = _only(written) if result is None else result
        if not leaves(output):
            self._recording.withdraw(call)
            return result
        handed_on = self._recording.end(call, args, kwargs, output)
        if watch.interventions and written:
            return _written_back(written, result, handed_on)
        return None if result is None else handed_on

    def _take_attention(
        self,
        watches: Iterable[Watch | None],
        function: TorchFunction,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Record the weights of an attention, as those of the operation and of its module."""
        sites = [
            site
            for watch in watches
            if watch is not None
            for site in watch.sites
            if Quantity.ATTENTION in site.taps
        ]
        weights = attention_weights(function, args, kwargs) if sites else None
        if weights is not None:
            self._recording.take_attention(sites, weights)

    def _note(
        self,
        scope: Scope,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> None:
        returned = leaves(result) or (leaves(args) if result is None else {})
        if not returned or not _takes_tensors(args, kwargs):
            return
        shape = shape_of(next(iter(returned.values())))
        for path in scope.paths:
            path = f"{path}/{name}"
            if path not in self._seen:
                self._seen[path] = _Seen(source_of(sys._getframe()))
            self._seen[path].shapes.append(shape)


def _takes_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if any(isinstance(value, Tensor) for value in args):
        return True
    return bool(leaves(named(args, kwargs)))


def _written(given: list[Tensor], versions: list[int]) -> list[Tensor]:
    """Return those that are no longer at these versions; of views of one memory the first."""
    written: dict[int, Tensor] = {}
    for tensor, version in zip(given, versions, strict=True):
        if version_of(tensor) != version:
            written.setdefault(id(tensor._base if tensor._is_view() else tensor), tensor)
    return list(written.values())


def _only(tensors: list[Tensor]) -> Any:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _written_back(written: list[Tensor], result: Any, handed_on: Any) -> Any:
    """Put what an intervention made of tensors that were changed in place into these tensors.

    The model may go on with a tensor that it gave, not with what the operation returned.
    """
    old = written if result is None else [*leaves(result).values()]
    if not all(any(before is tensor for tensor in written) for before in old):
        return handed_on
    for before, after in zip(old, leaves(handed_on).values(), strict=True):
        if before is not after:
            before.copy_(after)
    return result


@contextmanager
def _kept_for_backward(given: list[Tensor]) -> Iterator[None]:
    """Let autograd keep copies of ``given``, which may be written to once more."""
    if not given:
        yield
        return
    memories = {tensor.untyped_storage().data_ptr() for tensor in given if is_strided(tensor)}

    def packed(tensor: Tensor) -> Tensor:
        is_given = is_strided(tensor) and tensor.untyped_storage().data_ptr() in memories
        kept = tensor.detach()  # with its graph, the output of a node would hold that node
        return kept.clone() if is_given else kept

    with saved_tensors_hooks(packed, lambda tensor: tensor):
        yield
