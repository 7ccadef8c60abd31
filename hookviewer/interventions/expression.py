"""An expression that the user types as an intervention."""

import ast
import builtins
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.plan import Intervention
from hookviewer.extension import interventions
from hookviewer.interventions.users_code import guarded

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("expression")
def expression(forward: str = "", backward: str = "") -> Intervention:
    """Change values and gradients by Python expressions; an empty one leaves them alone.

    They are run as they stand, with all that Python can do: whoever types one agrees to that, so
    never take one from a file without asking.

    Args:
        forward: Of ``x``, a copy of the output, and ``torch``: ``2 * x.relu()``.
        backward: Of ``g``, a copy of the gradient, and ``torch``: ``g.clamp(-1, 1)``.

    Raises:
        HookviewerError: One is no Python expression or uses an unknown name. In the run: it
            raises, or gives something else than a tensor of the same shape, dtype and device.
    """
    return Intervention(_change(forward.strip(), "x"), _change(backward.strip(), "g"))


def _change(text: str, variable: str) -> "Callable[[Tensor], Tensor] | None":
    """Return what ``text`` makes of a tensor called ``variable``; None if it is empty."""
    if not text:
        return None
    code = _compiled(text, variable)

    def evaluate(value: "Tensor") -> Any:
        import torch  # late: the window is up before torch is loaded

        return eval(code, {"torch": torch, variable: value})

    return guarded(evaluate, f"The expression '{text}'")


def _compiled(text: str, variable: str) -> CodeType:
    try:
        tree = ast.parse(text, mode="eval")
        code = compile(tree, "<expression>", "eval")
    except (SyntaxError, ValueError) as error:  # ValueError: a null character in Python < 3.11.4
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise HookviewerError(f"The expression '{text}' is no Python: {reason}.") from None
    for name in _free_names(tree):
        if name not in {variable, "torch", *dir(builtins)}:
            raise HookviewerError(
                f"The expression '{text}' uses '{name}'; what it can use is {variable} and torch."
            )
    return code


def _free_names(tree: ast.Expression) -> set[str]:
    """Return the names that ``tree`` reads and does not bind itself, as a comprehension does."""
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in names} - bound
