"""The buttons above everything: open, run, stop, target, mode, device."""

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QToolBar, QWidget

from hookviewer.gui.widgets.chooser import Chooser
from hookviewer.gui.widgets.target_chooser import TargetChooser


class ToolBar(QToolBar):
    """Lays out the actions that are used all the time, and three choosers."""

    train_chosen = Signal(bool)
    device_chosen = Signal(str)
    leaf_chosen = Signal(str)

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tool-bar")
        self.setWindowTitle(self.tr("Tool bar"))
        self.setMovable(False)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.target_chooser = TargetChooser()
        self.leaf_chooser = Chooser(
            self.tr("Output"), self.tr("Which tensor of the model's output the target is about")
        )
        self.leaf_chooser.textActivated.connect(self.leaf_chosen)
        self.mode_chooser = Chooser(
            self.tr("Mode"), self.tr("The mode the model runs in; its own is put back afterwards")
        )
        self.mode_chooser.addItem(self.tr("eval"), False)
        self.mode_chooser.addItem(self.tr("train"), True)
        self.mode_chooser.activated.connect(self._on_mode_activated)
        self.device_chooser = Chooser(self.tr("Device"), self.tr("Where the model runs"))
        self.device_chooser.textActivated.connect(self.device_chosen)
        self.show_devices(("cpu",))
        self.addActions([actions["open_model"], actions["open_input"]])
        self.addSeparator()
        self.addActions([actions["run"], actions["stop"]])
        self.addSeparator()
        self.addWidget(QLabel(self.tr("Target ")))
        self.addWidget(self.target_chooser)
        self._leaf_action = self.addWidget(self.leaf_chooser)
        self._leaf_action.setVisible(False)
        self.addSeparator()
        self.addWidget(self.mode_chooser)
        self.addWidget(self.device_chooser)

    def show_devices(self, devices: tuple[str, ...]) -> None:
        """Offer the devices of this machine."""
        with QSignalBlocker(self.device_chooser):
            self.device_chooser.clear()
            self.device_chooser.addItems(list(devices))

    def show_device(self, device: str) -> None:
        """Show where the model lies."""
        self.device_chooser.setCurrentText(device)

    def show_leaves(self, leaves: tuple[str, ...], chosen: str | None) -> None:
        """Offer the tensors of the output, where there are several."""
        with QSignalBlocker(self.leaf_chooser):
            self.leaf_chooser.clear()
            self.leaf_chooser.addItems(list(leaves))
            self.leaf_chooser.setCurrentText(chosen or "")
        self._leaf_action.setVisible(len(leaves) > 1)

    def show_train(self, train: bool) -> None:
        """Show the mode."""
        self.mode_chooser.setCurrentIndex(int(train))

    def _on_mode_activated(self) -> None:
        self.train_chosen.emit(self.mode_chooser.currentData())
