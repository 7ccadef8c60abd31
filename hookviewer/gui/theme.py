"""The colours of the window, light and dark, the same on every platform."""

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

_Role = QPalette.ColorRole

_LIGHT = {
    _Role.Window: "#f3f4f6",
    _Role.WindowText: "#1c1f24",
    _Role.Base: "#ffffff",
    _Role.AlternateBase: "#eef0f4",
    _Role.Text: "#1c1f24",
    _Role.Button: "#e6e8ed",
    _Role.ButtonText: "#1c1f24",
    _Role.Highlight: "#2f6fd0",
    _Role.HighlightedText: "#ffffff",
    _Role.ToolTipBase: "#ffffff",
    _Role.ToolTipText: "#1c1f24",
    _Role.PlaceholderText: "#7a808c",
    _Role.Midlight: "#c3c8d2",
    _Role.Mid: "#a3a9b5",
    _Role.Link: "#2f6fd0",
}
_DARK = {
    _Role.Window: "#23262d",
    _Role.WindowText: "#e3e6eb",
    _Role.Base: "#191b20",
    _Role.AlternateBase: "#20232a",
    _Role.Text: "#e3e6eb",
    _Role.Button: "#30343d",
    _Role.ButtonText: "#e3e6eb",
    _Role.Highlight: "#4b8bf0",
    _Role.HighlightedText: "#ffffff",
    _Role.ToolTipBase: "#30343d",
    _Role.ToolTipText: "#e3e6eb",
    _Role.PlaceholderText: "#868d9a",
    _Role.Midlight: "#3d424d",
    _Role.Mid: "#5b626f",
    _Role.Link: "#7fb0ff",
}
_FADED = (_Role.WindowText, _Role.Text, _Role.ButtonText)


def apply_theme(*, dark: bool) -> None:
    """Give every widget of the application the light or the dark colours."""
    colors = _DARK if dark else _LIGHT
    palette = QPalette(QColor(colors[_Role.Button]), QColor(colors[_Role.Window]))
    for role, color in colors.items():
        palette.setColor(role, QColor(color))
    for role in _FADED:
        faded = QColor(colors[_Role.PlaceholderText])
        palette.setColor(QPalette.ColorGroup.Disabled, role, faded)
    QApplication.setStyle("Fusion")
    QApplication.setPalette(palette)
