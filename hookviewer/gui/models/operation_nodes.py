"""What the path of an operation says of it; a tree of modules does not know operations."""

from hookviewer.engine.node import Node, NodeKind


def owner_of(path: str) -> str | None:
    """Return the path of the module that an operation is called in; None for another node's path.

    Slashes with a backslash before them belong to a module's name.
    """
    owner, slash, _ = path.rpartition("/")
    backslashes = len(owner) - len(owner.rstrip("\\"))
    return owner if slash and backslashes % 2 == 0 else None


def operation_node(path: str) -> Node:
    """Return the node of the operation at ``path``."""
    name = path.rpartition("/")[2]
    return Node(path, name, NodeKind.OPERATION, NodeKind.OPERATION.value)
