import threading

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt

from hookviewer.engine.plan import Quantity

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 2)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.relu(self.conv(x)).flatten(1))


def build():
    torch.manual_seed(0)
    return Net().eval()
"""
SHARED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.twice = nn.Conv2d(1, 1, 1)

    def forward(self, x):
        return self.twice(self.twice(x) + 1)


build = Net
"""
PAIR = """
class Pair(nn.Module):
    def forward(self, x):
        return {"maps": torch.cat([x, 2 * x], 1), "mask": x > 0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = Pair()

    def forward(self, x):
        return self.pair(x)["maps"].flatten(1)


build = Net
"""
BRANCH = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(1, 2, 1)
        self.aux = nn.Conv2d(2, 2, 1)

    def forward(self, x):
        y = self.body(x)
        return (self.aux(y) if x.shape[-1] == 5 else y).flatten(1)


build = Net
"""
ODD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleList([nn.Conv2d(1, 2, 1, bias=False), nn.BatchNorm2d(2)])
        self.unused = nn.Linear(2, 2)
        self.none = nn.ReLU()
        self.register_buffer("empty", torch.zeros(0, 4, 4))

    def forward(self, x):
        with torch.no_grad():
            x = self.body[0](x)
        x = self.body[1](x)
        return x.argmax(1).float() + 0 * self.body[1].weight.sum()


build = Net
"""
HOT = """
class Net(nn.Module):
    def forward(self, x):
        maps = torch.zeros(1, 1, 300, 300)
        maps[0, 0, 151, 153] = 0.5
        return maps + 0 * x.sum()


build = Net
"""
COLOUR = """
def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 5), nn.Conv2d(4, 2, 3), nn.Flatten())
"""


def noise(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def run_is_of(window, path):
    run = window.workspace.run
    return run is not None and {tap.path for tap in run.taps} == {path}


def values(panel):
    return panel.picture.stack.values


@pytest.fixture
def forwards(window):
    """Count the forwards of the open model from here on, by a hook of the user's own."""

    def forwards():
        counted = []
        model = window.workspace.opened.loaded.model
        model.register_forward_hook(lambda *_: counted.append(1))
        return counted

    return forwards


def test_a_click_in_the_tree_shows_what_the_node_returned(open_net, click_node, maps):
    net = open_net(NET, at="head")
    click_node("conv")
    before_relu = net.conv(noise(1, 1, 3, 5))[0]  # which writes into the very tensor
    np.testing.assert_array_equal(values(maps), before_relu.detach())
    assert maps.caption.text().startswith("1 × 2 × 2 × 4 · float32 · 2 tiles by channel")


def test_gradients_are_those_of_the_top_class(open_net, click_node, gradients):
    net = open_net(NET, at="head")
    click_node("conv")
    hidden = net.conv(noise(1, 1, 3, 5))
    (expected,) = torch.autograd.grad(net.head(hidden.relu().flatten(1)).max(), hidden)
    np.testing.assert_allclose(values(gradients), expected[0], rtol=1e-5)


def test_filters_are_the_parameters(open_net, filters):
    net = open_net(NET, at="conv")
    np.testing.assert_array_equal(values(filters), net.conv.weight.detach()[:, 0])
    assert filters.picture.request.capture.leaf == "weight"


def test_the_first_node_shown_is_the_first_convolution(window, open_net, maps):
    open_net(NET)
    assert window.workspace.path == "conv"
    assert maps.picture is not None


def test_arrow_keys_in_the_tree_walk_through_the_panels(qtbot, window, open_net, settles, maps):
    net = open_net(NET, at="conv")
    window.tree.view.setFocus()
    with settles():
        qtbot.keyClick(window.tree.view, Qt.Key.Key_Down)
    assert window.area.header.label.text() == "relu"
    np.testing.assert_array_equal(values(maps), net.conv(noise(1, 1, 3, 5))[0].relu().detach())


def test_the_header_names_the_node_its_class_and_its_shape(window, open_net):
    open_net(NET, at="head")
    assert window.area.header.label.text() == "head"
    assert window.area.header.note.text() == "Linear · 1 × 3 · 51 parameters"


def test_visible_panels_decide_what_is_computed(window, open_net, settles):
    open_net(NET, at="conv")
    assert window.workspace.run.timings.backward is not None
    window.area.docks["gradients"].close()
    with settles():
        window.workspace.select("relu")
    run = window.workspace.run
    assert run.timings.backward is None
    assert {tap.quantity for tap in run.taps} == {Quantity.OUTPUT, Quantity.PARAMETER}
    assert window.area.panels["gradients"].picture.request.capture.tap.path == "conv"


def test_a_panel_that_is_opened_again_shows_the_node_that_is_selected_now(
    window, open_net, settles, gradients
):
    open_net(NET, at="conv")
    window.area.docks["gradients"].close()
    with settles():
        window.workspace.select("relu")
    with settles():
        window.area.docks["gradients"].toggleViewAction().trigger()
    assert gradients.picture.request.capture.tap.path == "relu"


def test_closing_and_opening_a_panel_runs_nothing_when_its_values_are_there(
    qtbot, window, open_net, forwards, gradients
):
    open_net(NET, at="conv")
    counted = forwards()
    window.area.docks["gradients"].close()
    window.area.docks["gradients"].toggleViewAction().trigger()
    qtbot.waitUntil(lambda: not window.busy)
    assert counted == []
    assert gradients.picture is not None


def test_scaling_and_colour_map_need_no_forward(qtbot, window, open_net, settles, forwards, maps):
    net = open_net(NET, at="conv")
    counted, run = forwards(), window.workspace.run
    with settles():
        qtbot.keyClick(maps.scale_chooser, Qt.Key.Key_Down)
    hidden = net.conv(noise(1, 1, 3, 5))
    assert maps.scale_chooser.currentText() == "shared"
    assert set(maps.view.mosaic.low) == {hidden.min().item()}
    before = maps.view.grab().toImage()
    with settles():
        qtbot.keyClick(maps.map_chooser, Qt.Key.Key_Down)
    assert maps.map_chooser.currentText() == "cividis"
    assert maps.view.grab().toImage() != before
    assert window.workspace.run is run
    assert counted == []


def test_what_was_chosen_stays_for_the_next_node(qtbot, open_net, settles, click_node, maps):
    open_net(NET, at="conv")
    with settles():
        qtbot.keyClick(maps.scale_chooser, Qt.Key.Key_End)
    click_node("relu")
    assert maps.picture.request.scaling.shared
    assert maps.picture.request.scaling.symmetric


def test_symmetric_scales_of_gradients_and_filters_have_zero_in_the_middle(
    open_net, gradients, filters
):
    open_net(NET, at="conv")
    for panel in (gradients, filters):
        mosaic = panel.view.mosaic
        np.testing.assert_array_equal(mosaic.low, -mosaic.high)
        assert panel.map_chooser.currentText() == "CET-D1"


def test_hovering_reads_channel_row_and_column(open_net, maps, mouse):
    net = open_net(NET, at="conv")
    left, top, *_ = maps.view.mosaic.rect_of(1)
    mouse.move(maps.view, left + 2.5, top + 1.5)
    value = net.conv(noise(1, 1, 3, 5))[0, 1, 1, 2].item()
    assert maps.reading.text() == f"[1, 1, 2] = {np.float32(value)!s}"
    mouse.move(maps.view, -1, -1)
    assert maps.reading.text() == ""


def test_every_call_of_a_reused_module_can_be_chosen(
    qtbot, window, open_net, settles, maps, gradients
):
    net = open_net(SHARED, at="twice")
    first = net.twice(noise(1, 1, 3, 5))
    np.testing.assert_array_equal(values(maps), first[0].detach())
    chooser, run = window.area.header.call_chooser, window.workspace.run
    assert [chooser.itemText(row) for row in range(chooser.count())] == ["call 0", "call 1"]
    with settles():
        qtbot.keyClick(chooser, Qt.Key.Key_Down)
    np.testing.assert_array_equal(values(maps), net.twice(first + 1)[0].detach())
    assert gradients.picture.request.capture.call == 1
    assert window.workspace.run is run


def test_another_node_is_shown_from_its_first_call(
    qtbot, window, open_net, settles, click_node, maps
):
    open_net(SHARED, at="twice")
    with settles():
        qtbot.keyClick(window.area.header.call_chooser, Qt.Key.Key_Down)
    click_node("")
    assert window.workspace.call == 0
    assert maps.picture.request.capture.call == 0


def test_a_picture_that_comes_too_late_is_not_shown(qtbot, window, open_net, filters):
    open_net(NET, at="head")
    gate = threading.Event()
    window.pictures.submit("mine", lambda _: gate.wait(10), lambda _: None, pytest.fail)
    for path in ("conv", "relu"):  # the second has no parameters, so it asks for no picture
        window.workspace.select(path)
        qtbot.waitUntil(lambda path=path: run_is_of(window, path))
    gate.set()
    qtbot.waitUntil(lambda: not window.busy)
    assert filters.view.message.startswith("no tensors")


def test_a_module_used_once_has_no_choice_of_calls(window, open_net):
    open_net(NET, at="conv")
    assert not window.area.header.call_chooser.isVisible()


def test_every_tensor_of_a_dictionary_can_be_chosen(qtbot, open_net, settles, maps, gradients):
    open_net(PAIR, at="pair")
    x = noise(1, 1, 3, 5)
    assert maps.leaf_chooser.isVisible()
    np.testing.assert_array_equal(values(maps), torch.cat([x, 2 * x], 1)[0])
    with settles():
        qtbot.keyClick(maps.leaf_chooser, Qt.Key.Key_Down)
    assert maps.leaf_chooser.currentText() == "mask"
    np.testing.assert_array_equal(values(maps), (x > 0)[0])
    assert not gradients.leaf_chooser.isVisible()  # a mask has no gradient


def test_a_chosen_tensor_stays_chosen_in_the_next_run(qtbot, window, open_net, settles, maps):
    open_net(PAIR, at="pair")
    with settles():
        qtbot.keyClick(maps.leaf_chooser, Qt.Key.Key_Down)
    with settles():
        window.conductor.run()
    assert maps.picture.request.capture.leaf == "mask"


def test_an_old_picture_does_not_stay_where_the_new_run_has_nothing(
    window, open_net, settles, maps, gradients
):
    open_net(BRANCH, at="aux")
    assert maps.picture is not None
    with settles():
        window.conductor.open_input("noise:1x1x3x4")
    for panel in (maps, gradients):
        assert panel.view.pixels is None
        assert panel.view.message.startswith("not called")
        assert panel.caption.text() == ""
    assert "output" not in window.inspector.heading.text()
    with settles():
        window.conductor.open_input("noise:1x1x2x5")
    assert values(maps).shape == (2, 2, 5)


@pytest.mark.parametrize(
    ("path", "maps_say", "gradients_say"),
    [
        ("body", "container", "container"),
        ("body.0", "", "computed without gradient"),
        ("unused", "not called", "not called"),
        ("body.1.num_batches_tracked", "", "not differentiable (int64)"),
        ("body.1.running_mean", "", "frozen"),
        ("unused.weight", "", "no path to the target"),
    ],
)
def test_what_is_not_there_is_said_in_words(
    open_net, maps, gradients, path, maps_say, gradients_say
):
    open_net(ODD, at=path)
    for panel, said in ((maps, maps_say), (gradients, gradients_say)):
        assert panel.view.message.split("\n")[0] == said
        assert (panel.view.pixels is None) == bool(said)


def test_an_empty_tensor_is_said_to_be_empty(window, open_net, maps):
    open_net(ODD, at="empty")
    assert maps.view.message == "This tensor is empty."
    assert window.inspector.view.pixels is None


def test_of_a_batch_the_first_sample_is_shown_and_the_caption_says_so(open_net, maps):
    net = open_net(NET, given="noise:2x1x3x5", at="conv")
    expected = net.conv(noise(2, 1, 3, 5))[0]
    np.testing.assert_array_equal(values(maps), expected.detach())
    assert maps.caption.text().startswith("the first of 2 samples · 2 × 2 × 2 × 4")


def test_the_caption_makes_room_for_the_reading(open_net, maps, mouse):
    open_net(NET, at="conv")
    assert (maps.caption.isVisible(), maps.reading.isVisible()) == (True, False)
    mouse.move(maps.view, 0.5, 0.5)
    assert (maps.caption.isVisible(), maps.reading.isVisible()) == (False, True)
    assert maps.reading.text().startswith("[0, 0, 0] = ")


def test_a_node_without_parameters_says_so_in_the_filters(open_net, filters):
    open_net(NET, at="relu")
    assert filters.view.message == "no tensors\n\nThis node has no parameters."


def test_before_there_is_a_model_every_panel_says_so(window):
    messages = {panel.view.message for panel in window.area.panels.values()}
    assert messages == {"No model is open yet."}


def test_a_model_without_an_input_says_that_there_is_none(window, open_net, maps):
    open_net(NET, given="no.png", at="conv")
    assert "There is no file 'no.png'." in window.area.message_bar.label.text()
    assert maps.view.message == "There is no input yet."


def test_an_output_without_classes_still_shows_everything(window, open_net, maps):
    open_net(ODD, at="body.1")
    assert maps.picture is not None
    assert window.predictions._nothing.text() == "No class scores."


def test_a_container_lists_what_is_below_it_and_a_click_goes_there(
    qtbot, window, open_net, settles, filters
):
    open_net(ODD, at="body")
    listed = [filters.below.item(row).text() for row in range(filters.below.count())]
    assert listed == ["body.0   weight 2×1×1×1", "body.1   weight 2, bias 2"]
    item = filters.below.item(1)
    place = filters.below.visualItemRect(item).center()
    with settles():
        qtbot.mouseClick(filters.below.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.workspace.path == "body.1"
    assert window.tree.view.currentIndex().data() == "1"
    assert not filters.below.isVisible()
    assert filters.picture.request.capture.leaf == "weight"


def test_first_layer_filters_are_colour_pictures(open_net, filters, mouse):
    net = open_net(COLOUR, given="noise:1x3x12x12", at="0")
    weight = net[0].weight.detach()
    stack = filters.picture.stack
    assert stack.is_color
    assert not filters.map_chooser.isEnabled()
    np.testing.assert_array_equal(stack.values, weight.permute(0, 2, 3, 1))
    left, top, *_ = filters.view.mosaic.rect_of(2)
    row, column = 3, 1
    most = weight[2].abs().max()
    expected = ((weight[2, :, row, column] / most + 1) / 2 * 255).tolist()
    assert filters.view.pixels[top + row, left + column] == pytest.approx(expected, abs=2)
    mouse.move(filters.view, left + column + 0.5, top + row + 0.5)
    numbers = ", ".join(f"{np.float32(value)!s}" for value in weight[2, :, row, column].tolist())
    assert filters.reading.text() == f"[2, 3, 1] = {numbers}"


def test_deeper_filters_are_one_tile_per_input_channel(open_net, filters):
    net = open_net(COLOUR, given="noise:1x3x12x12", at="1")
    np.testing.assert_array_equal(values(filters), net[1].weight.detach().reshape(8, 3, 3))
    assert filters.view.mosaic.columns == 4


def test_one_hot_pixel_is_seen_in_the_window_as_it_opens(open_net, maps):
    open_net(HOT)
    seen = maps.view.grab().toImage().pixelColor(maps.view.position_of(153.5, 151.5).toPoint())
    assert seen.toTuple()[:3] == pytest.approx((253, 231, 37), abs=3)  # viridis at its end
    assert maps.view.mosaic.high == 0.5


def test_a_parameter_is_a_node_of_its_own(open_net, maps, gradients):
    net = open_net(NET, at="head.weight")
    np.testing.assert_array_equal(values(maps), net.head.weight.detach()[None])
    hidden = net.conv(noise(1, 1, 3, 5)).relu().flatten(1)
    top = net.head(hidden).argmax().item()
    expected = torch.zeros(3, 16)
    expected[top] = hidden.detach()
    np.testing.assert_allclose(values(gradients)[0], expected, rtol=1e-5)


def test_gaps_are_seen_where_several_pixels_share_one_of_the_screen(open_net, maps):
    open_net("def build(): return nn.Conv2d(1, 40, 1)", given="noise:1x1x200x200", at="")
    mosaic, room = maps.picture.mosaic, maps.view
    crowding = max(mosaic.pixels.shape[1] / room.width(), mosaic.pixels.shape[0] / room.height())
    assert crowding > 2
    assert mosaic.gap >= 2
    assert mosaic.gap >= crowding - 1
