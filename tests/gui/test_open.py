import numpy as np
import pytest
import torch
from PIL import Image
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QToolButton
from torch import nn

from hookviewer.engine.cancel import CancelToken
from hookviewer.gui import model_tasks
from hookviewer.gui.opening import PICTURE_SUFFIXES
from hookviewer.gui.widgets.open_model_dialog import OpenModelDialog

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 2, 3)

    def forward(self, x):
        return self.body(x).mean((2, 3))


build = Net
"""
MARKER = """
import pathlib

pathlib.Path(__file__).with_name("it ran").touch()


def build():
    from torch import nn

    return nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten())


class Other:
    pass


def _private():
    pass
"""


@pytest.fixture
def picture(tmp_path):
    """A red picture with a blue left half."""
    pixels = np.zeros((300, 400, 3), np.uint8)
    pixels[:, :200, 2], pixels[:, 200:, 0] = 255, 255
    path = tmp_path / "half blue.png"
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def marker(tmp_path):
    """A script that leaves a file behind when it is run."""
    path = tmp_path / "script.py"
    path.write_text(MARKER)
    return path


@pytest.fixture
def drop(window):
    """Return a function that drags files over a widget in the window and lets them go there."""

    def drop(widget, *paths):
        dragged = QMimeData()
        dragged.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        place = widget.mapTo(window, widget.rect().center())
        how = Qt.DropAction.CopyAction, dragged, Qt.MouseButton.LeftButton
        enter = QDragEnterEvent(place, *how, Qt.KeyboardModifier.NoModifier)
        enter.ignore()  # until somebody takes it
        QApplication.sendEvent(window.windowHandle(), enter)
        if enter.isAccepted():
            event = QDropEvent(QPointF(place), *how, Qt.KeyboardModifier.NoModifier)
            QApplication.sendEvent(window.windowHandle(), event)
        return enter.isAccepted()

    return drop


@pytest.fixture
def dialog(window):
    """Return a function that gives the dialog that is open."""

    def dialog():
        (found,) = (each for each in window.findChildren(OpenModelDialog) if each.isVisible())
        return found

    return dialog


def listed(dialog):
    model = dialog.list.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def ran(marker):
    return marker.with_name("it ran").exists()


def message(window):
    bar = window.area.message_bar
    return bar.label.text() if bar.isVisible() else ""


def test_a_dropped_picture_becomes_the_input(window, open_net, settles, drop, picture):
    open_net(NET, given="noise:1x3x8x8")
    with settles():
        assert drop(window, picture)
    fed = window.workspace.input
    assert (fed.title, tuple(fed.inputs.args[0].shape)) == ("half blue.png", (1, 3, 224, 224))
    left, right = (window.input_view.thumbnail.image.pixelColor(x, 100) for x in (20, 200))
    assert (left.toTuple()[:3], right.toTuple()[:3]) == ((0, 0, 255), (255, 0, 0))
    assert window.input_view.caption.text().startswith("half blue.png")


@pytest.mark.parametrize("where", ["maps", "tree", "inspector", "histogram"])
def test_a_picture_may_be_dropped_anywhere_on_the_window(
    window, open_net, settles, drop, picture, maps, where
):
    open_net(NET, given="noise:1x3x8x8")
    target = {
        "maps": maps.view._graphics.viewport(),
        "tree": window.tree.view.viewport(),
        "inspector": window.inspector.view._graphics.viewport(),
        "histogram": window.inspector.histogram._plot.viewport(),
    }[where]
    with settles():
        assert drop(target, picture)
    assert window.workspace.input.title == "half blue.png"


def test_two_files_or_a_page_of_the_web_are_not_taken(window, drop, picture):
    assert not drop(window, picture, picture)
    page = QMimeData()
    page.setUrls([QUrl("https://example.org/cat.png")])
    assert not window.opening.accepts(page)


def test_dropping_a_python_file_asks_and_runs_nothing(window, drop, marker, dialog):
    drop(window, marker)
    assert listed(dialog()) == [f"{marker}:build", f"{marker}:Other"]
    assert dialog().spec == f"{marker}:build"
    assert not ran(marker)
    dialog().reject()
    assert not ran(marker)


def test_accepting_the_dialog_runs_the_file_and_opens_its_model(
    qtbot, window, settles, drop, marker, dialog
):
    drop(window, marker)
    with settles():
        qtbot.keyClick(dialog().edit, Qt.Key.Key_Return)
    assert ran(marker)
    assert window.workspace.opened.loaded.title == "script.py:build"
    assert window.windowTitle() == "script.py:build – hookviewer"


def test_a_python_file_without_functions_leaves_the_name_to_the_user(
    window, drop, dialog, tmp_path
):
    for content in ("x = 1", "this is no Python"):
        (tmp_path / "odd.py").write_text(content)
        drop(window, tmp_path / "odd.py")
        assert dialog().spec == f"{tmp_path / 'odd.py'}:"
        assert listed(dialog()) == []
        dialog().reject()


def test_the_dialog_searches_torchvisions_models(qtbot, window, settles, dialog):
    with settles():
        window.conductor.look_around()
    window.actions_by_name["open_model"].trigger()
    assert listed(dialog())[0] == "demo"
    qtbot.keyClicks(dialog().edit, "mobile v2")
    assert listed(dialog()) == [
        "torchvision:mobilenet_v2",
        "torchvision:quantized_mobilenet_v2",
    ]
    dialog().reject()


def test_a_click_in_the_list_fills_the_line_and_open_opens_it(qtbot, window, settles, dialog):
    with settles():
        window.conductor.look_around()
    window.conductor.open_input("noise:1x3x32x32")
    window.actions_by_name["open_model"].trigger()
    qtbot.keyClicks(dialog().edit, "squeezenet1_1")
    place = dialog().list.visualRect(dialog().list.model().index(0, 0)).center()
    qtbot.mouseClick(dialog().list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert dialog().spec == "torchvision:squeezenet1_1"
    button = dialog().buttons.button(dialog().buttons.StandardButton.Open)
    with settles():
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.workspace.opened.loaded.title == "squeezenet1_1"
    assert "random weights" in window.status._model.text()


def test_a_part_of_a_name_opens_the_first_that_has_it(qtbot, window, settles, dialog):
    with settles():
        window.conductor.look_around()
    window.conductor.open_input("noise:1x3x32x32")
    window.actions_by_name["open_model"].trigger()
    qtbot.keyClicks(dialog().edit, "squeezenet1_1")
    with settles():
        qtbot.keyClick(dialog().edit, Qt.Key.Key_Return)
    assert window.workspace.opened.loaded.title == "squeezenet1_1"


def test_the_down_key_goes_from_the_line_to_the_list(qtbot, window, dialog):
    window.actions_by_name["open_model"].trigger()
    qtbot.waitUntil(dialog().edit.hasFocus)
    qtbot.keyClick(dialog().edit, Qt.Key.Key_Down)
    qtbot.waitUntil(dialog().list.hasFocus)
    assert dialog().list.currentIndex().data() == "demo"
    dialog().reject()


def test_names_that_arrive_later_appear_in_the_open_dialog(window, settles, dialog):
    window.actions_by_name["open_model"].trigger()
    assert listed(dialog()) == ["demo"]
    with settles():
        window.conductor.look_around()
    assert "torchvision:resnet18" in listed(dialog())
    dialog().reject()


def test_nothing_can_be_opened_without_a_name(qtbot, window, dialog):
    window.actions_by_name["open_model"].trigger()
    button = dialog().buttons.button(dialog().buttons.StandardButton.Open)
    assert not button.isEnabled()
    qtbot.keyClicks(dialog().edit, "demo")
    assert button.isEnabled()
    dialog().reject()


def test_the_python_file_button_suggests_without_running(
    qtbot, window, marker, dialog, monkeypatch
):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(marker), ""))
    window.actions_by_name["open_model"].trigger()
    (browse,) = (b for b in dialog().findChildren(QPushButton) if "Python" in b.text())
    qtbot.mouseClick(browse, Qt.MouseButton.LeftButton)
    assert dialog().spec == f"{marker}:build"
    assert not ran(marker)
    dialog().reject()


def test_the_input_dialog_offers_pictures_and_opens_what_is_chosen(
    window, open_net, settles, picture
):
    open_net(NET, given="noise:1x3x8x8")
    window.actions_by_name["open_input"].trigger()
    (chooser,) = window.findChildren(QFileDialog)
    assert "*.png" in chooser.nameFilters()[0]
    with settles():
        chooser.fileSelected.emit(str(picture))
    chooser.reject()
    assert window.workspace.input.title == "half blue.png"


def test_every_offered_kind_of_picture_can_be_read(tmp_path):
    Image.init()
    assert {f".{suffix}" for suffix in PICTURE_SUFFIXES} <= Image.EXTENSION.keys()


def test_the_built_in_pictures_are_one_click_away(qtbot, window, open_net, settles):
    open_net(NET, given="noise:1x3x8x8")
    buttons = {button.text(): button for button in window.input_view.findChildren(QToolButton)}
    for name, title in (("coffee", "coffee"), ("camera", "camera"), ("cat", "chelsea")):
        with settles():
            qtbot.mouseClick(buttons[name], Qt.MouseButton.LeftButton)
        assert window.workspace.input.title == title


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("./nothing.py:build", "There is no file 'nothing.py'."),
        ("torchvision:resnet", "torchvision has no model 'resnet'."),
        ("no.such.package:build", "There is no module 'no'"),
        ("what is this", "cannot be opened as a model"),
    ],
)
def test_a_model_that_cannot_be_opened_leaves_the_open_one_as_it_is(
    window, open_net, settles, maps, spec, sentence
):
    net = open_net(NET, given="noise:1x3x8x8")
    run = window.workspace.run
    with settles():
        window.conductor.open_model(spec)
    assert sentence in message(window)
    assert window.workspace.opened.loaded.model is net
    assert window.workspace.run is run
    assert maps.picture is not None


def test_an_error_in_the_users_script_is_told_with_its_line(window, settles, tmp_path):
    (tmp_path / "net.py").write_text("def build():\n    raise ValueError('too many layers')")
    with settles():
        window.conductor.open_model(f"{tmp_path / 'net.py'}:build")
    assert "net.py, line 2: ValueError: too many layers." in message(window)
    assert window.workspace.opened is None


def test_an_input_that_cannot_be_opened_leaves_the_old_one_and_its_maps(
    window, open_net, settles, maps, tmp_path
):
    open_net(NET, given="noise:1x3x8x8")
    (tmp_path / "no.png").write_bytes(b"\x89PNG but not really")
    with settles():
        window.conductor.open_input(str(tmp_path / "no.png"))
    assert "no.png" in message(window)
    assert window.workspace.input.title == "noise 1x3x8x8"
    assert maps.picture is not None


def test_the_next_model_is_fed_the_input_that_worked_last(window, open_net, settles, tmp_path):
    open_net(NET, given="noise:1x3x8x8")
    with settles():
        window.conductor.open_input(str(tmp_path / "no.png"))
    open_net(NET, given=None)
    assert window.workspace.input.title == "noise 1x3x8x8"
    assert window.workspace.run is not None


def test_an_unknown_path_is_answered_with_near_ones_and_the_model_is_shown(window, open_net, maps):
    open_net(NET, given="noise:1x3x8x8", at="bdoy")
    assert message(window) == "This model has no node 'bdoy'. Near it: body."
    assert window.workspace.path == "body"
    assert maps.picture is not None


def test_the_answer_to_an_unknown_path_goes_with_the_next_selection(window, open_net, click_node):
    open_net(NET, given="noise:1x3x8x8", at="bdoy")
    click_node("body.weight")
    assert message(window) == ""


def test_another_model_takes_the_place_of_the_first_in_every_part(window, open_net, maps):
    open_net(NET, given="noise:1x3x8x8", at="body.weight")
    open_net(
        "def build(): return nn.Sequential(nn.Flatten(), nn.Linear(12, 3))",
        given="noise:1x3x2x2",
        at="1",
    )
    assert maps.picture.request.capture.tensor.shape == (1, 3)
    assert window.tree.view.currentIndex().data() == "1"
    assert len(window.workspace.predictions) == 3
    assert window.workspace.call == 0


def test_train_mode_runs_the_model_in_train_mode_and_puts_every_flag_back(
    qtbot, window, open_net, settles, maps
):
    net = open_net(
        "def build():\n"
        "    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.BatchNorm2d(1)), nn.Flatten())\n"
        "    return net.eval().requires_grad_(True)",
        given="noise:1x1x4x4",
        at="0",
    )
    net[0].train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    assert np.count_nonzero(maps.picture.stack.values) == 16
    with settles():
        qtbot.keyClick(window.tools.mode_chooser, Qt.Key.Key_Down)
    assert 0 < np.count_nonzero(maps.picture.stack.values == 0) < 16
    assert [module.training for module in net.modules()] == [False, True, False, False, False]
    after = net.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_two_looks_in_train_mode_are_equal(qtbot, window, open_net, settles, maps):
    open_net("def build(): return nn.Sequential(nn.Dropout(0.5), nn.Flatten())", at="0")
    with settles():
        qtbot.keyClick(window.tools.mode_chooser, Qt.Key.Key_Down)
    first = maps.picture.stack.values
    with settles():
        qtbot.keyClick(window, Qt.Key.Key_F5)
    assert maps.picture.stack.values is not first
    np.testing.assert_array_equal(maps.picture.stack.values, first)


def test_a_device_that_is_not_there_is_a_sentence():
    opened = model_tasks.OpenedModel(
        model_tasks.LoadedModel("", "", nn.Linear(1, 1), None), None, "cpu"
    )
    with pytest.raises(model_tasks.HookviewerError, match="cannot be put on 'cuda:77'"):
        model_tasks.move_model(opened, "cuda:77", CancelToken())


def test_the_last_folder_is_remembered(window, open_net, settles, drop, picture, settings):
    open_net(NET, given="noise:1x3x8x8")
    with settles():
        drop(window, picture)
    assert settings.folder == str(picture.parent)
