"""What every panel promises, and the list of all of them."""

from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from hookviewer.engine.node import Node
from hookviewer.engine.plan import Quantity
from hookviewer.engine.run import Run
from hookviewer.extension import Registry
from hookviewer.gui.picture_tasks import Picture


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What panels are to show: a node, one of its calls, and the run, if it is there yet.

    ``is_due`` tells whether a run is to be waited for where there is none.
    """

    node: Node
    call: int = 0
    run: Run | None = None
    is_due: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """A tile that the user picked, as it is shown."""

    picture: Picture
    tile: int
    color_map: str


class Panel(QWidget):
    """Shows one quantity of the selected node. It asks for nothing and runs nothing.

    What it cannot draw at once it wishes for: whoever listens to ``picture_wanted`` answers with
    ``show_picture`` or ``show_failure``.
    """

    picture_wanted = Signal(object)
    """A PictureRequest."""
    tile_picked = Signal(object)
    """A Pick that the user just made."""
    pick_refreshed = Signal(object)
    """The last Pick again, in a new picture or new colours."""
    picture_shown = Signal()
    """There is a new picture."""
    emptied = Signal()
    """There is no picture any more."""
    node_chosen = Signal(str)
    """The path of another node that the user wants to see."""

    name: ClassVar[str]
    """Its key in the registry and in the stored layout; never translated."""
    quantity: ClassVar[Quantity]

    def title(self) -> str:
        """Return the name in the window, translated."""
        raise NotImplementedError

    def show_look(self, look: Look) -> None:
        """Show a node, or that nothing is there and why."""
        raise NotImplementedError

    def show_picture(self, picture: Picture) -> None:
        """Show a finished picture."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Show a text in place of everything."""
        raise NotImplementedError

    def show_failure(self, sentence: str) -> None:
        """Say why there is no picture."""
        raise NotImplementedError

    @property
    def has_values(self) -> bool:
        """Whether the node has something to show here, even if its picture is still to come."""
        raise NotImplementedError

    @property
    def picked(self) -> int | None:
        """The tile that is marked."""
        raise NotImplementedError

    def pick(self, tile: int) -> None:
        """Pick a tile, as the user does."""
        raise NotImplementedError

    def follow(self, pick: Pick) -> None:
        """Mark the tile with the same index that was picked in another panel, if there is one."""
        raise NotImplementedError

    def fit(self) -> None:
        """Zoom so that everything is in view."""
        raise NotImplementedError


panels: Registry[type[Panel]] = Registry("panel")
