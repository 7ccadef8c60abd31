"""The line above the panels: which node, what it is, which of its calls."""

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from hookviewer.engine.node import Node, NodeKind
from hookviewer.gui.widgets.chooser import Chooser
from hookviewer.gui.widgets.elided_label import ElidedLabel


class NodeHeader(QWidget):
    """Names the selected node; offers its calls when there are several."""

    call_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = ElidedLabel()
        self.label.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        font = self.label.font()
        font.setBold(True)
        self.label.setFont(font)
        self.note = ElidedLabel()
        self.call_chooser = Chooser(
            self.tr("Call"), self.tr("Which use of the node in this run, from 0")
        )
        self.call_chooser.currentIndexChanged.connect(self.call_chosen)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 4)
        layout.addWidget(self.label)
        layout.addWidget(self.call_chooser)
        layout.addWidget(self.note, stretch=1)
        self.show_node(None, 0, ())

    def show_node(
        self, node: Node | None, call: int, shapes: tuple[tuple[int, ...], ...], source: str = ""
    ) -> None:
        """Show a node.

        Args:
            node: Which one; None shows nothing.
            call: Which of its calls.
            shapes: Those of its output, one per call.
            source: The file and line that an operation was called from.
        """
        if node is None:
            self.label.clear()
            self.note.clear()
        else:
            self.label.setText(node.path or node.name)
            notes = self._notes(node, call, shapes)
            self.note.setText(" · ".join([*notes, source] if source else notes))
        with QSignalBlocker(self.call_chooser):
            self.call_chooser.clear()
            self.call_chooser.addItems(
                [self.tr("call {number}").format(number=n) for n in range(len(shapes))]
            )
            self.call_chooser.setCurrentIndex(call)
        self.call_chooser.setVisible(len(shapes) > 1)

    def _notes(self, node: Node, call: int, shapes: tuple[tuple[int, ...], ...]) -> list[str]:
        is_tensor = node.kind not in (NodeKind.MODULE, NodeKind.OPERATION)
        notes = [f"{node.kind} ({node.type_name})" if is_tensor else node.type_name]
        shape = shapes[call] if call < len(shapes) else node.shape
        if shape:
            notes.append(" × ".join(map(str, shape)))
        elif shape is not None and node.kind is not NodeKind.MODULE:  # a module may give none
            notes.append(self.tr("scalar"))
        if node.parameter_count:
            notes.append(self.tr("{count} parameters").format(count=f"{node.parameter_count:,}"))
        return notes
