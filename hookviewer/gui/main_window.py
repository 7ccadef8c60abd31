"""Put the parts in their places and connect them. No other work is done here."""

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QPaintEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from hookviewer.engine.errors import HookviewerError
from hookviewer.gui import actions
from hookviewer.gui.conductor import Conductor
from hookviewer.gui.dispatcher import Dispatcher
from hookviewer.gui.error_report import ErrorReport
from hookviewer.gui.examples import EXAMPLES
from hookviewer.gui.help import show_about, show_keys
from hookviewer.gui.model_tasks import Surroundings
from hookviewer.gui.opening import Opening
from hookviewer.gui.panel_area import PanelArea
from hookviewer.gui.panels.base import Look
from hookviewer.gui.picture_desk import PictureDesk
from hookviewer.gui.settings import Settings
from hookviewer.gui.target_choice import TargetChoice, TargetKind
from hookviewer.gui.theme import apply_theme
from hookviewer.gui.widgets.error_dialog import show_error
from hookviewer.gui.widgets.input_view import InputView
from hookviewer.gui.widgets.inspector import Inspector
from hookviewer.gui.widgets.model_tree import ModelTree
from hookviewer.gui.widgets.predictions_view import PredictionsView
from hookviewer.gui.widgets.status_line import StatusLine
from hookviewer.gui.widgets.tool_bar import ToolBar
from hookviewer.gui.workspace import Workspace

_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea


class MainWindow(QMainWindow):
    """The model tree on the left, the panels in the middle, the inspector on the right."""

    painted = Signal()
    """The window is on the screen for the first time."""
    settled = Signal()
    """Everything that was asked for is on the screen."""

    def __init__(self, settings: Settings, report: ErrorReport) -> None:
        super().__init__()
        self._settings, self._report, self._is_painted = settings, report, False
        self.workspace = Workspace(self)
        self.models, self.pictures = Dispatcher("models", self), Dispatcher("pictures", self)
        self.conductor = Conductor(self.workspace, self.models, self)
        self.opening = Opening(self, self.conductor, settings)
        self.tree, self.input_view = ModelTree(), InputView()
        self.inspector, self.predictions = Inspector(), PredictionsView()
        self.area, self.status = PanelArea(), StatusLine()
        self.picture_desk = PictureDesk(self.pictures, self.area, self.inspector, report)
        self.setCentralWidget(self.area)
        self.setStatusBar(self.status)
        self.docks = (
            self._dock("model", self.tr("Model"), self.tree, _LEFT),
            self._dock("input", self.tr("Input"), self.input_view, _LEFT),
            self._dock("inspector", self.tr("Inspector"), self.inspector, _RIGHT),
            self._dock("predictions", self.tr("Predictions"), self.predictions, _RIGHT),
        )
        self.actions_by_name = self._build_actions()
        self.tools = ToolBar(self.actions_by_name, self)
        self.addToolBar(self.tools)
        self.setWindowTitle("hookviewer")
        self.setAcceptDrops(True)
        self._connect_workspace()
        self._connect_conductor()
        self._connect_widgets()
        self._restore()

    @property
    def busy(self) -> bool:
        """Whether anything is still to come."""
        return self.conductor.busy or self.pictures.busy

    def shutdown(self, patience: int = 5_000) -> bool:
        """End both worker threads; return whether each did in so many milliseconds."""
        ended = [self.models.shutdown(patience), self.pictures.shutdown(patience)]
        return all(ended)

    @Slot()
    def reset_layout(self) -> None:
        """Put every dock where it was in the beginning."""
        for dock, area in zip(self.docks, (_LEFT, _LEFT, _RIGHT, _RIGHT), strict=True):
            dock.setFloating(False)
            self.addDockWidget(area, dock)
            dock.show()
        model, given, inspector, predictions = self.docks
        self.resizeDocks([model, inspector], [430, 330], Qt.Orientation.Horizontal)
        self.resizeDocks([model, given], [620, 260], Qt.Orientation.Vertical)
        self.resizeDocks([inspector, predictions], [690, 190], Qt.Orientation.Vertical)
        self.area.arrange()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the layout, and wait for the workers."""
        self._settings.set_layout("geometry", self.saveGeometry())
        self._settings.set_layout("window", self.saveState())
        self._settings.set_layout("panels", self.area.layout_state())
        self._settings.sync()
        self.hide()  # at once, whatever a model may still be doing
        self.shutdown()
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell once that the window can be seen."""
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            self.painted.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a single file."""
        if self.opening.accepts(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the file."""
        event.acceptProposedAction()
        self.opening.open_dropped(event.mimeData())

    def _dock(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        return dock

    def _build_actions(self) -> actions.Actions:
        functions: dict[str, Callable[..., Any]] = {
            "open_model": self.opening.open_model,
            "open_input": self.opening.open_input,
            "save_screenshot": self.opening.save_screenshot,
            "quit": self.close,
            "run": self.conductor.run,
            "stop": self.conductor.stop,
            "find_node": self.tree.focus_filter,
            "fit": self.area.fit,
            "dark": self._on_dark_toggled,
            "reset_layout": self.reset_layout,
            "keys": partial(show_keys, self),
            "about": partial(show_about, self),
            **{name: partial(self.opening.open_example, name) for name in EXAMPLES},
        }
        built = actions.build_actions(self, functions)
        toggles = [dock.toggleViewAction() for dock in (*self.docks, *self.area.docks.values())]
        actions.add_to_menu(self, actions.MenuName.VIEW, toggles)
        return built

    def _connect_workspace(self) -> None:
        workspace = self.workspace
        workspace.model_changed.connect(self._on_model_changed)
        workspace.input_changed.connect(self._on_input_changed)
        workspace.selection_changed.connect(self._on_selection_changed)
        workspace.target_changed.connect(self._on_target_changed)
        workspace.survey_changed.connect(self._on_survey_changed)
        workspace.predictions_changed.connect(self._on_predictions_changed)
        workspace.leaves_changed.connect(self._on_leaves_changed)
        workspace.plan_changed.connect(self._show_look)
        workspace.run_changed.connect(self._show_look)

    def _connect_conductor(self) -> None:
        conductor = self.conductor
        conductor.stage_changed.connect(self._on_stage_changed)
        conductor.surroundings_found.connect(self._on_surroundings_found)
        conductor.failed.connect(self._on_failed)
        conductor.recovered.connect(self.area.message_bar.hide)
        self.models.busy_changed.connect(self.status.show_busy)
        self.models.busy_changed.connect(self.actions_by_name["stop"].setEnabled)
        self.models.busy_changed.connect(self._on_busy_changed)
        self.pictures.busy_changed.connect(self._on_busy_changed)
        self.actions_by_name["stop"].setEnabled(False)

    def _connect_widgets(self) -> None:
        self.tree.node_selected.connect(self.workspace.select)
        self.input_view.input_chosen.connect(self.conductor.open_input)
        self.predictions.class_chosen.connect(self._on_class_chosen)
        self.tools.target_chooser.target_chosen.connect(self.workspace.set_target)
        self.tools.target_chooser.target_refused.connect(self.conductor.refuse_target)
        self.opening.refused.connect(self.area.message_bar.show_message)
        self.tools.leaf_chosen.connect(self.workspace.set_target_leaf)
        self.tools.train_chosen.connect(self.workspace.set_train)
        self.tools.device_chosen.connect(self.conductor.set_device)
        self.area.header.call_chosen.connect(self.workspace.select_call)
        self.area.wanted_changed.connect(self.workspace.want)
        self.area.message_bar.details_wanted.connect(self._show_error)
        self._report.reported.connect(self._show_error)
        for panel in self.area.panels.values():
            panel.node_chosen.connect(self.workspace.select)

    def _restore(self) -> None:
        self.actions_by_name["dark"].setChecked(self._settings.dark)
        self.resize(1480, 920)
        self.reset_layout()
        self.restoreGeometry(self._settings.layout("geometry"))
        self.restoreState(self._settings.layout("window"))
        self.area.restore_layout(self._settings.layout("panels"))

    @Slot()
    def _on_model_changed(self) -> None:
        opened = self.workspace.opened
        if opened is not None:
            self.area.say(self.tr("running …"))  # not for a moment the last model's pictures
            self.tree.show_tree(opened.tree)
            self.tools.target_chooser.show_classes(self.workspace.class_names)
            self.tools.show_device(opened.device)
            loaded = opened.loaded
            self.status.show_model(loaded.title, loaded.weights, opened.tree.parameter_count)
            self.setWindowTitle(f"{loaded.title} – hookviewer")

    @Slot()
    def _on_input_changed(self) -> None:
        given = self.workspace.input
        if given is not None:
            self.input_view.show_input(given.picture, given.title, given.lines)

    @Slot()
    def _on_selection_changed(self) -> None:
        self.tree.select(self.workspace.path)
        self._show_header()

    @Slot()
    def _on_target_changed(self) -> None:
        target = self.workspace.target
        self.tools.target_chooser.show_target(target)
        self.predictions.show_target(target.index if target.kind is TargetKind.CLASS else None)

    @Slot()
    def _on_leaves_changed(self) -> None:
        self.tools.show_leaves(self.workspace.leaves, self.workspace.target_leaf)

    @Slot()
    def _on_survey_changed(self) -> None:
        self.tree.show_survey(self.workspace.shapes, self.workspace.operations.values())
        self._show_header()

    @Slot()
    def _on_predictions_changed(self) -> None:
        self.predictions.show_predictions(self.workspace.predictions)
        self.tools.target_chooser.show_predictions(self.workspace.predictions)
        self._on_target_changed()

    @Slot()
    def _show_look(self) -> None:
        node, run = self.workspace.node, self.workspace.run
        if node is not None:
            is_due = self.workspace.plan() is not None
            self.area.show_look(Look(node, self.workspace.call, run, is_due))
        if run is not None and run.timings.forward is not None:
            self.status.show_run(run)

    def _show_header(self) -> None:
        workspace = self.workspace
        shapes = workspace.shapes.get(workspace.path, ())
        self.area.header.show_node(workspace.node, workspace.call, shapes, workspace.source)

    @Slot(int)
    def _on_class_chosen(self, index: int) -> None:
        self.workspace.set_target(TargetChoice.of_class(index))

    @Slot(object)
    def _on_surroundings_found(self, surroundings: Surroundings) -> None:
        self.tools.show_devices(surroundings.devices)

    @Slot(str)
    def _on_stage_changed(self, text: str) -> None:
        self.status.show_stage(text)
        if self.workspace.opened is None:
            self.area.say(text)

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        opened = self.workspace.opened
        if opened is not None:
            self.tools.show_device(opened.device)  # which another one may have been chosen for
        if isinstance(error, HookviewerError):
            self.area.message_bar.show_message(str(error), error.details)
        else:
            self._report.report(error)

    @Slot(bool)
    def _on_busy_changed(self, _busy: bool) -> None:
        if not self.busy:
            self.settled.emit()

    @Slot(str, str)
    def _show_error(self, sentence: str, details: str) -> None:
        show_error(sentence, details, self)

    @Slot(bool)
    def _on_dark_toggled(self, dark: bool) -> None:
        self._settings.dark = dark
        apply_theme(dark=dark)
        actions.draw_icons(self.actions_by_name)
