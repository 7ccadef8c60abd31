"""The entry point; the only module that knows both the command line and the window."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from hookviewer.cli.parser import parse
from hookviewer.cli.record import record
from hookviewer.cli.tree import tree
from hookviewer.engine.errors import HookviewerError


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says and return the exit code: 0 good, 1 failed, 2 wrong usage."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    # Before torch is loaded: on a busy machine its threads would spin while they wait.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        code = {"open": _open, "record": record, "tree": tree}[options.command](options)
        sys.stdout.flush()
    except HookviewerError as error:
        sys.stderr.write(f"hookviewer: {error}\n")
        return 1
    except BrokenPipeError:  # "hookviewer tree | head": nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _open(options: Namespace) -> int:
    from hookviewer.gui.display import check_libraries, has_display

    announced = options.screenshot is None and not has_display()
    if announced:
        options.screenshot = _free_name(Path("hookviewer.png"))
    if options.screenshot is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    check_libraries(os.environ.get("QT_QPA_PLATFORM", "xcb").partition(":")[0])

    from hookviewer.gui.app import WindowOptions, run  # late: Qt's libraries may be missing

    code = run(
        WindowOptions(
            model=options.model,
            input=options.input,
            path=options.at,
            device=options.device,
            train=options.train,
            seed=options.seed,
            screenshot=options.screenshot,
            size=options.size,
        )
    )
    if announced and code == 0:
        sys.stdout.write(
            f"There is no display here, so the window was painted to {options.screenshot}.\n"
            "To choose the file, its size and the node: "
            "hookviewer --screenshot FILE --size WxH --at PATH\n"
        )
    return code


def _free_name(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


if __name__ == "__main__":
    sys.exit(main())
