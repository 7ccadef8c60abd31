"""Errors a user can act on; everything else is a bug and is left to crash."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookviewer.engine.run import Run


class HookviewerError(Exception):
    """Base of all errors whose text is meant for the user.

    Attributes:
        details: More for those who want to look deeper, as a traceback; may be empty.
        run: What was captured before, where a run had begun.
    """

    details: str = ""
    run: "Run | None" = None


class UnknownPathError(HookviewerError, KeyError):
    """A path names no node of this model, or none that the run recorded."""

    def __init__(self, path: str, known: Iterable[str], where: str = "This model") -> None:
        near = get_close_matches(path, [name for name in known if name], n=3, cutoff=0.5)
        hint = f" Near it: {', '.join(near)}." if near else ""
        super().__init__(f"{where} has no node '{path}'.{hint}")

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would put quotes around the sentence


class TargetError(HookviewerError):
    """The target cannot be computed from what the model returned."""


class TooLargeError(HookviewerError):
    """What is to be captured would take more memory than it may."""

    def __init__(self, path: str, byte_limit: int) -> None:
        super().__init__(
            f"The captures of this run would take more than {byte_limit / 2**30:.3g} GiB (reached "
            f"at '{path}'). Tap fewer nodes or quantities, or feed a smaller input."
        )


class CannotRunError(HookviewerError):
    """The model cannot be run at all, as it is."""


class ForwardError(HookviewerError):
    """The model's own code raised; ``path`` is the innermost module, None outside of any."""

    def __init__(self, sentence: str, path: str | None, details: str) -> None:
        super().__init__(sentence)
        self.path, self.details = path, details


class BackwardError(HookviewerError):
    """Autograd could not differentiate what the model computed."""
