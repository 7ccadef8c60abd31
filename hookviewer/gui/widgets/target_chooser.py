"""Choose what gradients are taken of: the top class, any class by name, the whole output."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QCompleter, QLineEdit, QWidget

from hookviewer.gui.model_tasks import Prediction
from hookviewer.gui.target_choice import TargetChoice, TargetKind
from hookviewer.gui.widgets.chooser import Chooser


class TargetChooser(Chooser):
    """The likeliest classes in the list; any other by typing a part of its name or its index."""

    target_chosen = Signal(object)
    """A TargetChoice."""
    target_refused = Signal(str)
    """A sentence on what was typed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Target"),
            self.tr("What gradients are taken of; type a class name to find others"),
            parent,
        )
        self._edit = QLineEdit()
        self.setEditable(True)
        self.setLineEdit(self._edit)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._class_names: tuple[str, ...] = ()
        self._predictions: tuple[Prediction, ...] = ()
        self._target = TargetChoice()
        self.setMinimumContentsLength(26)
        self.activated.connect(self._on_activated)
        self._edit.returnPressed.connect(self._on_return_pressed)
        self._edit.editingFinished.connect(self._on_editing_finished)
        self.show_classes(())

    def show_classes(self, class_names: tuple[str, ...]) -> None:
        """Offer the classes of another model."""
        self._class_names = class_names
        completer = QCompleter(list(class_names), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.activated.connect(self._on_typed)
        self.setCompleter(completer)
        self._fill()

    def show_predictions(self, predictions: tuple[Prediction, ...]) -> None:
        """Offer other likeliest classes."""
        self._predictions = predictions
        self._fill()

    def show_target(self, target: TargetChoice) -> None:
        """Show what was chosen, here or elsewhere."""
        self._target = target
        self._fill()

    def _fill(self) -> None:
        with QSignalBlocker(self):
            self.clear()
            top = self._predictions[0] if self._predictions else None
            best = self.tr("top class: {name}").format(name=_scored(top)) if top else ""
            self.addItem(best or self.tr("top class"), TargetChoice())
            for prediction in self._predictions:
                self.addItem(_scored(prediction), TargetChoice.of_class(prediction[0]))
            self.addItem(self.tr("whole output"), TargetChoice(TargetKind.WHOLE))
            chosen = [self.itemData(row) for row in range(self.count())]
            if self._target not in chosen:
                self.addItem(self._name(self._target), self._target)
                chosen.append(self._target)
            self.setCurrentIndex(chosen.index(self._target))
            self._edit.setCursorPosition(0)

    def _name(self, target: TargetChoice) -> str:
        if target.index < len(self._class_names):
            name = self._class_names[target.index]
        else:
            name = self.tr("class {index}").format(index=target.index)
        is_loss = target.kind is TargetKind.LOSS
        return self.tr("cross entropy, {name}").format(name=name) if is_loss else name

    @Slot(int)
    def _on_activated(self, row: int) -> None:
        self.target_chosen.emit(self.itemData(row))

    @Slot(str)
    def _on_typed(self, text: str) -> None:
        text = text.strip()
        found = self._classes_by(text)
        if len(found) == 1:
            self.target_chosen.emit(TargetChoice.of_class(found[0]))
            return
        self._fill()
        if found:
            names = ", ".join(self._class_names[index] for index in found[:3])
            more = ", …" if len(found) > 3 else ""
            sentence = self.tr("'{text}' is in {count} classes: {names}; choose one of them.")
            sentence = sentence.format(text=text, count=len(found), names=names + more)
        else:
            sentence = self.tr("There is no class '{text}'; choose one from the list.")
            sentence = sentence.format(text=text)
        self.target_refused.emit(sentence)

    def _classes_by(self, text: str) -> list[int]:
        """Return the classes that are meant by an index, a name or a part of names."""
        if text.isdecimal():
            return [int(text)]
        names = [name.lower() for name in self._class_names]
        if text.lower() in names:
            return [names.index(text.lower())]
        return [index for index, name in enumerate(names) if text.lower() in name]

    @Slot()
    def _on_return_pressed(self) -> None:
        text = self._edit.text()
        if self.findText(text) < 0:
            self._on_typed(text)

    @Slot()
    def _on_editing_finished(self) -> None:
        if not self._edit.hasFocus():  # the user went elsewhere without choosing
            self._fill()


def _scored(prediction: Prediction) -> str:
    _, name, probability = prediction
    return f"{name} {probability:.2f}" if probability >= 0.005 else f"{name} < 0.01"
