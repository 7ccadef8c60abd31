"""What the user wants the gradients of, as plain data."""

from dataclasses import dataclass
from enum import StrEnum

from hookviewer.engine.plan import Target
from hookviewer.targets import class_score, cross_entropy, top_class, whole


class TargetKind(StrEnum):
    """The targets that the chooser offers."""

    TOP_CLASS = "top class"
    CLASS = "class"
    LOSS = "cross entropy"
    WHOLE = "whole output"


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """A target by name; ``index`` is the class, or the label of the loss."""

    kind: TargetKind = TargetKind.TOP_CLASS
    index: int = 0

    @classmethod
    def of_class(cls, index: int) -> "TargetChoice":
        """Choose the score of one class."""
        return cls(TargetKind.CLASS, index)

    @classmethod
    def loss(cls, label: int) -> "TargetChoice":
        """Choose the cross entropy against a label."""
        return cls(TargetKind.LOSS, label)

    def resolve(self, leaf: str | None) -> Target:
        """Return what a plan needs; ``leaf`` is the tensor of the output that it is about."""
        if self.kind is TargetKind.CLASS:
            return class_score(self.index, leaf)
        if self.kind is TargetKind.LOSS:
            return cross_entropy(self.index, leaf)
        return top_class(leaf) if self.kind is TargetKind.TOP_CLASS else whole(leaf)
