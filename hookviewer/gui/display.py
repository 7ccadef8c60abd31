"""Find out, before Qt would end the process, whether a window can be opened here."""

import ctypes
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from hookviewer.engine.errors import HookviewerError

DEBIAN_LINE = (
    "sudo apt-get install libgl1 libegl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon0 "
    "libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxkbcommon-x11-0"
)


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a display answers; always so where windows need no server."""
    if not sys.platform.startswith("linux"):
        return True
    platform = environment.get("QT_QPA_PLATFORM", "")
    if platform and not platform.startswith(("xcb", "wayland")):
        return True  # the user asked for something that needs none
    return _wayland_answers(environment) or _x11_answers(environment.get("DISPLAY", ""))


def check_libraries(platform: str) -> None:
    """Raise one sentence if a system library that Qt needs is missing.

    Raises:
        HookviewerError: It names the library and how Debian installs it.
    """
    try:
        from PySide6 import QtWidgets  # late: this very import is what may fail
    except ImportError as error:
        raise _missing(error) from None
    if not sys.platform.startswith("linux"):
        return
    folder = Path(QtWidgets.__file__).parent / "Qt" / "plugins" / "platforms"
    plugin = folder / f"libq{platform}.so"
    if plugin.exists():
        try:
            ctypes.CDLL(str(plugin))
        except OSError as error:
            raise _missing(error) from None


def _missing(error: Exception) -> HookviewerError:
    library = str(error).partition(":")[0]
    return HookviewerError(
        f"The system library {library} is missing, without which no window can be painted. "
        f"On Debian and Ubuntu: {DEBIAN_LINE}"
    )


def _wayland_answers(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    path = Path(environment.get("XDG_RUNTIME_DIR", "/")) / name
    return _connects(socket.AF_UNIX, str(path))


def _x11_answers(display: str) -> bool:
    host, _, number = display.rpartition(":")
    number = number.partition(".")[0]
    if not number.isdecimal():
        return False
    if host in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"
        return _connects(socket.AF_UNIX, path) or _connects(socket.AF_UNIX, f"\0{path}")
    return _connects(socket.AF_INET, (host, 6000 + int(number)))


def _connects(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        try:
            client.connect(address)  # type: ignore[arg-type]  # its type depends on the family
        except OSError:
            return False
    return True
