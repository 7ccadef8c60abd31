"""The program's own icons, in the colour of the text around them."""

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from hookviewer.resources import path_of

_SIDE = 64  # pixels; Qt scales down from there, sharply also on dense screens


def icon(name: str) -> QIcon:
    """Return the icon ``name`` for the present theme; a faded one where it is disabled."""
    palette = QGuiApplication.palette()
    drawing = path_of("icons", f"{name}.svg").read_text(encoding="utf-8")
    color = palette.color(QPalette.ColorRole.ButtonText)
    found = QIcon(_painted(drawing, color, 1.0))
    found.addPixmap(_painted(drawing, color, 0.3), QIcon.Mode.Disabled)
    return found


def _painted(drawing: str, color: QColor, opacity: float) -> QPixmap:
    colored = drawing.replace("currentColor", color.name())
    pixmap = QPixmap(_SIDE, _SIDE)
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        painter.setOpacity(opacity)
        QSvgRenderer(QByteArray(colored.encode())).render(painter, QRectF(0, 0, _SIDE, _SIDE))
    return pixmap
