"""A copy of a model that computes nothing in place, and its gradients by torch's own hooks."""

import copy
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .subjects import tensors_in


class OutOfPlace(TorchFunctionMode):
    """Computes in a copy where a model would write into what a module took or gave.

    ``+=`` is ``add_`` here. Where a model counts on the writing itself, as ``x.add_(y)`` alone on a
    line does, its output would be another one; torch refuses what is overlooked.
    """

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("inplace"):
            kwargs["inplace"] = False
        name = getattr(function, "__name__", "")
        if name.endswith("_") and not name.endswith("__") and _is_hooked(args[0]):
            args = (args[0].clone(), *args[1:])  # with its strides, on which bits may depend
        return function(*args, **kwargs)


def _is_hooked(value):
    return isinstance(value, Tensor) and "BackwardHook" in type(value.grad_fn).__name__


@dataclass(slots=True, eq=False)
class Call:
    """What one call of a module took, gave and passed back, by leaf.

    Attributes:
        given: Copies of what went in.
        returned: Copies of what came out.
        through: The gradients that flow through this call to what went in, by tensor hooks.
        arrived: The total derivatives of what came out, by tensor hooks.
        graph: The leaves of either that can have gradients.
        full: What the full backward hook was given, if torch defines one here and it was called.
        goes_on: Whether the module has others that may compute with what it returns.
    """

    given: dict = field(default_factory=dict)
    returned: dict = field(default_factory=dict)
    through: dict = field(default_factory=dict)
    arrived: dict = field(default_factory=dict)
    graph: tuple = field(default_factory=lambda: (set(), set()))
    full: tuple | None = None
    goes_on: bool = False

    def gradient(self, side, leaf):
        """Return a gradient or None, and whether torch's full backward hook gave it.

        Args:
            side: 0 for what went in, 1 for what came out.
            leaf: Which tensor.
        """
        by_tensor_hook = (self.through, self.arrived)[side].get(leaf)
        if self.full is None:
            return by_tensor_hook, False
        by_full_hook = self.full[side][int(leaf)]
        if by_tensor_hook is None:  # a full hook makes up zeros for what has no path
            assert by_full_hook is None or not by_full_hook.any()
            return None, False
        if by_full_hook is not None and torch.allclose(by_full_hook, by_tensor_hook, rtol=1e-5):
            return by_full_hook, True
        # Of what a module returns, a full hook leaves out what flows back from where the module
        # itself went on with the same tensor. That belongs to the total derivative.
        assert self.goes_on
        assert side == 1
        return by_tensor_hook, False

    def absence(self, side, leaf):
        """Return the name of what is in the place of a gradient that is None."""
        tensor = (self.given, self.returned)[side][leaf]
        if not _is_real(tensor):
            return f"not differentiable ({str(tensor.dtype).removeprefix('torch.')})"
        return "no path to the target" if leaf in self.graph[side] else "computed without gradient"


class Twin:
    """A model's values and gradients, computed by a copy of it in which hooks are harmless.

    Torch defines a full backward hook for modules that take and give nothing but tensors, or tuples
    of these, by position. There it is the reference. What it cannot know, keywords and tensors
    inside lists and dictionaries, comes from tensor hooks: what goes in is a view made for this one
    call, and what comes out is no view and is changed by nobody.
    """

    def __init__(self, model):
        self.model = copy.deepcopy(model)
        for module in self.model.modules():
            if hasattr(module, "inplace"):
                module.inplace = False
        self.calls = defaultdict(list)
        self._open = defaultdict(list)

    def run(self, args, kwargs, target):
        """Compute forward and backward once and return the output."""
        modules = set(self.model.modules())
        for module in self._with_full_hooks(args, kwargs):
            self._await_full(module, 0)
        full = {module for module in modules if module._backward_hooks}
        for module in modules:
            module.register_forward_pre_hook(self._on_begin, with_kwargs=True)
            module.register_forward_hook(partial(self._on_end, module in full))
        for parameter in self.model.parameters():  # its gradient is not wanted; memory is
            parameter.register_post_accumulate_grad_hook(_forget)
        with OutOfPlace():
            output = self.model(*args, **kwargs)
        target(output).backward()
        return output

    def _with_full_hooks(self, args, kwargs):
        """Return the modules of which every call takes and gives tensors by position only."""
        plain, other = set(), set()

        def look(module, args, kwargs, output):
            given = [*args, *kwargs.values()]
            returned = output if isinstance(output, tuple) else (output,)
            distinct = len({id(part) for part in given if isinstance(part, Tensor)})
            flat = all(isinstance(part, Tensor) for part in (*args, *returned))
            usual = flat and not tensors_in(kwargs) and distinct == len(args) > 0
            (plain if usual else other).add(module)

        handles = [
            module.register_forward_hook(look, with_kwargs=True) for module in self.model.modules()
        ]
        with torch.no_grad(), OutOfPlace():
            self.model(*args, **kwargs)
        for handle in handles:
            handle.remove()
        return plain - other

    def _await_full(self, module, number):
        """Let the call with this number, which has not begun, tell its own gradients."""
        module._backward_hooks.clear()

        def note(_module, through, arrived):
            self.calls[module][number].full = through, arrived

        module.register_full_backward_hook(note)

    def _on_begin(self, module, args, kwargs):
        call = Call(goes_on=any(module.children()))
        self.calls[module].append(call)
        self._open[module].append(call)
        given = tensors_in(args) | tensors_in(kwargs)
        bare = not any(tensor.requires_grad for tensor in given.values())
        by_position = any(_is_real(tensor) for tensor in tensors_in(args).values())
        views = {}

        def enter(tensor, plant):
            if id(tensor) not in views:
                inside = _planted(tensor) if plant else tensor
                alias = torch.ops.aten.alias  # unlike a view it keeps the strides of axes of one
                views[id(tensor)] = alias(inside) if inside.requires_grad else inside
            return views[id(tensor)]

        args = _mapped(args, lambda tensor: enter(tensor, bare))
        kwargs = _mapped(kwargs, lambda tensor: enter(tensor, bare and not by_position))
        for leaf, tensor in (tensors_in(args) | tensors_in(kwargs)).items():
            call.given[leaf] = tensor.detach().clone()
            _await(tensor, leaf, call.graph[0], call.through)
        return args, kwargs

    def _on_end(self, full, module, _args, output):
        call = self._open[module].pop()
        if full:
            self._await_full(module, len(self.calls[module]))
        if not call.graph[0]:
            output = _mapped(output, _planted)
        for leaf, tensor in tensors_in(output).items():
            call.returned[leaf] = tensor.detach().clone()
            _await(tensor, leaf, call.graph[1], call.arrived)
        return output


def _await(tensor, leaf, graph, gradients):
    """Note the gradient of ``tensor`` when it comes."""

    def note(gradient):
        if gradient is not None:
            gradients[leaf] = gradient

    if tensor.requires_grad:
        graph.add(leaf)
        tensor.register_hook(note)


def _planted(tensor):
    wanted = _is_real(tensor) and not tensor.requires_grad
    return tensor.detach().requires_grad_() if wanted else tensor


def _forget(parameter):
    parameter.grad = None


def _is_real(tensor):
    return tensor.is_floating_point()


def _mapped(value, change):
    """Return ``value`` with every tensor inside it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return type(value)((key, _mapped(part, change)) for key, part in value.items())
    if isinstance(value, tuple | list):
        return type(value)(_mapped(part, change) for part in value)
    return value
