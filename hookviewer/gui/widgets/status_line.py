"""What is being done, and what the last run cost."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLabel, QProgressBar, QStatusBar, QWidget

from hookviewer.engine.run import Run
from hookviewer.gui.widgets.elided_label import ElidedLabel
from hookviewer.gui.widgets.numbers import bytes_text, count_text, duration_text


class StatusLine(QStatusBar):
    """One line: a moving bar while something runs, then timings, memory and parameters."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stage = ElidedLabel()
        self._bar = QProgressBar(maximum=0, textVisible=False)
        self._bar.setFixedSize(120, 12)
        self._bar.hide()
        self._model = QLabel()
        self.addWidget(self._stage, stretch=1)
        self.addPermanentWidget(self._bar)
        self.addPermanentWidget(self._model)

    @property
    def text(self) -> str:
        """What the line says now."""
        return self._stage.text()

    @Slot(str)
    def show_stage(self, text: str) -> None:
        """Say what is being done."""
        self._stage.setText(text)

    @Slot(bool)
    def show_busy(self, busy: bool) -> None:
        """Show or hide the moving bar."""
        self._bar.setVisible(busy)

    def show_run(self, run: Run) -> None:
        """Say what a run cost."""
        parts = [self.tr("ready")]
        timings = run.timings
        if timings.forward is not None:
            parts.append(self.tr("forward {time}").format(time=duration_text(timings.forward)))
        if timings.backward is not None:
            parts.append(self.tr("backward {time}").format(time=duration_text(timings.backward)))
        parts.append(self.tr("{size} captured").format(size=bytes_text(run.byte_count)))
        self._stage.setText(" · ".join(parts))

    def show_model(self, title: str, weights: str, parameters: int) -> None:
        """Say which model is open."""
        count = self.tr("{count} parameters").format(count=count_text(parameters))
        self._model.setText(" · ".join((title, weights, count)))
