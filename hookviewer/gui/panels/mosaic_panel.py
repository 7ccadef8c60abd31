"""The common part of all panels that show tiles."""

from collections.abc import Callable
from typing import ClassVar

from PySide6.QtCore import QEvent, QSignalBlocker, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from hookviewer.engine.capture import Capture
from hookviewer.engine.node import Node, NodeKind
from hookviewer.gui.panels.absence_text import absence_text
from hookviewer.gui.panels.base import Look, Panel, Pick
from hookviewer.gui.picture_tasks import Picture, PictureRequest
from hookviewer.gui.widgets.chooser import Chooser
from hookviewer.gui.widgets.color_table import DIVERGING, SEQUENTIAL
from hookviewer.gui.widgets.elided_label import ElidedLabel
from hookviewer.gui.widgets.mosaic_view import MosaicView
from hookviewer.gui.widgets.numbers import reading_text
from hookviewer.render.scaling import Scaling
from hookviewer.render.tiles import TileStack, filters_of, maps_of

_PATIENCE = 150
"""Milliseconds for which the last picture may stay while the new one is made."""
_MINIMUM_WIDTH = 220
_SETTLED = 80
"""Milliseconds after which a panel's new size counts as chosen."""


class MosaicPanel(Panel):
    """All tiles of a capture in one picture, with the choices of how to look at them."""

    color_map: ClassVar[str] = "viridis"
    scaling: ClassVar[Scaling] = Scaling()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look: Look | None = None
        self._captures: tuple[Capture, ...] = ()
        self._picture: Picture | None = None
        self._waiting = self._timer(_PATIENCE, self._on_waited)
        self._resizing = self._timer(_SETTLED, self._on_resized)
        self.view = MosaicView(self.color_map)
        self.view.value_hovered.connect(self._on_value_hovered)
        self.view.left.connect(self._on_left)
        self.view.tile_selected.connect(self._on_tile_selected)
        self.view.resized.connect(self._resizing.start)
        self.scale_chooser = Chooser(
            self.tr("Scale"),
            self.tr(
                "Which values the ends of the colour map stand for: those of each map, or the same "
                "for all maps; symmetric: zero is in the middle"
            ),
        )
        self.map_chooser = Chooser(
            self.tr("Colour map"),
            self.tr("The first ones run from dark to bright; those below have a pale middle"),
        )
        self.leaf_chooser = Chooser(self.tr("Tensor"), self.tr("Which of several tensors"))
        self.scale_chooser.currentIndexChanged.connect(self._on_scaling_chosen)
        self.map_chooser.currentIndexChanged.connect(self._on_map_chosen)
        self.leaf_chooser.currentIndexChanged.connect(self._on_leaf_chosen)
        self.caption, self.reading = ElidedLabel(), ElidedLabel()
        self.setMinimumWidth(_MINIMUM_WIDTH)  # whatever is chosen, no splitter moves
        self._fill_choosers()
        self._lay_out()
        self.say(self.tr("No model is open yet."))

    @property
    def picture(self) -> Picture | None:
        """The picture on show; None while there is a message instead."""
        return self._picture

    def reader(self, node: Node) -> Callable[[Capture], TileStack]:
        """Return how captures of ``node`` become tiles: parameters and buffers have no batch."""
        return filters_of if node.kind in (NodeKind.PARAMETER, NodeKind.BUFFER) else maps_of

    def show_look(self, look: Look) -> None:
        """Show the selected call's captures of this panel's quantity, or name their absence."""
        self._look = look
        if look.run is None:
            self._captures = ()
            if look.is_due:
                self._waiting.start()
            else:
                self.say(self.tr("There is no input yet."))
            return
        call = 0 if self.quantity.is_of_parameters else look.call
        found = look.run.of(self.quantity, look.node.path)
        self._captures = tuple(capture for capture in found if capture.call == call)
        self._fill_leaves()
        if self._captures:
            self._request()
        else:
            reason = look.run.absence(self.quantity, look.node.path, call)
            self.say(self.explain(reason or ""))

    def explain(self, reason: str) -> str:
        """Return what is said where there is nothing; ``reason`` is the absence."""
        return absence_text(reason)

    def show_picture(self, picture: Picture) -> None:
        """Show a mosaic, unless what it was made from is no longer wanted."""
        if picture.request.capture not in self._captures:
            return
        self._waiting.stop()
        self._picture = picture
        if not picture.stack.count:
            self.say(self.tr("This tensor is empty."))
            self.caption.setText(self._caption_of(picture))
            return
        self.caption.setText(self._caption_of(picture))
        self.map_chooser.setEnabled(not picture.stack.is_color)  # it has colours of its own
        self.view.show_mosaic(picture.mosaic)
        self.picture_shown.emit()
        self._refresh_pick()

    def show_failure(self, sentence: str) -> None:
        """Say why there is no picture."""
        self.say(sentence)

    @property
    def has_values(self) -> bool:
        """Whether there are captures of this panel's quantity."""
        return bool(self._captures)

    @property
    def picked(self) -> int | None:
        """The tile that is marked, by a pick here or in another panel."""
        return self.view.selected

    def pick(self, tile: int) -> None:
        """Pick a tile as a click on it would."""
        if self._picture is not None and 0 <= tile < self._picture.stack.count:
            self.view.select(tile)

    def follow(self, pick: Pick) -> None:
        """Mark the same channel as another panel."""
        if self._picture is not None:
            ours, theirs = self._picture.stack, pick.picture.stack
            same = (ours.axes, ours.count) == (theirs.axes, theirs.count)
            self.view.mark_tile(pick.tile if same else None)

    def _pick(self, picture: Picture, tile: int) -> Pick:
        return Pick(picture, tile, self.map_chooser.currentText())

    def _refresh_pick(self) -> None:
        if self._picture is not None and self.view.selected is not None:
            self.pick_refreshed.emit(self._pick(self._picture, self.view.selected))

    def fit(self) -> None:
        """Show the whole mosaic."""
        self.view.fit()

    def say(self, text: str) -> None:
        """Show a text in place of a picture."""
        self._waiting.stop()
        self._picture = None
        self.caption.setText("")
        self._read("")
        self.view.show_message(text)
        self.emptied.emit()

    def _read(self, text: str) -> None:
        """Show a reading in place of the caption, or the caption again."""
        self.reading.setText(text)
        self.reading.setVisible(bool(text))
        self.caption.setVisible(not text)

    def _timer(self, interval: int, then: object) -> QTimer:
        timer = QTimer(self, singleShot=True, interval=interval)
        timer.timeout.connect(then)
        return timer

    def _fill_choosers(self) -> None:
        scalings = (
            (self.tr("per map"), Scaling()),
            (self.tr("shared"), Scaling(shared=True)),
            (self.tr("per map, symmetric"), Scaling(symmetric=True)),
            (self.tr("shared, symmetric"), Scaling(shared=True, symmetric=True)),
        )
        with QSignalBlocker(self.scale_chooser), QSignalBlocker(self.map_chooser):
            for text, scaling in scalings:
                self.scale_chooser.addItem(text, scaling)
            self.map_chooser.addItems([*SEQUENTIAL, *DIVERGING])
            self.map_chooser.insertSeparator(len(SEQUENTIAL))
            self.scale_chooser.setCurrentIndex([s for _, s in scalings].index(self.scaling))
            self.map_chooser.setCurrentText(self.color_map)
        self.leaf_chooser.hide()

    def _lay_out(self) -> None:
        choices = QHBoxLayout()
        for chooser in (self.scale_chooser, self.map_chooser, self.leaf_chooser):
            choices.addWidget(chooser)
        choices.addStretch()
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(6, 6, 6, 4)
        self.body.addLayout(choices)
        self.body.addWidget(self.view, stretch=1)
        self.body.addWidget(self.caption)
        self.body.addWidget(self.reading)
        self.reading.hide()

    def _fill_leaves(self) -> None:
        leaves = [capture.leaf for capture in self._captures]
        chosen = self.leaf_chooser.currentText()
        with QSignalBlocker(self.leaf_chooser):
            self.leaf_chooser.clear()
            self.leaf_chooser.addItems(leaves)
            self.leaf_chooser.setCurrentIndex(leaves.index(chosen) if chosen in leaves else 0)
        self.leaf_chooser.setVisible(len(leaves) > 1)

    def _request(self) -> None:
        if not self._captures or self._look is None:
            return
        capture = self._captures[max(self.leaf_chooser.currentIndex(), 0)]
        room = max(self.view.width(), 1), max(self.view.height(), 1)
        scaling: Scaling = self.scale_chooser.currentData()
        self._waiting.start()
        reader = self.reader(self._look.node)
        self.picture_wanted.emit(
            PictureRequest(capture, reader, scaling, room, self.view.gap_color)
        )

    def _caption_of(self, picture: Picture) -> str:
        stack, capture = picture.stack, picture.request.capture
        shape = " × ".join(map(str, capture.tensor.shape)) or self.tr("scalar")
        dtype = str(capture.tensor.dtype).removeprefix("torch.")
        if stack.count == 1:
            tiles = self.tr("1 tile")
        else:
            axes = " × ".join(stack.axes)
            tiles = self.tr("{count} tiles by {axes}").format(count=stack.count, axes=axes)
        down, across = stack.pixel_axes
        pixels = self.tr("{down} × {across}: {height} × {width}").format(
            down=down, across=across, height=stack.tile_height, width=stack.tile_width
        )
        parts = [shape, dtype, tiles, pixels]
        is_batch = stack.values.size < capture.tensor.numel()
        if is_batch:
            count = capture.tensor.shape[0]
            parts.insert(0, self.tr("the first of {count} samples").format(count=count))
        return " · ".join(parts)

    def changeEvent(self, event: QEvent) -> None:
        """Draw the gaps of colour pictures anew when the theme changes."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._picture is not None:
            self._request()

    @Slot()
    def _on_waited(self) -> None:
        self.say(self.tr("running …"))

    @Slot()
    def _on_resized(self) -> None:
        if self._picture is not None and self._picture.stack.columns is None:
            self._request()

    @Slot(int)
    def _on_scaling_chosen(self, _index: int) -> None:
        self._request()

    @Slot(int)
    def _on_map_chosen(self, _index: int) -> None:
        self.view.set_color_map(self.map_chooser.currentText())
        self._refresh_pick()

    @Slot(int)
    def _on_leaf_chosen(self, _index: int) -> None:
        self._request()

    @Slot(int, int, int)
    def _on_value_hovered(self, tile: int, row: int, column: int) -> None:
        if self._picture is None or self._picture.request.capture not in self._captures:
            return  # the picture is the last node's, soon to be replaced
        stack = self._picture.stack
        value = stack.value_at(tile, row, column)
        self._read(reading_text(stack.position(tile, row, column), value, stack.values.dtype))

    @Slot()
    def _on_left(self) -> None:
        self._read("")

    @Slot(int)
    def _on_tile_selected(self, tile: int) -> None:
        if self._picture is not None:
            self.tile_picked.emit(self._pick(self._picture, tile))
