"""Make a run anew, in a manner that the model can stand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run is made; the first manner is the cheapest, and shows the most.

    Attributes:
        saves_all: Whether the whole graph keeps what a backward would need, not only the part that
            gradients are wanted of.
        plants: Whether values without a graph are made roots of one where gradients are wanted.
        plants_inputs: Whether the inputs are, whatever is wanted.
    """

    saves_all: bool = False
    plants: bool = True
    plants_inputs: bool = False


class Again(BaseException):
    """The run must be made anew in another manner.

    Not an ``Exception``, so that a model that catches its own errors lets it pass.
    """

    changes: Mapping[str, bool] = MappingProxyType({})
    """What the other manner differs in."""

    def instead(self, manner: Manner) -> Manner:
        """Return the manner to take in place of ``manner``."""
        return replace(manner, **self.changes)


class NothingSaved(Again):
    """Values were needed that were not kept."""

    changes = MappingProxyType({"saves_all": True})


class RootRefused(Again):
    """The model does what only values without a graph allow, as ``x.numpy()``."""

    changes = MappingProxyType({"plants": False})


class InputsWanted(Again):
    """A reentrant checkpoint makes a graph only for inputs that want gradients."""

    changes = MappingProxyType({"plants_inputs": True})
