"""Copy tensors to the host, into memory of earlier copies where nobody holds it any more."""

import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from hookviewer.engine.graph import is_strided

_Kind = tuple[torch.dtype, torch.Size, tuple[int, ...]]
_GENERATIONS = 2
"""For how many runs memory is kept: one run may still be on show while the next is recorded."""


@dataclass(slots=True, eq=False)
class _Memory:
    tensor: Tensor
    run: int

    @property
    def is_free(self) -> bool:
        """Whether nobody else holds it."""
        return _holds(self.tensor) == _own_holds()


def _holds(tensor: Tensor) -> tuple[int, int]:
    """Return how often the memory of ``tensor`` is held, by tensors and by Python."""
    storage = tensor.untyped_storage()
    return torch._C._storage_Use_Count(storage._cdata), sys.getrefcount(storage)


@cache
def _own_holds() -> tuple[int, int]:
    """Return how often memory is held that one tensor has to itself."""
    return _holds(torch.empty(1))


class Buffers:
    """The memory of copies, kept from run to run.

    Fresh memory is mapped page by page, which takes longer than copying into it. A copy may be held
    as long as anyone likes: its memory is taken again only when all that shares it, views and
    arrays included, is gone.
    """

    def __init__(self) -> None:
        self._memories: dict[_Kind, list[_Memory]] = defaultdict(list)
        self._run = 0

    def begin_run(self) -> None:
        """Forget memory that no recent run has used."""
        self._run += 1
        for kind, memories in list(self._memories.items()):
            recent = [each for each in memories if self._run - each.run <= _GENERATIONS]
            if recent:
                self._memories[kind] = recent
            else:
                del self._memories[kind]

    def copy_of(self, tensor: Tensor) -> Tensor:
        """Return the values of ``tensor`` on the host, in its own dtype and strides."""
        if tensor.is_mkldnn:
            return tensor.detach().to_dense()
        if not _is_ordinary(tensor):
            return tensor.detach().to("cpu", copy=True)
        memories = self._memories[tensor.dtype, tensor.shape, tensor.stride()]
        for memory in memories:
            if memory.run != self._run and memory.is_free:
                memory.run = self._run
                return memory.tensor.detach().copy_(tensor.detach())
        copied = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        memories.append(_Memory(copied.detach(), self._run))
        return copied.copy_(tensor.detach())


def _is_ordinary(tensor: Tensor) -> bool:
    """Whether ``tensor`` is one of the host's whose elements fill one memory without overlap."""
    if type(tensor) not in (Tensor, nn.Parameter) or tensor.device.type != "cpu":
        return False
    if not is_strided(tensor) or tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
        return False
    return tensor.is_contiguous() or (
        tensor.ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    )
