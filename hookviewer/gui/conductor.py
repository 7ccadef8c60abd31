"""Turn what the user wishes into tasks for the model worker, and their answers into state."""

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from hookviewer.engine.absence import STOPPED
from hookviewer.engine.errors import HookviewerError, UnknownPathError
from hookviewer.engine.node import Node
from hookviewer.engine.run import Run
from hookviewer.gui import model_tasks
from hookviewer.gui.dispatcher import Dispatcher, Task
from hookviewer.gui.model_tasks import OpenedModel, Outcome
from hookviewer.gui.models.operation_nodes import owner_of
from hookviewer.gui.target_choice import TargetChoice, TargetKind
from hookviewer.gui.workspace import Workspace

SURROUNDINGS, MODEL, INPUT, RUN = "surroundings", "model", "input", "run"
PATH, TARGET = "path", "target"


class Conductor(QObject):
    """Lives in the GUI thread. Whatever the workspace plans is run; only the newest plan counts."""

    stage_changed = Signal(str)
    """What is being done now, for the status bar."""
    surroundings_found = Signal(object)
    failed = Signal(object)
    """An exception; a HookviewerError is for the user, anything else is a bug."""
    recovered = Signal()
    """What failed last has now succeeded."""
    settled = Signal()
    """Nothing is under way any more."""
    _run_due = Signal()

    def __init__(self, workspace: Workspace, models: Dispatcher, parent: QObject) -> None:
        super().__init__(parent)
        self._workspace, self._models = workspace, models
        self._device, self._input_spec, self._path = "cpu", "demo", ""
        self._target: TargetChoice | None = None
        self._failed = ""
        self._is_due = False
        # Queued, so that several changes of one gesture make one run; no timer, which would wait
        # until the tree is painted.
        self._run_due.connect(self._on_run_due, Qt.ConnectionType.QueuedConnection)
        workspace.plan_changed.connect(self._on_plan_changed)
        workspace.selection_changed.connect(partial(self._resolve, PATH))
        workspace.target_changed.connect(partial(self._resolve, TARGET))
        models.busy_changed.connect(self._on_busy_changed)

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return self._models.busy or self._is_due

    def open_model(
        self,
        spec: str,
        input_spec: str | None = None,
        path: str = "",
        target: TargetChoice | None = None,
    ) -> None:
        """Open a model.

        Args:
            spec: Names the model.
            input_spec: What it is fed; None is what the last one was.
            path: The node to select; empty chooses one.
            target: What gradients are taken of; None chooses one that goes with the model.
        """
        self._input_spec, self._path = input_spec or self._input_spec, path
        self._target = target
        self.stage_changed.emit(self.tr("loading {spec} …").format(spec=spec))
        task = partial(model_tasks.open_model, spec, self._device)
        self._submit(MODEL, task, self._on_model)

    def look_around(self) -> None:
        """Import torch in the worker and find out what it offers."""
        self.stage_changed.emit(self.tr("loading torch …"))
        self._submit(SURROUNDINGS, model_tasks.look_around, self.surroundings_found.emit)

    def open_input(self, spec: str) -> None:
        """Feed the open model something else."""
        self._input_spec = spec
        opened = self._workspace.opened
        if opened is None:
            return
        self.stage_changed.emit(self.tr("reading {spec} …").format(spec=spec))
        task = partial(model_tasks.open_input, spec, opened.loaded.preprocessing)
        self._submit(INPUT, task, self._workspace.set_input)

    def set_device(self, device: str) -> None:
        """Open models on ``device`` from now on, the present one too."""
        opened = self._workspace.opened
        if opened is None:
            self._device = device
        elif opened.device != device:
            self._path, self._target = self._workspace.path, self._workspace.target
            self.stage_changed.emit(self.tr("moving to {device} …").format(device=device))
            self._submit(MODEL, partial(model_tasks.move_model, opened, device), self._on_model)

    @Slot(str)
    def refuse_target(self, sentence: str) -> None:
        """Say why what was typed is no target, until there is another."""
        self._complain(TARGET, HookviewerError(sentence))

    @Slot()
    def run(self) -> None:
        """Run what the workspace plans, now."""
        self._is_due = False
        opened, plan = self._workspace.opened, self._workspace.plan()
        if opened is None or plan is None:
            return
        self.stage_changed.emit(self.tr("running …"))
        task = partial(model_tasks.run_plan, opened, plan)
        self._submit(RUN, task, self._on_outcome)

    @Slot()
    def stop(self) -> None:
        """Give up whatever is under way."""
        if self.busy:
            self._is_due = False
            self._models.cancel()
            self.stage_changed.emit(self.tr("stopped"))
            self._show_stopped()

    def _show_stopped(self) -> None:
        if self._workspace.run is None and self._workspace.opened is not None:
            taps = self._workspace.taps
            stopped = Run(taps, absences={(tap, None, None): STOPPED for tap in taps})
            self._workspace.set_run(stopped)

    def _on_model(self, opened: OpenedModel) -> None:
        self._device = opened.device
        self._workspace.set_model(opened)
        default = TargetKind.WHOLE if opened.is_function else TargetKind.TOP_CLASS
        self._workspace.set_target(self._target or TargetChoice(default))
        self._workspace.select(self._path or _first_look(opened.tree))
        if self._path not in ("", self._workspace.path):
            self._refuse_path(opened.tree)
        self.open_input(self._input_spec)

    def _on_outcome(self, outcome: Outcome) -> None:
        self._workspace.set_outcome(outcome)
        opened, path = self._workspace.opened, self._path
        is_operation = owner_of(path) is not None and path == self._workspace.path
        if opened is not None and is_operation and path not in self._workspace.operations:
            self._refuse_path(opened.tree)  # only now it is known which operations there are
        self._path = ""

    def _refuse_path(self, tree: Node) -> None:
        known = [*(node.path for node in tree.walk()), *self._workspace.operations]
        error = UnknownPathError(self._path, known)
        self._workspace.select(_first_look(tree))
        self._complain(PATH, error)

    def _submit(self, key: str, task: Task, then: Callable[[Any], None]) -> None:
        def succeed(result: object) -> None:
            self._resolve(key)
            then(result)

        self._models.submit(key, task, succeed, partial(self._fail, key))

    def _complain(self, key: str, error: Exception) -> None:
        self._failed = key
        self.failed.emit(error)

    def _resolve(self, key: str) -> None:
        if self._failed == key:
            self._failed = ""
            self.recovered.emit()

    def _fail(self, key: str, error: Exception) -> None:
        if key == INPUT and self._workspace.input is not None:
            self._input_spec = self._workspace.input.spec  # the next model is fed what worked
        self.stage_changed.emit(self.tr("failed"))
        if isinstance(error, HookviewerError) and error.run is not None:
            self._workspace.set_run(error.run)  # what was captured before is kept
        elif key == RUN:
            self._show_stopped()
        if not (key == RUN and self._is_due):  # with what this run showed, another is on its way
            self._complain(key, error)

    @Slot()
    def _on_plan_changed(self) -> None:
        if self._workspace.plan() is not None:
            self._is_due = True
            self._run_due.emit()
        self._models.cancel(RUN)  # its answer would be to another question

    @Slot()
    def _on_run_due(self) -> None:
        if self._is_due:
            self.run()

    @Slot(bool)
    def _on_busy_changed(self, busy: bool) -> None:
        if not busy and not self._is_due:
            self.settled.emit()


def _first_look(root: Node) -> str:
    """Return the node to begin with: the first convolution, else the root."""
    for node in root.walk():
        if any(child.name == "weight" and len(child.shape or ()) == 4 for child in node.children):
            return node.path
    return root.path
