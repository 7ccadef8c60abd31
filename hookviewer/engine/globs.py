"""Match paths against what the user asked for: a path, a glob, or everything."""

import re
from functools import lru_cache
from typing import Final

from hookviewer.engine.node import NodeKind

ALL: Final = "**"
"""Asks for every module, operation, parameter and input."""

_ALL_KINDS = frozenset(
    {NodeKind.MODULE, NodeKind.OPERATION, NodeKind.PARAMETER, NodeKind.INPUT},
)
_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*([/:])")


def is_glob(path: str) -> bool:
    """Whether ``path`` stands for several nodes: only ``*`` and ``?`` make it so."""
    return "*" in path or "?" in path


def matches(glob: str, path: str, kind: NodeKind) -> bool:
    """Whether the node of ``kind`` at ``path`` is one of those that ``glob`` stands for.

    ``*`` stands for any text, dots and slashes included, ``?`` for one character. A glob with
    neither ``/`` nor ``:`` means modules only.
    """
    if glob == ALL:
        return kind in _ALL_KINDS
    return kind is _kind_meant(glob) and _compiled(glob).fullmatch(path) is not None


def may_match_operations(path: str) -> bool:
    """Whether ``path``, exact or a glob, can stand for operations."""
    return path == ALL or _kind_meant(path) is NodeKind.OPERATION


@lru_cache(maxsize=1024)
def _kind_meant(path: str) -> NodeKind:
    found = _SEPARATOR.search(path)
    if found is None:
        return NodeKind.MODULE
    return NodeKind.OPERATION if found[1] == "/" else NodeKind.INPUT


@lru_cache(maxsize=1024)
def _compiled(glob: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(part, re.escape(part)) for part in glob), re.DOTALL)
