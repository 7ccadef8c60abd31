"""A Node: a place in a model where a tensor can be recorded, as plain data."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class NodeKind(StrEnum):
    """What a node is."""

    MODULE = "module"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    INPUT = "input"
    OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class Node:
    """One module, parameter, buffer or input of a model.

    Attributes:
        path: Its name everywhere in hookviewer, as ``layer1.0.conv1``; ``""`` is the root.
        name: The last part of the path; the class name for the root.
        kind: What it is.
        type_name: The class of a module, the dtype of a tensor.
        parameter_count: Numbers in this node's parameters and in all below, each counted once.
        shape: The shape of a parameter, buffer or input; None for a module or where there is none.
        is_container: Whether it only holds modules and is never called, as ``ModuleList``.
        children: The nodes below, in the order of the model.
    """

    path: str
    name: str
    kind: NodeKind
    type_name: str
    parameter_count: int = 0
    shape: tuple[int, ...] | None = None
    is_container: bool = False
    children: tuple["Node", ...] = ()

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all nodes below it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """An operation as a run has seen it; which there are, only running a model shows.

    Attributes:
        path: Its name, as ``layer1.0/add``.
        source: The file and line that its first call comes from, as ``resnet.py:102``.
        shapes: The shape of the first tensor of each call's output.
    """

    path: str
    source: str
    shapes: tuple[tuple[int, ...], ...]
