"""One tile large, with its colours, its values' distribution and its statistics."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from hookviewer.gui.picture_tasks import Picture, TileDetails
from hookviewer.gui.widgets.color_bar import ColorBar
from hookviewer.gui.widgets.elided_label import ElidedLabel
from hookviewer.gui.widgets.histogram import HistogramView
from hookviewer.gui.widgets.numbers import number_text, reading_text
from hookviewer.gui.widgets.picture_view import PictureView
from hookviewer.render.statistics import Statistics


class Inspector(QWidget):
    """Shows the tile that was picked last, from whatever panel."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture: Picture | None = None
        self._tile = 0
        self.heading = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.heading.setWordWrap(True)
        self.view = PictureView("viridis")
        self.view.setMinimumHeight(140)
        self.view.hovered.connect(self._on_hovered)
        self.view.left.connect(self._on_left)
        self.bar = ColorBar()
        self.reading = ElidedLabel()
        self.histogram = HistogramView()
        self.histogram.setFixedHeight(110)
        self.values = {key: QLabel() for key in ("range", "mean", "spread", "zeros", "special")}
        for label in self.values.values():
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._lay_out()
        self.clear()

    def show_tile(self, picture: Picture, tile: int, color_map: str, details: TileDetails) -> None:
        """Show ``tile`` of ``picture``."""
        self._picture, self._tile = picture, tile
        capture, stack = picture.request.capture, picture.stack
        place = ", ".join(
            f"{axis} {index}" for axis, index in zip(stack.axes, stack.index_of(tile), strict=True)
        )
        node = capture.tap.path or self.tr("the model")
        heading = f"{node} · {capture.tap.quantity}"
        self.heading.setText(f"{place}\n{heading}" if place else heading)
        self.view.set_color_map(color_map)
        self.view.show_pixels(details.pixels)
        if stack.is_color:
            color_map = "CET-L1"  # each component runs from black to full
        self.bar.show_range(color_map, details.low, details.high)
        self.histogram.show_statistics(details.statistics)
        self._fill(details.statistics)

    def clear(self) -> None:
        """Show nothing, and say how to change that."""
        self._picture = None
        self.heading.clear()
        self.reading.clear()
        self.bar.clear()
        self.histogram.clear()
        self.view.show_message(self.tr("Click a tile to look at it closely."))
        for label in self.values.values():
            label.clear()

    def _fill(self, statistics: Statistics) -> None:
        low, high = number_text(statistics.minimum), number_text(statistics.maximum)
        special = (
            (statistics.nan_count, "NaN"),
            (statistics.positive_infinity_count, "+inf"),
            (statistics.negative_infinity_count, "-inf"),
        )
        found = ", ".join(f"{count} {name}" for count, name in special if count)
        self.values["range"].setText(f"{low} … {high}")
        self.values["mean"].setText(number_text(statistics.mean))
        self.values["spread"].setText(number_text(statistics.standard_deviation))
        self.values["zeros"].setText(f"{statistics.zero_share:.1%}")
        self.values["special"].setText(found or self.tr("none"))

    def _lay_out(self) -> None:
        names = {
            "range": self.tr("minimum … maximum"),
            "mean": self.tr("mean"),
            "spread": self.tr("standard deviation"),
            "zeros": self.tr("zeros"),
            "special": self.tr("not finite"),
        }
        large = QHBoxLayout()
        large.addWidget(self.view, stretch=1)
        large.addWidget(self.bar)
        form = QFormLayout()
        form.setVerticalSpacing(2)
        for key, label in self.values.items():
            form.addRow(names[key], label)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.heading)
        layout.addLayout(large, stretch=1)
        layout.addWidget(self.reading)
        layout.addWidget(self.histogram)
        layout.addLayout(form)

    @Slot(float, float)
    def _on_hovered(self, x: float, y: float) -> None:
        if self._picture is None:
            return
        stack = self._picture.stack
        if not (0 <= x < stack.tile_width and 0 <= y < stack.tile_height):
            self.reading.clear()
            return
        row, column = int(y), int(x)
        value = stack.value_at(self._tile, row, column)
        position, dtype = stack.position(self._tile, row, column), stack.values.dtype
        self.reading.setText(reading_text(position, value, dtype))

    @Slot()
    def _on_left(self) -> None:
        self.reading.clear()
