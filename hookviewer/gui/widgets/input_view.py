"""What the model is fed, made from the tensor itself."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

_MOST_LINES = 6


class Thumbnail(QWidget):
    """A picture as large as fits, in its own proportions."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def image(self) -> QImage:
        """The picture on show."""
        return self._image

    def show_pixels(self, pixels: NDArray[np.uint8]) -> None:
        """Show colours (row, column, RGB)."""
        height, width = pixels.shape[:2]
        pixels = np.ascontiguousarray(pixels)
        image = QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888)
        self._image = image.copy()  # QImage does not keep the array alive
        self.update()

    def sizeHint(self) -> QSize:
        """Ask for a square that shows a face."""
        return QSize(180, 180)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the picture in the middle."""
        if self._image.isNull():
            return
        size = self._image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        place = QRect(0, 0, size.width(), size.height())
        place.moveCenter(self.rect().center())
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(place, self._image)


class InputView(QWidget):
    """The thumbnail, its name and shape, and the built-in pictures one click away."""

    input_chosen = Signal(str)
    """The spec of a built-in picture."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.thumbnail = Thumbnail()
        self.caption = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self.caption.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout()
        row.addStretch()
        for text, spec in (
            (self.tr("cat"), "demo"),
            (self.tr("coffee"), "demo:coffee"),
            (self.tr("camera"), "demo:camera"),
        ):
            button = QToolButton()
            button.setText(text)
            button.clicked.connect(lambda _checked=False, spec=spec: self.input_chosen.emit(spec))
            row.addWidget(button)
        row.addStretch()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self.thumbnail, stretch=1)
        layout.addWidget(self.caption)
        layout.addLayout(row)

    def show_input(
        self, pixels: NDArray[np.uint8] | None, title: str, lines: Sequence[str] = ()
    ) -> None:
        """Show another input.

        Args:
            pixels: (row, column, RGB); None where there is nothing to see.
            title: Its name.
            lines: What is fed, as text.
        """
        self.thumbnail.setHidden(pixels is None)
        if pixels is not None:
            self.thumbnail.show_pixels(pixels)
        more = ["…"] if len(lines) > _MOST_LINES else []
        self.caption.setText("\n".join([title, *lines[:_MOST_LINES], *more]))
