"""The plain tensors in a file that tensors of all kinds are made of."""

from collections.abc import Callable

from torch import Tensor

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.tensor_kinds import KINDS, Recipe, is_plain


class TensorParts:
    """Collects the plain tensors that a file has to hold, each one once.

    Attributes:
        plain: These by name: contiguous, on the CPU, no two in the same memory.
    """

    def __init__(self) -> None:
        self.plain: dict[str, Tensor] = {}
        self._known: dict[int, tuple[Tensor, Recipe]] = {}
        self._memories: set[int] = set()

    def add(self, tensor: Tensor, name: str) -> Recipe:
        """Take ``tensor`` in under ``name``, or a like one; return how to make it again.

        Raises:
            HookviewerError: It is of a kind that cannot be taken apart.
        """
        if id(tensor) not in self._known:
            recipe = self._add_new(tensor, name)
            self._known[id(tensor)] = tensor, recipe  # held, so that its id stays its own
        return self._known[id(tensor)][1]

    def _add_new(self, tensor: Tensor, name: str) -> Recipe:
        if not tensor.is_nested and _has_own_code(tensor):
            raise _no_kind_for(tensor, name)
        if is_plain(tensor):
            return self._keep(tensor, name)
        for kind_name, kind in KINDS.items():
            if kind.fits(tensor):
                parts = kind.apart(tensor, lambda part, end: self._add_new(part, f"{name}.{end}"))
                return {"kind": kind_name, **parts}
        raise _no_kind_for(tensor, name)

    def _keep(self, tensor: Tensor, wanted: str) -> str:
        own = tensor.cpu().resolve_neg().contiguous()
        if own.untyped_storage().data_ptr() in self._memories:
            own = own.clone()
        self._memories.add(own.untyped_storage().data_ptr())
        name, number = wanted, 1
        while name in self.plain:
            number += 1
            name = f"{wanted} ({number})"
        self.plain[name] = own
        return name


class TensorMaker:
    """Makes tensors from their recipes; each plain one is read once.

    Args:
        read: Returns the plain tensor of a name.
    """

    def __init__(self, read: Callable[[str], Tensor]) -> None:
        self._read = read
        self._known: dict[str, Tensor] = {}

    def make(self, recipe: Recipe) -> Tensor:
        """Return the tensor that ``recipe`` tells of. What is no recipe raises anything."""
        if not isinstance(recipe, str):
            return KINDS[recipe["kind"]].together(recipe, self.make)
        if recipe not in self._known:
            self._known[recipe] = self._read(recipe)
        return self._known[recipe]


def _has_own_code(tensor: Tensor) -> bool:
    """Whether its class computes otherwise than a tensor does, so that its memory says nothing."""
    return type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__


def _no_kind_for(tensor: Tensor, name: str) -> HookviewerError:
    kind = f"{type(tensor).__name__}, {tensor.dtype}, {tensor.layout}".replace("torch.", "")
    return HookviewerError(f"The run was not saved: no file can hold '{name}' ({kind}).")
