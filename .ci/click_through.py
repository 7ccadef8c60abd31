"""Start the real window on a virtual X server and use it with real mouse and keyboard events.

What is on the screen is looked at from outside, as pictures of the X server; the program is not
asked. Needs Xvfb, xdotool and ImageMagick's ``import``.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (1480, 920)
PATIENCE = 120  # seconds for any one thing to appear
Region = tuple[int, int, int, int]  # left, top, right, bottom

TREE: Region = (0, 110, 420, 620)
MAPS: Region = (450, 130, 800, 860)
INSPECTOR: Region = (1160, 80, 1470, 700)
PREDICTIONS: Region = (1160, 730, 1470, 900)


class Screen:
    """An X server that one can look at and act on."""

    def __init__(self, display: str, folder: Path) -> None:
        self.environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        self._shot = folder / "screen.png"

    def act(self, *command: str) -> None:
        """Do something with the mouse or the keyboard."""
        subprocess.run(["xdotool", *command], env=self.environment, check=True)

    def click(self, x: int, y: int) -> None:
        """Click the left button."""
        self.act("mousemove", str(x), str(y), "click", "1")

    def look(self, region: Region = (0, 0, *SIZE)) -> np.ndarray:
        """Return the colours of a region now."""
        command = ["import", "-silent", "-window", "root", str(self._shot)]
        subprocess.run(command, env=self.environment, check=True)
        with Image.open(self._shot) as picture:
            left, top, right, bottom = region
            return np.asarray(picture.convert("RGB"))[top:bottom, left:right].astype(int)

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until something can be seen."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                sys.exit(f"After {PATIENCE} s there is still no sign of this: {what}.")
            time.sleep(0.2)
        print(f"ok: {what}")

    def wait_for_change(self, what: str, region: Region, act: Callable[[], None]) -> None:
        """Act, and wait until a region looks different."""
        before = self.look(region)
        act()
        self.wait(what, lambda: bool((abs(self.look(region) - before).max(axis=2) > 30).sum() > 50))


def colourful(pixels: np.ndarray) -> bool:
    """Whether there is a real picture: many different colours, not only greys."""
    colours = len(np.unique(pixels.reshape(-1, 3), axis=0))
    return colours > 100 and (pixels.max(axis=2) - pixels.min(axis=2)).mean() > 20


@contextmanager
def x_server():
    """Run Xvfb on a free display."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24"]
    with Path(os.devnull).open("w") as nowhere:
        server = subprocess.Popen(command, pass_fds=[writing], stderr=nowhere)
    try:
        os.close(writing)
        with os.fdopen(reading) as numbers:
            yield f":{numbers.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


def tour(screen: Screen, saved: Path) -> None:
    """Do what a newcomer does."""
    screen.wait("feature maps of the built-in model", lambda: colourful(screen.look(MAPS)))
    screen.wait("the picked map in the inspector", lambda: colourful(screen.look(INSPECTOR)))
    blue = (47, 111, 208)
    screen.wait(
        "bars of the predictions",
        lambda: bool((screen.look(PREDICTIONS) == blue).all(axis=2).sum() > 100),
    )
    screen.wait_for_change("a row of the tree, clicked", MAPS, lambda: screen.click(180, 300))
    screen.wait_for_change("the next row, by arrow key", MAPS, lambda: screen.act("key", "Down"))
    screen.wait("its maps", lambda: colourful(screen.look(MAPS)))
    screen.wait_for_change(
        "another map in the inspector, by a click", INSPECTOR, lambda: screen.click(700, 500)
    )
    screen.act("key", "ctrl+f")
    screen.wait_for_change(
        "the filtered tree", TREE, lambda: screen.act("type", "--delay", "30", "classifier")
    )
    screen.wait_for_change(
        "gradients of another class", (800, 510, 1140, 860), lambda: screen.click(1250, 785)
    )
    Image.fromarray(screen.look().astype(np.uint8)).save(saved)
    print(f"the screen is kept in {saved}")


def main() -> None:
    """Use the window, close it by keyboard, and see that it ends as it should."""
    saved = Path(tempfile.gettempdir()) / "hookviewer-click-through.png"
    with tempfile.TemporaryDirectory() as folder, x_server() as display:
        screen = Screen(display, Path(folder))
        environment = {**screen.environment, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}
        program = [str(Path(sys.executable).parent / "hookviewer")]
        program += ["--size", f"{SIZE[0]}x{SIZE[1]}"]
        window = subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            tour(screen, saved)
            screen.act("key", "ctrl+q")
            _, errors = window.communicate(timeout=PATIENCE)
        finally:
            window.kill()
        if window.returncode != 0 or errors:
            sys.exit(f"The window ended with code {window.returncode} and said: {errors}")
        print("ok: closed by keyboard, exit code 0, nothing on stderr")


if __name__ == "__main__":
    main()
