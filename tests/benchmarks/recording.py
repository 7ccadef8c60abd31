"""What recording costs beside a plain call, and beside other ways to the same values.

Every figure is the median of ratios of pairs, measured in turns, on one thread, batch 1. Captures
go into memory that is used again from run to run, as in the window.
"""

import importlib.util
import statistics
import sys
import time
import warnings
from pathlib import Path

import torch
import torchvision
from torch import nn

from hookviewer.engine.buffers import Buffers
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap
from hookviewer.targets import class_score

MODELS = {
    "resnet18": "layer2.1",
    "resnet50": "layer3.0",
    "vgg16": "features.14",
    "mobilenet_v3_small": "features.5",
    "vit_b_16": "encoder.layers.encoder_layer_5",
}
SMALL = "mobilenet_v3_small"
PAIRS = 9
PICTURE = (1, 3, 224, 224)


class Subject:
    """A model, what is done with it plainly, and what is recorded."""

    def __init__(self, name: str) -> None:
        torch.manual_seed(0)
        self.name, self.node = name, MODELS[name]
        self.model = getattr(torchvision.models, name)().eval()
        if name == "vit_b_16":  # its head is zero by construction, and so is every gradient
            nn.init.normal_(self.model.heads.head.weight)
        self.x = torch.randn(PICTURE)
        self.buffers = Buffers()

    def plain(self) -> None:
        self.model(self.x)

    def backward(self) -> None:
        self.model.zero_grad()
        self.model(self.x)[0, 3].backward()

    def record(self, at: list[str], *quantities: Quantity, **options) -> None:
        taps = frozenset(Tap(path, quantity) for path in at for quantity in quantities)
        plan = Plan(taps, Inputs(self.x), **options)
        execute(self.model, plan, buffers=self.buffers)

    def one(self) -> None:
        self.record([self.node], Quantity.OUTPUT)

    def one_and_stop(self) -> None:
        self.record([self.node], Quantity.OUTPUT, complete=False)

    def modules(self) -> None:
        self.record(["*"], Quantity.OUTPUT)

    def everything(self) -> None:
        self.record(["*", "*/*"], Quantity.OUTPUT)

    def gradient(self) -> None:
        self.record([self.node], Quantity.GRAD_OUTPUT, target=class_score(3))

    def gradients(self) -> None:
        quantities = (Quantity.OUTPUT, Quantity.GRAD_OUTPUT)
        self.record(["*"], *quantities, target=class_score(3))

    def all_gradients(self) -> None:
        quantities = (Quantity.OUTPUT, Quantity.GRAD_OUTPUT, Quantity.GRAD_INPUT)
        self.record(["*"], *quantities, target=class_score(3))

    def share(self) -> float:
        """Return the node's share of a forward: the time until it has returned."""
        ended = []
        module = self.model.get_submodule(self.node)
        with torch.nn.modules.module.register_module_forward_hook(
            lambda each, *_: ended.append(time.perf_counter()) if each is module else None
        ):
            shares = []
            for _ in range(PAIRS):
                begun = time.perf_counter()
                self.plain()
                shares.append((ended[-1] - begun) / (time.perf_counter() - begun))
        return statistics.median(shares)


def ratio(task, floor, pairs=PAIRS) -> float:
    """Return the median of how many times longer ``task`` takes than ``floor``."""
    task(), floor()
    ratios = []
    for _ in range(pairs):
        floored, took = seconds(floor), seconds(task)
        ratios.append(took / floored)
    return statistics.median(ratios)


def seconds(task) -> float:
    begun = time.perf_counter()
    task()
    return time.perf_counter() - begun


def gradient_memory() -> float | None:
    """Return the MiB over the model that one gradient in ResNet-50 takes at most; Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    subject = Subject("resnet50")
    subject.one()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    subject.gradient()
    return (resident("VmHWM") - before) / 1024


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def torchlens(subject: Subject) -> float | None:
    """Return how many times longer TorchLens takes for everything; None where it is missing."""
    if importlib.util.find_spec("torchlens") is None:  # the extra "peers"
        return None
    import torchlens

    with warnings.catch_warnings(action="ignore"):
        return ratio(lambda: torchlens.trace(subject.model, subject.x), subject.plain, pairs=1)


def main() -> None:
    torch.set_num_threads(1)
    row("", "value", "aim")
    memory = gradient_memory()
    if memory is not None:
        row("one gradient in resnet50, MiB over the model", memory, 60)
    for name in MODELS:
        subject, is_small = Subject(name), name == SMALL
        print(f"\n{name}, × a plain forward")
        share = subject.share()
        row(f"output of {subject.node}", ratio(subject.one, subject.plain), 1.05)
        stopped = ratio(subject.one_and_stop, subject.plain)
        row(f"the same, stopped after it (its share is {share:.2f})", stopped, share + 0.06)
        modules = ratio(subject.modules, subject.plain)
        row("outputs of all modules", modules, 1.5 if is_small else 1.15)
        everything = ratio(subject.everything, subject.plain)
        row("every module and operation", everything, 1.8 if is_small else 1.5)
        peer = torchlens(subject)
        if peer is not None:
            row("TorchLens, every operation", peer, None)
        print(f"{name}, × a plain forward and backward()")
        row(f"gradient of {subject.node}", ratio(subject.gradient, subject.backward), 0.5)
        gradients = ratio(subject.gradients, subject.backward)
        row("outputs and their gradients, all modules", gradients, 1.5 if is_small else 0.9)
        row("and gradients of inputs", ratio(subject.all_gradients, subject.backward), None)


def row(what: str, value: float | str, aim: float | str | None) -> None:
    shown = value if isinstance(value, str) else f"{value:.2f}"
    wanted = aim if isinstance(aim, str) else "" if aim is None else f"≤ {aim:.2f}"
    print(f"  {what:<58}{shown:>8}  {wanted}", flush=True)


if __name__ == "__main__":
    main()
