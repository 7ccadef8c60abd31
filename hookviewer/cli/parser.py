"""Understand the command line."""

import argparse
import re
from pathlib import Path

import hookviewer

_COMMANDS = ("open",)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return what the command line asks for; wrong usage ends the process with code 2.

    The first word that is no command is the model of ``open``, so that ``hookviewer MODEL`` and
    ``hookviewer open MODEL`` are the same.
    """
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    words = options.words
    if words and words[0] in _COMMANDS:
        words = words[1:]
    if len(words) > 1:
        parser.error(f"one model at a time, please; there are {len(words)}: {' '.join(words)}")
    options.model = words[0] if words else "demo"
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hookviewer",
        usage="hookviewer [open] [MODEL] [-i INPUT] [--at PATH] [options]",
        description="Open a PyTorch model, click any node, and see what flows through it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=(
            "MODEL  demo · torchvision:resnet18 · 'torchvision:resnet18?weights=DEFAULT' ·\n"
            "       script.py:factory · package.module:factory\n"
            "INPUT  demo · demo:coffee · demo:camera · a picture file · noise:1x3x224x224"
        ),
    )
    parser.add_argument("words", nargs="*", metavar="MODEL", help="what to open; demo by default")
    parser.add_argument("-i", "--input", default="demo", help="what the model is fed")
    parser.add_argument("--at", default="", metavar="PATH", help="the node to select")
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
