"""How long a click takes to become painted pixels, and whether the window answers meanwhile.

The real window, painted offscreen. Every figure is a ratio to a floor measured in the same run,
in the same worker thread, in turns.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pyqtgraph
from PySide6.QtCore import QEventLoop, QSettings, Qt, QTimer, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from hookviewer.gui.error_report import ErrorReport
from hookviewer.gui.main_window import MainWindow
from hookviewer.gui.settings import Settings
from hookviewer.gui.theme import apply_theme

NODE, ELSEWHERE = "features.3.conv.0.0", "features.2"
PAIRS = 30


class Bench:
    """The window, and the means to wait for what happens in it."""

    def __init__(self, folder: str) -> None:
        store = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        apply_theme(dark=False)
        self.window = MainWindow(Settings(store), ErrorReport())
        self.window.show()

    def open(self, spec: str) -> None:
        self.window.conductor.open_model(spec, "demo")
        self.settle()

    def settle(self) -> None:
        loop = QEventLoop()
        self.window.settled.connect(loop.quit)
        while self.window.busy:
            loop.exec()
        self.window.settled.disconnect(loop.quit)
        QApplication.processEvents()

    def select(self, path: str) -> None:
        self.window.workspace.select(path)
        self.settle()

    def in_worker(self, task) -> float:
        """Return how many seconds ``task`` takes in the model worker."""
        loop, answer = QEventLoop(), []

        def timed(_token) -> float:
            start = time.perf_counter()
            task()
            return time.perf_counter() - start

        def then(seconds) -> None:
            answer.append(seconds)
            loop.quit()

        self.window.models.submit("benchmark", timed, then, then)
        loop.exec()
        return answer[0]

    def click(self, path: str) -> float:
        """Click the tree's row of ``path`` and return the seconds until all panels are painted."""
        tree = self.window.tree
        index = tree._filter.mapFromSource(tree._model.index_of(path))
        tree.view.scrollTo(index)
        place = tree.view.visualRect(index).center()
        QApplication.processEvents()
        painted = _Painted(self.window.area._visible())
        start = time.perf_counter()
        QTest.mouseClick(tree.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        seconds = painted.wait() - start
        self.settle()
        return seconds


class _Painted:
    """Waits until every panel has painted a picture that it did not have before."""

    now: "_Painted | None" = None

    def __init__(self, panels) -> None:
        self._old = {panel.view._graphics: (panel, panel.picture) for panel in panels}
        self._loop, self._end = QEventLoop(), 0.0
        _Painted.now = self

    def note(self, view) -> None:
        panel, old = self._old.get(view, (None, None))
        if panel is not None and panel.picture not in (None, old):
            del self._old[view]
            if not self._old:
                self._end = time.perf_counter()
                self._loop.quit()

    def wait(self) -> float:
        """Return when the last of them had been painted."""
        self._loop.exec()
        _Painted.now = None
        return self._end


def _watch_paints() -> None:
    """Tell of every paint that ends; before any window is made, since Qt remembers the method."""
    paint = pyqtgraph.GraphicsView.paintEvent

    def watched(view, event) -> None:
        paint(view, event)
        if _Painted.now is not None:
            _Painted.now.note(view)

    pyqtgraph.GraphicsView.paintEvent = watched


def click_ratios(bench: Bench, floor) -> list[float]:
    ratios = []
    for _ in range(PAIRS + 2):
        bench.select(ELSEWHERE)
        plain = bench.in_worker(floor)
        ratios.append(bench.click(NODE) / plain)
    return ratios[2:]


def plain_forward(bench: Bench):
    model, inputs = bench.window.workspace.opened.loaded.model.eval(), bench.window.workspace.input
    return lambda: model(*inputs.inputs.args)


def plain_gradient(bench: Bench):
    import torch

    model = bench.window.workspace.opened.loaded.model.eval()
    inputs = bench.window.workspace.input.inputs.args

    def run() -> None:
        kept = []
        handle = model.get_submodule(NODE).register_forward_hook(lambda *call: kept.append(call[2]))
        score = model(*inputs)[0].max()
        handle.remove()
        torch.autograd.grad(score, kept)

    return run


def tick_gaps(bench: Bench, runs: int = 8) -> list[float]:
    """Return the milliseconds between ticks of a 5 ms timer while the model runs both ways."""
    gaps, last = [], [0.0]

    def tick() -> None:
        now = time.perf_counter()
        gaps.append(1000 * (now - last[0]))
        last[0] = now

    timer = QTimer(interval=5, timerType=Qt.TimerType.PreciseTimer)
    timer.timeout.connect(tick)
    last[0] = time.perf_counter()
    timer.start()
    for _ in range(runs):
        bench.window.conductor.run()
        bench.settle()
    timer.stop()
    return sorted(gaps)


def report(text: str, ratios: list[float], aim: float) -> None:
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"{text:<66} {middle:5.2f}  ({low:.2f} to {high:.2f})   aim <= {aim}")


def main() -> None:
    QApplication(sys.argv)
    qInstallMessageHandler(lambda *_: None)  # what the offscreen platform lacks
    _watch_paints()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        bench.open("demo")
        bench.select(NODE)
        both = click_ratios(bench, plain_gradient(bench))
        bench.window.area.docks["gradients"].close()
        forward = click_ratios(bench, plain_forward(bench))
        report("click -> painted maps and filters / plain forward", forward, 1.6)
        report("click -> painted, gradients too / forward + grad to the node", both, 1.4)
        bench.window.area.docks["gradients"].show()
        bench.open("torchvision:resnet50")
        bench.select("layer1.0.conv1")
        gaps = tick_gaps(bench)
        p99 = gaps[int(0.99 * (len(gaps) - 1))]
        print(f"{'5 ms ticks while ResNet-50 runs both ways: p99':<66} {p99:5.1f} ms   aim <= 16")
        print(f"{'the same: longest of ' + str(len(gaps)):<66} {gaps[-1]:5.1f} ms   aim <= 50")
        bench.window.close()


if __name__ == "__main__":
    main()
