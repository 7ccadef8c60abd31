"""How long until the window can be seen, over a bare ``import torch``; in turns."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

SHOW = """
import os, sys, time
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from hookviewer.__main__ import main
from hookviewer.gui.main_window import MainWindow
def paint(window, event):
    print(time.time(), "torch" in sys.modules, flush=True)
    os._exit(0)
MainWindow.paintEvent = paint
main([])
"""
PAIRS = 7


def seconds_to_window() -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}
        start = time.time()
        command = [sys.executable, "-c", SHOW]
        answer = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
    shown, has_torch = answer.stdout.split()
    if has_torch == "True":
        sys.exit("torch was imported before the window was shown")
    return float(shown) - start


def seconds_to_torch() -> float:
    start = time.time()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.time() - start


def main() -> None:
    pairs = [(seconds_to_window(), seconds_to_torch()) for _ in range(PAIRS + 1)][1:]
    ratios = [window / torch for window, torch in pairs]
    text = "start -> window shown / import torch"
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"{text:<66} {middle:5.2f}  ({low:.2f} to {high:.2f})   aim <= 0.5")


if __name__ == "__main__":
    main()
