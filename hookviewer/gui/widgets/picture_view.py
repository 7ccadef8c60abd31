"""Show one picture of palette indices or colours, pixel for pixel, with zoom and pan."""

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QGraphicsRectItem, QLabel, QSizePolicy, QStackedLayout, QWidget

from hookviewer.gui.widgets.color_table import color_table
from hookviewer.render.palette import RGB

Pixels = NDArray[np.uint8]
MARK_COLOR = "#ff9f1c"


class PictureView(QWidget):
    """A zoomable picture, or a text that says why there is none; never both, never a blank."""

    hovered = Signal(float, float)
    left = Signal()
    clicked = Signal(float, float)
    resized = Signal()

    def __init__(self, color_map: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._color_map = color_map
        self._pixels: Pixels | None = None
        self._image = pg.ImageItem(axisOrder="row-major")
        self._box = pg.ViewBox(lockAspect=True, invertY=True, enableMenu=False, defaultPadding=0.01)
        self._box.addItem(self._image)
        self._mark = QGraphicsRectItem()
        self.set_mark_width(2)
        self._mark.setZValue(1)
        self._mark.hide()
        self._box.addItem(self._mark)
        self._graphics = pg.GraphicsView(background=None)
        self._graphics.setCentralItem(self._box)
        self._graphics.viewport().installEventFilter(self)
        self._graphics.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the outer widget
        self._graphics.scene().sigMouseClicked.connect(self._on_mouse_clicked)
        self._message = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._message.setTextFormat(Qt.TextFormat.PlainText)
        self._message.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._stack = QStackedLayout(self)  # one or the other, without a new layout each time
        self._stack.addWidget(self._graphics)
        self._stack.addWidget(self._message)
        self.show_message("")

    @property
    def pixels(self) -> Pixels | None:
        """The picture on show."""
        return self._pixels

    @property
    def message(self) -> str:
        """What is said in place of a picture; empty while there is one."""
        return "" if self._pixels is not None else self._message.text()

    def show_pixels(self, pixels: Pixels) -> None:
        """Show palette indices (row, column) or colours (row, column, RGB); row 0 is on top."""
        same_size = self._pixels is not None and self._pixels.shape[:2] == pixels.shape[:2]
        self._pixels = pixels
        self._stack.setCurrentWidget(self._graphics)
        self._image.setImage(pixels, autoLevels=False, levels=(0, 255), lut=self._table())
        if not same_size:
            self.mark(None)
            self.fit()

    def show_message(self, text: str) -> None:
        """Take the picture away and say ``text`` in its place."""
        self._pixels = None
        self._image.clear()
        self.mark(None)
        self._message.setText(text)
        self._stack.setCurrentWidget(self._message)

    def set_color_map(self, name: str) -> None:
        """Colour the palette indices with another map."""
        self._color_map = name
        if self._pixels is not None:
            self._image.setLookupTable(self._table())

    def mark(self, rect: tuple[int, int, int, int] | None) -> None:
        """Draw a frame around (x, y, width, height), or none."""
        self._mark.setVisible(rect is not None)
        if rect is not None:
            self._mark.setRect(QRectF(*rect))

    def set_mark_width(self, width: int) -> None:
        """Draw the frame so many pixels of the screen wide, at any zoom."""
        self._mark.setPen(pg.mkPen(MARK_COLOR, width=width))

    @Slot()
    def fit(self) -> None:
        """Zoom so that the whole picture is in view."""
        if self._pixels is not None:
            height, width = self._pixels.shape[:2]
            most = 4 * max(height, width)  # out of which nothing could be found again
            self._box.setLimits(maxXRange=most, maxYRange=most)
            self._box.setRange(QRectF(0, 0, width, height), padding=0.01)

    def position_of(self, x: float, y: float) -> QPointF:
        """Return where in this widget a place of the picture is painted."""
        scene = self._box.mapViewToScene(QPointF(x, y))
        place = self._graphics.viewportTransform().map(scene)
        return QPointF(self._graphics.viewport().mapTo(self, place))

    @property
    def gap_color(self) -> RGB:
        """The colour between tiles: one that no colour map has much of."""
        color = self.palette().color(QPalette.ColorRole.Midlight)
        return color.red(), color.green(), color.blue()

    def _table(self) -> Pixels | None:
        is_color = self._pixels is not None and self._pixels.ndim == 3
        return None if is_color else color_table(self._color_map, self.gap_color)

    @Slot(object)
    def _on_mouse_clicked(self, event: MouseClickEvent) -> None:
        if event.double():
            self.fit()
        elif event.button() == Qt.MouseButton.LeftButton:
            point = self._box.mapSceneToView(event.scenePos())
            self.clicked.emit(point.x(), point.y())

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Notice where the mouse is, and that it has left.

        pyqtgraph's own signal leaves moves out, even the last one before the mouse comes to rest.
        """
        if event.type() == QEvent.Type.Leave:
            self.left.emit()
        elif event.type() == QEvent.Type.MouseMove and isinstance(event, QMouseEvent):
            to_scene, _ = self._graphics.viewportTransform().inverted()
            point = self._box.mapSceneToView(to_scene.map(event.position()))
            self.hovered.emit(point.x(), point.y())
        return super().eventFilter(watched, event)  # type: ignore[arg-type]  # Qt's own object

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the whole picture in view and tell that there is another space for it."""
        super().resizeEvent(event)
        self.fit()
        self.resized.emit()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._graphics.setBackground(self.palette().color(QPalette.ColorRole.Base))
            if self._pixels is not None:
                self._image.setLookupTable(self._table())
