"""The filters, biases and other parameters of the selected node."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from hookviewer.engine import absence
from hookviewer.engine.capture import Capture
from hookviewer.engine.node import Node, NodeKind
from hookviewer.engine.plan import Quantity
from hookviewer.gui.panels.base import Look, panels
from hookviewer.gui.panels.mosaic_panel import MosaicPanel
from hookviewer.render.scaling import Scaling
from hookviewer.render.tiles import TileStack, filters_of


@panels.register("filters")
class FiltersPanel(MosaicPanel):
    """One tile per filter in colour for a layer that sees RGB, else one per input channel.

    A node without parameters of its own lists those below it that have some.
    """

    name, quantity = "filters", Quantity.PARAMETER
    color_map, scaling = "CET-D1", Scaling(symmetric=True)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.below = QListWidget()
        self.below.setAccessibleName(self.tr("Nodes with parameters"))
        self.below.itemActivated.connect(self._on_item_activated)
        self.below.itemClicked.connect(self._on_item_activated)
        self.below.hide()
        self.body.addWidget(self.below, stretch=1)

    def title(self) -> str:
        """Return the panel's name."""
        return self.tr("Filters")

    def reader(self, _node: Node) -> Callable[[Capture], TileStack]:
        """Return how parameters become tiles."""
        return filters_of

    def explain(self, reason: str) -> str:
        """Say in this panel's words that a node has no parameters."""
        if reason == absence.NO_TENSORS:
            sentence = self.tr("This node has no parameters.")
            return f"{reason}\n\n{sentence}"
        return super().explain(reason)

    def show_look(self, look: Look) -> None:
        """Show the node's own parameters, or where below it there are some."""
        super().show_look(look)
        has_own = bool(self._captures) or look.run is None
        owners = [] if has_own else _owners_below(look)
        self.below.clear()
        for path, count in owners:
            item = QListWidgetItem(self.tr("{path}   {count}").format(path=path, count=count))
            item.setData(Qt.ItemDataRole.UserRole, path)
            self.below.addItem(item)
        self.below.setVisible(bool(owners))
        self.view.setHidden(bool(owners))
        if owners:
            self.caption.setText(self.tr("Parameters are in the nodes below; choose one."))

    @Slot(QListWidgetItem)
    def _on_item_activated(self, item: QListWidgetItem) -> None:
        self.node_chosen.emit(item.data(Qt.ItemDataRole.UserRole))


def _owners_below(look: Look) -> list[tuple[str, str]]:
    """Return (path, shapes) of the modules below a node that have parameters themselves."""
    found = []
    for node in look.node.walk():
        own = [child for child in node.children if child.kind is NodeKind.PARAMETER]
        if own and node.path != look.node.path:
            shapes = ", ".join(
                f"{child.name} {'×'.join(map(str, child.shape or ()))}" for child in own
            )
            found.append((node.path, shapes))
    return found
