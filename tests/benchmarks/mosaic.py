"""How long a mosaic takes, in multiples of copying its values once.

Run ``python tests/benchmarks/mosaic.py`` where the package is installed, or
``python -m tests.benchmarks.mosaic`` in the checkout. Times drift with what else the machine
does, so each round measures everything once, in turn, and the medians of the rounds are compared.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from hookviewer.render.mosaic import build_mosaic
from hookviewer.render.scaling import Scaling
from hookviewer.render.tiles import TileStack

Shape = tuple[int, int, int]

CASES: tuple[tuple[Shape, float | None], ...] = (
    ((64, 112, 112), 5),
    ((512, 28, 28), 7),
    ((3072, 14, 14), 9),
    ((2048, 7, 7), 20),
    ((64, 1024, 1024), 5),
    ((262_144, 3, 3), None),
)
SCALINGS = {
    "per tile": Scaling(),
    "shared": Scaling(shared=True),
    "symmetric": Scaling(False, True),
}
SECONDS = 2.0


def stack_of(shape: Shape, channels_last: bool = False) -> TileStack:
    count, height, width = shape
    rng = np.random.default_rng(0)
    if channels_last:
        values = rng.standard_normal((height, width, count), np.float32).transpose(2, 0, 1)
    else:
        values = rng.standard_normal(shape, np.float32)
    columns = 512 if count == 262_144 else None
    return TileStack(values, ("channel",), (count,), columns=columns)


def medians(works: list[Callable[[], object]]) -> list[float]:
    """Return the median seconds of each work, all of them done in turn."""
    times: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times[0]) < 5:
        for work, found in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            found.append(time.perf_counter() - start)
    return [median(found[1:]) for found in times]


def measure(shape: Shape) -> list[float]:
    """Return the median seconds of a copy, then of each mosaic."""
    stack, last = stack_of(shape), stack_of(shape, channels_last=True)
    copy = np.empty_like(stack.values)
    works: list[Callable[[], object]] = [lambda: np.copyto(copy, stack.values)]
    works += [lambda scaling=scaling: build_mosaic(stack, scaling) for scaling in SCALINGS.values()]
    works += [lambda: build_mosaic(last, Scaling())]
    return medians(works)


def main() -> None:
    names = [*SCALINGS, "channels last"]
    print(f"{'maps':>14} {'copy':>10} " + " ".join(f"{name:>14}" for name in names) + "  aim")
    for shape, aim in CASES:
        copy, *mosaics = measure(shape)
        label = f"{shape[0]} x {shape[1]}²"
        ratios = " ".join(f"{t / copy:5.1f} {t * 1e3:6.1f}ms" for t in mosaics)
        print(f"{label:>14} {copy * 1e3:8.3f}ms {ratios}  {f'<= {aim}' if aim else '-'}")


if __name__ == "__main__":
    main()
