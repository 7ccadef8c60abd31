"""Understand the command line."""

import argparse
import re
from pathlib import Path

import hookviewer
from hookviewer import targets
from hookviewer.engine.plan import Quantity, Target

_COMMANDS = ("open", "tree", "record")
_ONLY_OF = {
    "at": ("open", "record"), "input": ("open", "record"), "target": ("record",),
    "quantity": ("record",), "output": ("record",), "json": ("tree",),
    "screenshot": ("open",), "size": ("open",),
}  # fmt: skip
"""The options that do not go with every command."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return what the command line asks for; wrong usage ends the process with code 2.

    The first word that is no command is the model of ``open``, so that ``hookviewer MODEL`` and
    ``hookviewer open MODEL`` are the same.
    """
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    words = options.words
    options.command = words.pop(0) if words and words[0] in _COMMANDS else "open"
    if len(words) > 1:
        parser.error(f"one model at a time, please; there are {len(words)}: {' '.join(words)}")
    options.model = words[0] if words else "demo"
    for name, commands in _ONLY_OF.items():
        if getattr(options, name) and options.command not in commands:
            parser.error(f"--{name} does not go with '{options.command}'")
    _complete(parser, options)
    return options


def _complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Fill in what was left out, and see that nothing is missing."""
    options.input = options.input or "demo"
    if options.command == "record":
        if not options.at or options.output is None:
            parser.error("'record' needs --at GLOB, what to record, and -o FILE, where to")
    elif len(options.at) > 1:
        parser.error("the window shows one node at a time; name one --at PATH")
    else:
        options.at = "".join(options.at)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hookviewer",
        usage=(
            "hookviewer [open] [MODEL] [-i INPUT] [--at PATH] [options]\n"
            "       hookviewer tree [MODEL] [--json] [options]\n"
            "       hookviewer record [MODEL] [-i INPUT] --at GLOB [--at GLOB] [--target TARGET]"
            " [--quantity Q] -o FILE [options]"
        ),
        description="Open a PyTorch model, click any node, and see what flows through it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=(
            "MODEL  demo · torchvision:resnet18 · 'torchvision:resnet18?weights=DEFAULT' ·\n"
            "       script.py:factory · package.module:factory\n"
            "INPUT  demo · demo:coffee · demo:camera · a picture file · noise:1x3x224x224\n"
            "TARGET class:285 · loss:285 · top · whole"
        ),
    )
    parser.add_argument("words", nargs="*", metavar="MODEL", help="what to open; demo by default")
    parser.add_argument("-i", "--input", help="what the model is fed; demo by default")
    parser.add_argument(
        "--at", action="append", default=[], metavar="PATH",
        help="the node to select, or one or more paths and globs to record",
    )  # fmt: skip
    _add_of_record(parser)
    parser.add_argument("--json", action="store_true", help="print the tree as JSON")
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, mps")
    parser.add_argument("--train", action="store_true", help="run in train mode; eval otherwise")
    parser.add_argument("--seed", type=_seed, default=0, help="where random numbers start")
    parser.add_argument(
        "--screenshot", type=Path, metavar="FILE",
        help="paint the window to a PNG file and end; needs no display",
    )  # fmt: skip
    parser.add_argument(
        "--size", type=_size, metavar="WxH", help="width and height of the window in pixels"
    )
    parser.add_argument("--version", action="version", version=hookviewer.__version__)
    return parser


def _add_of_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", type=_target, help="what is differentiated; forward only else")
    parser.add_argument(
        "--quantity", action="append", default=[], choices=[*Quantity], metavar="Q",
        help=f"what to record: {', '.join(Quantity)}; the first four by default",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where the run is saved, safetensors"
    )


def _target(text: str) -> Target:
    name, _, number = text.partition(":")
    of_class = {"class": targets.class_score, "loss": targets.cross_entropy}
    if name in of_class and re.fullmatch("[0-9]{1,18}", number):
        return of_class[name](int(number))
    if text in ("top", "whole"):
        return targets.top_class() if text == "top" else targets.whole()
    raise argparse.ArgumentTypeError(
        f"'{text}' is no target; there are class:285, loss:285, top and whole"
    )


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"'{text}' is no seed; take a whole number from 0 on")
    return int(text)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)[x×](\d+)", text)
    if found is None or not all(100 <= int(side) <= 16000 for side in found.groups()):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no size; write width x height in pixels, as 1480x920"
        )
    return int(found[1]), int(found[2])
