"""Read the ``?key=value&key=value`` behind a spec."""

import ast
from typing import Any

from hookviewer.engine.errors import HookviewerError


def parse(query: str) -> dict[str, Any]:
    """Return the arguments in ``query``, which comes without its question mark.

    A value is a Python literal where it reads as one, else the text itself.

    Raises:
        HookviewerError: A part is no ``key=value``, or a key comes twice.
    """
    arguments: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise HookviewerError(f"'{part}' is no argument; write ?key=value&key=value.")
        if key in arguments:
            raise HookviewerError(f"The argument '{key}' is given twice.")
        arguments[key] = _value(value)
    return arguments


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # all it may raise
        return text
