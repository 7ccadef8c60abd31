"""How often which value occurs, as bars."""

import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from hookviewer.render.statistics import Statistics


class HistogramView(QWidget):
    """Counts over values."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars = pg.BarGraphItem(x0=[], x1=[], height=[], pen=None)
        self._plot = pg.PlotWidget(background=None, enableMenu=False)
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.hideButtons()
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # there is nothing to do in it
        self._plot.addItem(self._bars)
        menu = self._plot.getPlotItem().ctrlMenu  # made in any case, and left without an owner
        menu.setParent(self, menu.windowFlags())
        self._plot.getAxis("left").setWidth(44)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        self._follow_theme()

    def show_statistics(self, statistics: Statistics) -> None:
        """Draw the histogram of ``statistics``."""
        edges = statistics.edges
        self._bars.setOpts(x0=edges[:-1], x1=edges[1:], height=statistics.histogram)

    def clear(self) -> None:
        """Draw nothing."""
        self._bars.setOpts(x0=[], x1=[], height=[])

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._follow_theme()

    def _follow_theme(self) -> None:
        palette = self.palette()
        self._plot.setBackground(palette.color(QPalette.ColorRole.Window))
        self._bars.setOpts(brush=palette.color(QPalette.ColorRole.Highlight))
        for name in ("left", "bottom"):
            axis = self._plot.getAxis(name)
            axis.setPen(palette.color(QPalette.ColorRole.Mid))
            axis.setTextPen(palette.color(QPalette.ColorRole.Text))
