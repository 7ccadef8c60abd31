"""The middle of the window: the selected node's name, and a dock for every registered panel."""

from functools import partial

from PySide6.QtCore import QByteArray, Qt, Signal, Slot
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QVBoxLayout, QWidget

import hookviewer.gui.panels  # noqa: F401  fills the registry
from hookviewer.engine.plan import Quantity
from hookviewer.gui.panels.base import Look, Panel, Pick, panels
from hookviewer.gui.widgets.message_bar import MessageBar
from hookviewer.gui.widgets.node_header import NodeHeader


class PanelArea(QWidget):
    """Shows a Look in every panel that is in view; hidden ones are left alone."""

    wanted_changed = Signal(object)
    """The quantities of the visible panels, a frozenset."""
    picked = Signal(object)
    """The Pick that is to be looked at closely."""
    nothing_picked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look: Look | None = None
        self._active: Panel | None = None
        self._pick: Pick | None = None
        self.header = NodeHeader()
        self.message_bar = MessageBar()
        self._inner = QMainWindow()
        self._inner.setWindowFlags(Qt.WindowType.Widget)
        self._inner.setDockNestingEnabled(True)
        self._inner.setTabPosition(
            Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North
        )
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        for name in panels:
            self._add(panels[name])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self.message_bar)
        layout.addWidget(self._inner, stretch=1)
        self.arrange()

    def arrange(self) -> None:
        """Put the panels where they are at first: maps beside gradients over filters."""
        first, second, *others = self.docks.values()
        area = Qt.DockWidgetArea.TopDockWidgetArea
        for dock in self.docks.values():
            dock.setFloating(False)
            dock.show()
            self._inner.addDockWidget(area, dock)
        self._inner.splitDockWidget(first, second, Qt.Orientation.Horizontal)
        for dock in others:
            self._inner.splitDockWidget(second, dock, Qt.Orientation.Vertical)
        self._inner.resizeDocks([first, second], [3, 2], Qt.Orientation.Horizontal)
        self._inner.resizeDocks([second, *others], [1] * (1 + len(others)), Qt.Orientation.Vertical)

    @property
    def wanted(self) -> frozenset[Quantity]:
        """The quantities that are in view."""
        return frozenset(panel.quantity for panel in self._visible())

    def show_look(self, look: Look | None) -> None:
        """Show a node in every visible panel."""
        self._look = look
        if look is None:
            return
        for panel in self._visible():
            panel.show_look(look)
        active = self._active
        if look.run is not None and not (active in self._visible() and active.has_values):
            self._active = None  # the first panel that has a picture takes over

    def say(self, text: str) -> None:
        """Show a text in place of all pictures, as while another model is opened."""
        for panel in self.panels.values():
            panel.say(text)

    @Slot()
    def fit(self) -> None:
        """Show every picture as a whole."""
        for panel in self.panels.values():
            panel.fit()

    def layout_state(self) -> QByteArray:
        """Return where the panels are, for ``restore_layout``."""
        return self._inner.saveState()

    def restore_layout(self, state: QByteArray) -> bool:
        """Put the panels where they were; return whether that was possible."""
        return self._inner.restoreState(state)

    def _visible(self) -> list[Panel]:
        return [panel for name, panel in self.panels.items() if name in self._shown]

    def _add(self, kind: type[Panel]) -> None:
        panel = kind()
        dock = QDockWidget(panel.title(), self._inner)
        dock.setObjectName(panel.name)
        dock.setWidget(panel)
        dock.visibilityChanged.connect(self._on_visibility_changed)
        panel.tile_picked.connect(partial(self._on_tile_picked, panel))
        panel.pick_refreshed.connect(partial(self._on_pick_refreshed, panel))
        panel.picture_shown.connect(partial(self._on_picture_shown, panel))
        panel.emptied.connect(partial(self._on_emptied, panel))
        self.panels[panel.name], self.docks[panel.name] = panel, dock

    def _on_tile_picked(self, panel: Panel, pick: Pick) -> None:
        self._active, self._pick = panel, pick
        for other in self._visible():
            if other is not panel:
                other.follow(pick)
        self.picked.emit(pick)

    def _on_picture_shown(self, panel: Panel) -> None:
        if panel not in self._visible():
            return  # it still shows the node that was selected when it was hidden
        if self._active is None or (panel is self._active and panel.picked is None):
            panel.pick(panel.picked or 0)  # so that there is always a tile to look at closely
        elif panel is not self._active and self._pick is not None:
            panel.follow(self._pick)

    def _on_pick_refreshed(self, panel: Panel, pick: Pick) -> None:
        if panel is self._active:
            self._pick = pick
            self.picked.emit(pick)

    def _on_emptied(self, panel: Panel) -> None:
        if panel is self._active:
            self.nothing_picked.emit()

    @property
    def _shown(self) -> set[str]:
        return {name for name, dock in self.docks.items() if dock.property("shown")}

    @Slot(bool)
    def _on_visibility_changed(self, visible: bool) -> None:
        dock = self.sender()
        dock.setProperty("shown", visible)
        if visible and self._look is not None:
            self.panels[dock.objectName()].show_look(self._look)
        self.wanted_changed.emit(self.wanted)
