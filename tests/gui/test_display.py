import builtins
import ctypes
import socket
import sys

import pytest

from hookviewer.engine.errors import HookviewerError
from hookviewer.gui import display
from hookviewer.gui.display import DEBIAN_LINE, check_libraries, has_display


@pytest.fixture
def linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def server(tmp_path):
    """Return a function that lets a socket of some family answer."""
    sockets = []

    def server(family, address):
        sockets.append(socket.socket(family, socket.SOCK_STREAM))
        sockets[-1].bind(address)
        sockets[-1].listen()
        return sockets[-1].getsockname()

    yield server
    for each in sockets:
        each.close()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"DISPLAY": ""},
        {"DISPLAY": ":4711"},
        {"DISPLAY": ":4711.0"},
        {"DISPLAY": "unix:4711"},
        {"DISPLAY": "nonsense"},
        {"DISPLAY": "127.0.0.1:4711"},
        {"DISPLAY": ":4711", "QT_QPA_PLATFORM": "xcb"},
        {"WAYLAND_DISPLAY": "wayland-4711"},
        {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": "/no/such/folder"},
    ],
)
def test_a_display_that_does_not_answer_is_none(linux, environment):
    assert not has_display(environment)


@pytest.mark.parametrize("platform", ["offscreen", "minimal", "vnc:size=800x600"])
def test_a_platform_that_needs_no_server_is_taken_as_a_display(linux, platform):
    assert has_display({"QT_QPA_PLATFORM": platform})


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_where_windows_need_no_server_there_is_always_a_display(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    assert has_display({})


def test_an_x_server_that_answers_on_its_abstract_socket_is_a_display(linux, server):
    server(socket.AF_UNIX, "\0/tmp/.X11-unix/X47117")
    assert has_display({"DISPLAY": ":47117"})
    assert has_display({"DISPLAY": "unix:47117.0"})


def test_an_x_server_on_another_machine_is_a_display(linux, server, monkeypatch):
    _, port = server(socket.AF_INET, ("127.0.0.1", 0))
    assert has_display({"DISPLAY": f"127.0.0.1:{port - 6000}.0"})


@pytest.mark.parametrize("is_absolute", [False, True])
def test_a_wayland_server_that_answers_is_a_display(linux, server, tmp_path, is_absolute):
    path = server(socket.AF_UNIX, str(tmp_path / "wayland-7"))
    name = path if is_absolute else "wayland-7"
    assert has_display({"WAYLAND_DISPLAY": name, "XDG_RUNTIME_DIR": str(tmp_path)})


def test_libraries_that_are_there_pass(linux):
    check_libraries("offscreen")


def test_a_missing_library_is_one_sentence_with_debians_remedy(linux, monkeypatch):
    def missing(_path):
        raise OSError("libxcb-cursor.so.0: cannot open shared object file: No such file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(HookviewerError) as caught:
        check_libraries("xcb")
    assert str(caught.value) == (
        "The system library libxcb-cursor.so.0 is missing, without which no window can be "
        f"painted. On Debian and Ubuntu: {DEBIAN_LINE}"
    )
    assert "libxcb-cursor0" in DEBIAN_LINE


def test_a_library_that_qt_itself_misses_is_named(linux, monkeypatch):
    def missing(name, *_):
        raise ImportError(f"libGL.so.1: cannot open shared object file, for {name}")

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(HookviewerError, match=r"library libGL\.so"):
        check_libraries("offscreen")


def test_an_unknown_platform_is_left_to_qt(linux):
    check_libraries("no-such-platform")


def test_only_linux_is_looked_at(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: pytest.fail("looked"))
    display.check_libraries("xcb")
