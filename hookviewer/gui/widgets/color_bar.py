"""A vertical bar that says which colour stands for which value."""

import numpy as np
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from hookviewer.gui.widgets.color_table import color_table
from hookviewer.gui.widgets.numbers import number_text
from hookviewer.render.palette import VALUE_COUNT

_BAR_WIDTH = 14


class ColorBar(QWidget):
    """The highest value on top, the lowest at the bottom, the middle between them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._color_map = "viridis"
        self._ends: tuple[float, float] | None = None

    def show_range(self, color_map: str, low: float, high: float) -> None:
        """Show the colours of a map from ``low`` to ``high``."""
        self._color_map, self._ends = color_map, (low, high)
        self.update()

    def clear(self) -> None:
        """Show nothing."""
        self._ends = None
        self.update()

    def sizeHint(self) -> QSize:
        """Leave room for the numbers."""
        return QSize(_BAR_WIDTH + 6 + self.fontMetrics().horizontalAdvance("-0.000e+00"), 120)

    def minimumSizeHint(self) -> QSize:
        """Never cut the numbers off."""
        return QSize(self.sizeHint().width(), 60)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the bar and three numbers."""
        if self._ends is None:
            return
        low, high = self._ends
        margin = self.fontMetrics().height() // 2
        bar = QRect(0, margin, _BAR_WIDTH, self.height() - 2 * margin)
        column = np.ascontiguousarray(color_table(self._color_map, (0, 0, 0))[:VALUE_COUNT][::-1])
        image = QImage(column.data, 1, VALUE_COUNT, 3, QImage.Format.Format_RGB888)
        with QPainter(self) as painter:
            painter.drawImage(bar, image)
            painter.setPen(self.palette().mid().color())
            painter.drawRect(bar.adjusted(0, 0, -1, -1))
            painter.setPen(self.palette().text().color())
            for share, value in ((0.0, high), (0.5, (low + high) / 2), (1.0, low)):
                y = round(bar.top() + share * bar.height())
                place = QRect(_BAR_WIDTH + 6, y - margin, self.width(), 2 * margin)
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, number_text(value))
