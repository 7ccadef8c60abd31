"""The application's state: the only thing panels watch, changed through setters that announce."""

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal

from hookviewer.engine.node import Node, NodeKind, OperationRecord
from hookviewer.engine.plan import Plan, Quantity, Tap
from hookviewer.engine.run import Run
from hookviewer.gui.model_tasks import OpenedModel, Outcome, Prediction
from hookviewer.gui.models.operation_nodes import operation_node, owner_of
from hookviewer.gui.target_choice import TargetChoice
from hookviewer.inputs import LoadedInput


class Workspace(QObject):
    """Lives in the GUI thread."""

    model_changed = Signal()
    input_changed = Signal()
    selection_changed = Signal()
    target_changed = Signal()
    survey_changed = Signal()
    """There are other shapes and operations."""
    predictions_changed = Signal()
    leaves_changed = Signal()
    plan_changed = Signal()
    """What should be run is no longer what was run last."""
    run_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._opened: OpenedModel | None = None
        self._nodes: Mapping[str, Node] = {}
        self._input: LoadedInput | None = None
        self._path = ""
        self._call = 0
        self._target = TargetChoice()
        self._leaves: tuple[str, ...] = ()
        self._leaf: str | None = None
        self._train = False
        self._seed = 0
        self._wanted: frozenset[Quantity] = frozenset()
        self._run: Run | None = None
        self._shapes: Mapping[str, tuple[tuple[int, ...], ...]] = {}
        self._operations: dict[str, OperationRecord] = {}
        self._predictions: tuple[Prediction, ...] = ()

    @property
    def opened(self) -> OpenedModel | None:
        """The model on show."""
        return self._opened

    @property
    def input(self) -> LoadedInput | None:
        """What the model is fed."""
        return self._input

    @property
    def path(self) -> str:
        """The selected node."""
        return self._path

    @property
    def node(self) -> Node | None:
        """The selected node's description."""
        return self._node_at(self._path)

    @property
    def source(self) -> str:
        """The file and line that the selected operation was called from; else empty."""
        record = self._operations.get(self._path)
        return record.source if record is not None else ""

    @property
    def call(self) -> int:
        """Which call of the selected node is looked at."""
        return self._call

    @property
    def target(self) -> TargetChoice:
        """What gradients are taken of."""
        return self._target

    @property
    def leaves(self) -> tuple[str, ...]:
        """The tensors of the model's output, by path, as the last run showed them."""
        return self._leaves

    @property
    def target_leaf(self) -> str | None:
        """Which of them the target is about; None while there is only one."""
        return self._leaf

    @property
    def train(self) -> bool:
        """Whether the model runs in train mode."""
        return self._train

    @property
    def run(self) -> Run | None:
        """The newest run of the present plan; None until it is there."""
        return self._run

    @property
    def shapes(self) -> Mapping[str, tuple[tuple[int, ...], ...]]:
        """The shapes of what each module and operation returned, one per call, by path.

        They are those of the last survey: the first run with a model, an input and a mode.
        """
        return self._shapes

    @property
    def operations(self) -> Mapping[str, OperationRecord]:
        """The operations that the last survey has seen, by path, in the order of first calls."""
        return self._operations

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """The likeliest classes for the present input."""
        return self._predictions

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names along the output's class axis; empty when unknown."""
        return self._opened.loaded.class_names if self._opened else ()

    @property
    def taps(self) -> frozenset[Tap]:
        """What the visible panels want of the selected node."""
        return frozenset(Tap(self._path, quantity) for quantity in self._wanted)

    def plan(self) -> Plan | None:
        """Return what should be run now; None without a model and an input."""
        if self._opened is None or self._input is None:
            return None
        taps = self.taps
        wants_gradient = any(tap.quantity.is_gradient for tap in taps)
        return Plan(
            taps=taps,
            inputs=self._input.inputs,
            target=self._target.resolve(self._leaf) if wants_gradient else None,
            train=self._train,
            seed=self._seed,
            survey=not self._shapes,
            class_names=self.class_names,
        )

    def set_model(self, opened: OpenedModel) -> None:
        """Show another model. Its input is kept until another is set."""
        self._opened = opened
        self._nodes = {node.path: node for node in opened.tree.walk()}
        self._path, self._call, self._target = "", 0, TargetChoice()
        self._input, self._shapes, self._operations = None, {}, {}
        self.model_changed.emit()
        self.selection_changed.emit()
        self.target_changed.emit()
        self._set_leaves(())
        self._set_predictions(())
        self._drop_run()

    def set_input(self, loaded: LoadedInput) -> None:
        """Feed the model something else."""
        self._input, self._shapes = loaded, {}
        self.input_changed.emit()
        self._drop_run()

    def select(self, path: str) -> None:
        """Make ``path`` the selected node, and look at its first call.

        Any operation in a module of the model may be selected: only runs show which there are.
        """
        if path != self._path and self._node_at(path) is not None:
            self._path, self._call = path, 0
            self.selection_changed.emit()
            self._drop_run()

    def select_call(self, call: int) -> None:
        """Look at another call of the selected node."""
        if call != self._call:
            self._call = call
            self.selection_changed.emit()
            self.run_changed.emit()

    def set_target(self, target: TargetChoice) -> None:
        """Take gradients of something else."""
        if target != self._target:
            self._target = target
            self.target_changed.emit()
            self._drop_run()

    def set_target_leaf(self, leaf: str) -> None:
        """Make the target one of another tensor of the output."""
        if leaf != self._leaf:
            self._leaf = leaf
            self.leaves_changed.emit()
            self._drop_run()

    def set_train(self, train: bool) -> None:
        """Run the model in train or in eval mode."""
        if train != self._train:
            self._train = train
            self._shapes = {}
            self._drop_run()

    def set_seed(self, seed: int) -> None:
        """Start the random numbers of every run somewhere else."""
        if seed != self._seed:
            self._seed = seed
            self._drop_run()

    def want(self, quantities: frozenset[Quantity]) -> None:
        """Tell which quantities the visible panels show; hidden panels cost nothing."""
        if quantities != self._wanted:
            missing = quantities - self._wanted
            self._wanted = quantities
            is_recorded = self._run is not None and self.taps <= self._run.taps
            if missing and not is_recorded:
                self._drop_run()

    def set_outcome(self, outcome: Outcome) -> None:
        """Show what a run brought home."""
        if outcome.run.shapes:
            self._set_survey(outcome.run, outcome.run.shapes)
        self._set_predictions(outcome.predictions)
        self._run = outcome.run
        self.run_changed.emit()
        self._set_leaves(outcome.run.leaves)

    def set_run(self, run: Run) -> None:
        """Show captures only, as those of a run that failed half-way."""
        if not self._shapes:  # what is on show is of another input
            is_whole = "" in run.shapes  # the forward may have failed
            self._set_survey(run, run.shapes if is_whole else {})
            self._set_predictions(())
        self._run = run
        self.run_changed.emit()
        if run.leaves:
            self._set_leaves(run.leaves)

    def _node_at(self, path: str) -> Node | None:
        owner = owner_of(path)
        if owner is None:
            return self._nodes.get(path)
        module = self._nodes.get(owner)
        is_module = module is not None and module.kind is NodeKind.MODULE
        return operation_node(path) if is_module else None

    def _set_survey(self, run: Run, shapes: Mapping[str, tuple[tuple[int, ...], ...]]) -> None:
        self._operations = {record.path: record for record in run.operations}
        of_operations = {record.path: record.shapes for record in run.operations}
        self._shapes = {**shapes, **of_operations} if shapes else {}
        self.survey_changed.emit()

    def _set_predictions(self, predictions: tuple[Prediction, ...]) -> None:
        if predictions != self._predictions:
            self._predictions = predictions
            self.predictions_changed.emit()

    def _set_leaves(self, leaves: tuple[str, ...]) -> None:
        if leaves == self._leaves:
            return
        self._leaves = leaves
        if len(leaves) < 2:
            self._leaf = None
            self.leaves_changed.emit()
        elif self._leaf not in leaves:
            self.set_target_leaf(leaves[0])  # until the user chooses another
        else:
            self.leaves_changed.emit()

    def _drop_run(self) -> None:
        """Forget the shown run, so that no old picture stands for a new plan."""
        self._run = None
        self.plan_changed.emit()
