"""Show a mosaic and tell which tile and which value the mouse or the keyboard means."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from hookviewer.gui.widgets.picture_view import PictureView
from hookviewer.render.mosaic import Mosaic


class MosaicView(PictureView):
    """A picture made of tiles, one of which may be selected."""

    value_hovered = Signal(int, int, int)
    """Tile, row and column under the mouse."""
    tile_selected = Signal(int)

    def __init__(self, color_map: str, parent: QWidget | None = None) -> None:
        super().__init__(color_map, parent)
        self._mosaic: Mosaic | None = None
        self._selected: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.hovered.connect(self._on_hovered)
        self.clicked.connect(self._on_clicked)

    @property
    def mosaic(self) -> Mosaic | None:
        """The mosaic on show."""
        return self._mosaic

    @property
    def selected(self) -> int | None:
        """The selected tile."""
        return self._selected

    def show_mosaic(self, mosaic: Mosaic) -> None:
        """Show another mosaic; the selected tile stays selected where it still exists."""
        self._mosaic = mosaic
        self.show_pixels(mosaic.pixels)
        if self._selected is not None and self._selected >= mosaic.count:
            self._selected = None
        self._mark_selected()

    def show_message(self, text: str) -> None:
        """Take the mosaic away and say ``text`` in its place."""
        self._mosaic = None
        super().show_message(text)

    def select(self, tile: int) -> None:
        """Put the frame around a tile and announce it, also if it has it already."""
        if self._mosaic is not None:
            self.mark_tile(tile)
            self.tile_selected.emit(tile)

    def mark_tile(self, tile: int | None) -> None:
        """Put the frame around a tile without announcing it; None takes the frame away."""
        self._selected = tile
        self._mark_selected()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show that the arrow keys belong to this mosaic."""
        super().focusInEvent(event)
        self.set_mark_width(4)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that they do no longer."""
        super().focusOutEvent(event)
        self.set_mark_width(2)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk from tile to tile with the arrow keys; Home and End go to the ends."""
        target = self._tile_by_key(Qt.Key(event.key()))
        if target is None:
            super().keyPressEvent(event)
        elif target != self._selected:
            self.select(target)

    def _tile_by_key(self, key: Qt.Key) -> int | None:
        if self._mosaic is None or self._mosaic.count == 0:
            return None
        last, columns = self._mosaic.count - 1, self._mosaic.columns
        if key == Qt.Key.Key_Home:
            return 0
        if key == Qt.Key.Key_End:
            return last
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -columns,
            Qt.Key.Key_Down: columns,
        }
        if key not in steps:
            return None
        if self._selected is None:
            return 0
        target = self._selected + steps[key]
        return target if 0 <= target <= last else self._selected

    def _mark_selected(self) -> None:
        if self._mosaic is None or self._selected is None:
            self.mark(None)
        else:
            self.mark(self._mosaic.rect_of(self._selected))

    @Slot(float, float)
    def _on_hovered(self, x: float, y: float) -> None:
        found = self._mosaic.tile_at(x, y) if self._mosaic else None
        if found is None:
            self.left.emit()
        else:
            self.value_hovered.emit(*found)

    @Slot(float, float)
    def _on_clicked(self, x: float, y: float) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        found = self._mosaic.tile_at(x, y) if self._mosaic else None
        if found is not None:
            self.select(found[0])
