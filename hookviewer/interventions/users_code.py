"""Check what the user's own code makes of a tensor, and turn what it raises into a sentence."""

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.fit import checked

if TYPE_CHECKING:
    from torch import Tensor


def guarded(code: Callable[["Tensor"], Any], who: str) -> Callable[["Tensor"], "Tensor"]:
    """Return ``code`` as an intervention's function, safe to use in a run.

    It is given a copy: what it writes there reaches nothing else in the model.

    Args:
        code: From a tensor to one of the same shape, dtype and device.
        who: The code, as a sentence begins: "The expression '2 * x'".
    """

    def guarded_code(value: "Tensor") -> "Tensor":
        try:
            result = code(value.clone())
        except HookviewerError:
            raise
        except Exception as error:  # whatever the user's code raises, the user reads who raised
            failure = HookviewerError(f"{who} could not be computed: {_said(error)}")
            failure.details = "".join(traceback.format_exception(error))
            raise failure from None
        return checked(result, value, who)

    return guarded_code


def _said(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
