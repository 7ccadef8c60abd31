"""Find the tensor that a target on a node's live value is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import TargetError
from hookviewer.engine.fit import THIS_OUTPUT, check_counted, check_range
from hookviewer.targets.output import check_sample, of_sample, only_leaf

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class LiveValue:
    """One leaf of what one call of a node hands on, in one sample or in all.

    Attributes:
        path: That of a module, an operation or an input.
        call: From 0.
        leaf: Which tensor of several; None for the only one.
        sample: From 0, along axis 0; None for all.

    Raises:
        TargetError: ``call`` or ``sample`` is negative.
    """

    path: str
    call: int
    leaf: str | None
    sample: int | None

    def __post_init__(self) -> None:
        check_counted([self.call], "Calls", TargetError)
        check_sample(self.sample)

    @property
    def where(self) -> str:
        """Whose value it is, as a sentence begins."""
        return f"The output of '{self.path}'" if self.path else THIS_OUTPUT

    def of(self, values: Mapping[str, tuple[Any, ...]]) -> "Tensor":
        """Return it, (sample, ...), from what each call of each node handed on.

        Raises:
            TargetError: There is no such call, leaf or sample; those that are there are named.
        """
        calls = values.get(self.path, ())
        if not calls:
            raise TargetError(f"'{self.path}' was not called, so it has nothing to differentiate.")
        check_range(self.call, len(calls), "calls", f"'{self.path}'", TargetError)
        tensor = only_leaf(calls[self.call], self.leaf, self.where)
        return of_sample(tensor, self.sample, where=self.where)
