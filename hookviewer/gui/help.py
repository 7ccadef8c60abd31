"""What the program says about itself."""

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QMessageBox, QWidget

import hookviewer
from hookviewer.gui.actions import action_rows
from hookviewer.gui.error_report import log_path


def show_keys(window: QWidget) -> None:
    """Show what the keyboard and the mouse do."""
    keys = [(row.text.replace("&", ""), row.shortcut) for row in action_rows() if row.shortcut]
    keys += [
        (_tr("Walk through nodes or tiles"), "← ↑ → ↓"),
        (_tr("Look at a tile closely"), _tr("click")),
        (_tr("Zoom a picture"), _tr("wheel")),
        (_tr("Move a picture"), _tr("drag")),
        (_tr("Fit a picture"), _tr("double-click")),
    ]
    rows = "".join(f"<tr><td>{text}</td><td><b>{key}</b></td></tr>" for text, key in keys)
    _tell(window, _tr("Keyboard and mouse"), f"<table cellpadding=4>{rows}</table>")


def show_about(window: QWidget) -> None:
    """Show the version and where the log file lies."""
    text = _tr(
        "<b>hookviewer {version}</b><p>Open any PyTorch model, click any node, and see what flows "
        "through it.</p><p>Log file: {log}</p>"
    )
    text = text.format(version=hookviewer.__version__, log=log_path())
    _tell(window, _tr("About hookviewer"), text)


def _tell(window: QWidget, title: str, text: str) -> None:
    box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, parent=window)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()


def _tr(text: str) -> str:
    return QCoreApplication.translate("help", text)
