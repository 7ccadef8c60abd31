"""Make a run anew, in a manner that the model can stand."""

from dataclasses import dataclass, replace


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

    def instead(self, manner: Manner) -> Manner:
        """Return the manner to take in place of ``manner``."""
        raise NotImplementedError


class NothingSaved(Again):
    """Values were needed that were not kept."""

    def instead(self, manner: Manner) -> Manner:
        """Return ``manner``, but keeping everything."""
        return replace(manner, saves_all=True)


class RootRefused(Again):
    """The model does what only values without a graph allow, as ``x.numpy()``."""

    def instead(self, manner: Manner) -> Manner:
        """Return ``manner``, but leaving values without a graph as they are."""
        return replace(manner, plants=False)


class InputsWanted(Again):
    """A reentrant checkpoint makes a graph only for inputs that want gradients."""

    def instead(self, manner: Manner) -> Manner:
        """Return ``manner``, but with inputs as roots."""
        return replace(manner, plants_inputs=True)
