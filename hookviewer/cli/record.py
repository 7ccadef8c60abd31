"""The command ``record``: run a model once and save what was seen."""

import sys
from argparse import Namespace

import hookviewer as hv


def record(options: Namespace) -> int:
    """Record what ``options`` ask for, say what came of it, and return the exit code.

    Raises:
        HookviewerError: It cannot be done; the sentence says why.
    """
    model = hv.load(options.model, options.device)
    wanted = {"quantities": options.quantity} if options.quantity else {}
    run = hv.record(
        model,
        hv.read_input(options.input, model),
        options.at,
        options.target,
        **wanted,
        train=options.train,
        seed=options.seed,
    )
    run.save(options.output)
    nodes = len({capture.tap.path for capture in run.captures})
    size = f"{run.byte_count / 2**20:.1f} MiB"
    sys.stdout.write(f"{options.output}: {len(run.captures)} tensors of {nodes} nodes, {size}\n")
    return 0
