"""Let tensors without a graph receive gradients for the length of a run."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.autograd.graph import Node

from hookviewer.engine.graph import is_strided, leaves_behind, reads_as_stored
from hookviewer.engine.leaves import map_leaves


class Roots:
    """The tensors that were made roots of the graph, to be put back as they were.

    Args:
        plants: Whether any are to be made.
    """

    def __init__(self, plants: bool = True) -> None:
        self._plants = plants
        self._rooted: list[Tensor] = []
        self._anchors: dict[int, Tensor] = {}

    def plant(self, value: Any) -> Any:
        """Return ``value`` with every leaf able to receive gradients from here on, if it can.

        A leaf stays the same object. Only a view comes back as another view of the same memory:
        autograd would refuse some views of a memory whose root is new.
        """
        may_plant = self._plants and torch.is_grad_enabled()
        return map_leaves(value, self._plant) if may_plant else value

    def remove(self) -> None:
        """Make the roots tensors without a graph again."""
        while self._rooted:
            self._rooted.pop().detach_()

    @property
    def any_planted(self) -> bool:
        """Whether anything was made a root."""
        return bool(self._anchors)

    def are_all_behind(self, tensor: Tensor) -> bool:
        """Whether ``tensor`` requires a gradient, and only because of roots planted here."""
        if tensor.grad_fn is None:
            return False
        return all(id(leaf) in self._anchors for leaf in leaves_behind(tensor))

    def _plant(self, _leaf: str, tensor: Tensor) -> Tensor:
        if tensor.requires_grad or not is_differentiable(tensor):
            return tensor
        memory = tensor._base if tensor._is_view() else tensor
        if memory is None or not _can_be_root(memory) or not reads_as_stored(tensor, memory):
            return tensor
        if not memory.requires_grad:
            self._root(memory)
        if memory is tensor:
            return tensor
        return memory.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def _root(self, tensor: Tensor) -> None:
        anchor = torch.zeros((), dtype=tensor.dtype, device=tensor.device, requires_grad=True)
        with _unsafe_preserve_version_counter(tensor):  # its values do not change
            _Root.apply(tensor, anchor)
        self._anchors[id(anchor)] = anchor
        self._rooted.append(tensor)


def is_root(node: Node) -> bool:
    """Whether ``node`` is behind a tensor that was made a root here."""
    return node.name() == f"{_Root.__name__}Backward"


def is_differentiable(tensor: Tensor) -> bool:
    """Whether values of this dtype can have gradients."""
    return tensor.is_floating_point() or tensor.is_complex()


def _can_be_root(tensor: Tensor) -> bool:
    return (
        is_strided(tensor)
        and not tensor.is_inference()
        and not isinstance(tensor, nn.Parameter)  # a frozen one stays one
    )


class _Root(torch.autograd.Function):
    """The identity on its first argument.

    Marking it dirty, as an in-place operation would, makes autograd put the graph behind the
    tensor itself; in-place operations may follow, which a fresh leaf would refuse.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, _anchor: Tensor) -> Tensor:
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(_ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None
