"""The command ``tree``: print the modules of a model."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict

import hookviewer as hv
from hookviewer.engine.node import Node, NodeKind


def tree(options: Namespace) -> int:
    """Print the tree of the model that ``options`` name, and return the exit code.

    As text it has one line for each module: its name, indented, its class and how many numbers
    its parameters hold. As JSON it is the root node with all below it, parameters and buffers too.

    Raises:
        HookviewerError: The model cannot be opened; the sentence says why.
    """
    root = hv.tree(hv.load(options.model, options.device))
    lines = [json.dumps(asdict(root), indent=2)] if options.json else _table(root)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _table(root: Node) -> list[str]:
    rows = [("  " * depth + node.name, node) for depth, node in _modules(root)]
    names = max(len(name) for name, _ in rows)
    types = max(len(node.type_name) for _, node in rows)
    numbers = max(len(f"{node.parameter_count:,}") for _, node in rows)
    return [
        f"{name:{names}}  {node.type_name:{types}}  {node.parameter_count:{numbers},}"
        for name, node in rows
    ]


def _modules(root: Node) -> Iterator[tuple[int, Node]]:
    """Yield how deep each module lies, and itself, parents first."""
    waiting = [(0, root)]
    while waiting:
        depth, node = waiting.pop()
        if node.kind is NodeKind.MODULE:
            yield depth, node
            waiting.extend((depth + 1, child) for child in reversed(node.children))
