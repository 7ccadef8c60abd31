"""Bring what panels and the inspector want to see to the picture worker, and the answers back."""

from functools import partial

from PySide6.QtCore import QObject, Slot

from hookviewer.engine.errors import HookviewerError
from hookviewer.gui.dispatcher import Dispatcher
from hookviewer.gui.error_report import ErrorReport
from hookviewer.gui.panel_area import PanelArea
from hookviewer.gui.panels.base import Panel, Pick
from hookviewer.gui.picture_tasks import PictureRequest, TileDetails, build_picture, describe_tile
from hookviewer.gui.widgets.inspector import Inspector

_INSPECTOR = "inspector"


class PictureDesk(QObject):
    """Lives in the GUI thread. Of each panel, and of the inspector, only the newest wish counts."""

    def __init__(
        self, pictures: Dispatcher, area: PanelArea, inspector: Inspector, report: ErrorReport
    ) -> None:
        super().__init__(area)
        self._pictures, self._inspector, self._report = pictures, inspector, report
        for panel in area.panels.values():
            panel.picture_wanted.connect(partial(self._on_picture_wanted, panel))
        area.picked.connect(self._on_picked)
        area.nothing_picked.connect(self._on_nothing_picked)

    def _on_picture_wanted(self, panel: Panel, request: PictureRequest) -> None:
        def refuse(error: Exception) -> None:
            panel.show_failure(self._report.sentence_of(error))
            if not isinstance(error, HookviewerError):
                self._report.report(error)

        task = partial(build_picture, request)
        self._pictures.submit(panel.name, task, panel.show_picture, refuse)

    @Slot(object)
    def _on_picked(self, pick: Pick) -> None:
        def show(details: TileDetails) -> None:
            self._inspector.show_tile(pick.picture, pick.tile, pick.color_map, details)

        task = partial(describe_tile, pick.picture, pick.tile)
        self._pictures.submit(_INSPECTOR, task, show, self._report.report)

    @Slot()
    def _on_nothing_picked(self) -> None:
        self._pictures.cancel(_INSPECTOR)
        self._inspector.clear()
