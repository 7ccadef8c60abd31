"""Everything a user can do from a menu, as rows of a table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from hookviewer.gui.icons import icon

Actions = dict[str, QAction]


class MenuName(StrEnum):
    """The menus, from left to right; that of the examples is in the help menu."""

    FILE = "file"
    RUN = "run"
    VIEW = "view"
    HELP = "help"
    EXAMPLES = "examples"


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One action. ``name`` finds its function; ``checkable`` ones are switches."""

    name: str
    menu: MenuName
    text: str
    shortcut: str = ""
    icon: str = ""
    checkable: bool = False


def menu_titles() -> dict[MenuName, str]:
    """Return the titles of the menus, translated."""
    return {
        MenuName.FILE: _tr("&File"),
        MenuName.RUN: _tr("&Run"),
        MenuName.VIEW: _tr("&View"),
        MenuName.HELP: _tr("&Help"),
        MenuName.EXAMPLES: _tr("&Examples"),
    }


def action_rows() -> tuple[ActionRow, ...]:
    """Return the table, translated."""
    file, run, view, info, examples = MenuName
    return (
        ActionRow("open_model", file, _tr("Open &model …"), "Ctrl+O", "open-model"),
        ActionRow("open_input", file, _tr("Open &input …"), "Ctrl+I", "open-input"),
        ActionRow("save_screenshot", file, _tr("&Save a picture of the window …"), "Ctrl+S"),
        ActionRow("quit", file, _tr("&Quit"), "Ctrl+Q"),
        ActionRow("run", run, _tr("&Run"), "F5", "run"),
        ActionRow("stop", run, _tr("&Stop"), "Esc", "stop"),
        ActionRow("find_node", view, _tr("&Find a node"), "Ctrl+F"),
        ActionRow("fit", view, _tr("Fit the &pictures"), "Ctrl+0"),
        ActionRow("dark", view, _tr("&Dark theme"), "Ctrl+D", checkable=True),
        ActionRow("reset_layout", view, _tr("Reset &layout")),
        ActionRow("example_tensors", examples, _tr("Plain &tensors")),
        ActionRow("example_small_cnn", examples, _tr("A small &CNN")),
        ActionRow("keys", info, _tr("&Keyboard and mouse"), "F1"),
        ActionRow("about", info, _tr("&About hookviewer")),
    )


def build_actions(window: QMainWindow, functions: Mapping[str, Callable[..., Any]]) -> Actions:
    """Fill the window's menu bar from the table and return the actions by name.

    Args:
        window: Gets the menus.
        functions: What each action calls; switches hand their new state on.
    """
    menus: dict[MenuName, QMenu] = {}
    for name, title in menu_titles().items():
        within = menus[MenuName.HELP] if name is MenuName.EXAMPLES else window.menuBar()
        menus[name] = within.addMenu(title)
        menus[name].setObjectName(name)
    actions: Actions = {}
    for row in action_rows():
        action = QAction(row.text, window)
        action.setObjectName(row.name)
        action.setShortcut(QKeySequence(row.shortcut))
        action.setCheckable(row.checkable)
        _connect(action, functions[row.name], with_state=row.checkable)
        menus[row.menu].addAction(action)
        actions[row.name] = action
    draw_icons(actions)
    return actions


def draw_icons(actions: Actions) -> None:
    """Give the actions the icons that go with the present theme."""
    for row in action_rows():
        if row.icon:
            actions[row.name].setIcon(icon(row.icon))


def add_to_menu(window: QMainWindow, menu: MenuName, actions: Iterable[QAction]) -> None:
    """Append ``actions`` to one of the menus, behind a line."""
    found = window.menuBar().findChild(QMenu, menu)
    if isinstance(found, QMenu):
        found.addSeparator()
        found.addActions(list(actions))


def _connect(action: QAction, function: Callable[..., Any], *, with_state: bool) -> None:
    if with_state:
        action.toggled.connect(function)
    else:
        action.triggered.connect(lambda _checked=False: function())


def _tr(text: str) -> str:
    return QCoreApplication.translate("actions", text)
