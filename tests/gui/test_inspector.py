import threading

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.many = nn.Conv2d(1, 6, 2)
        self.relu = nn.ReLU()
        self.few = nn.Conv2d(6, 2, 1)
        self.aux = nn.Tanh()
        self.register_buffer("empty", torch.zeros(0, 4, 4))

    def forward(self, x):
        y = self.few(self.relu(self.many(x)))
        return (self.aux(y) if x.shape[-1] == 5 else y).flatten(1)


def build():
    torch.manual_seed(0)
    return Net().eval()
"""
SPECIAL = """
class Net(nn.Module):
    def forward(self, x):
        return x * torch.tensor([[0.0, 1.0, float("nan")], [float("inf"), 3.0, -float("inf")]])


build = Net
"""


@pytest.fixture
def inspector(window):
    return window.inspector


@pytest.fixture
def click_tile(mouse, settles):
    """Click the middle of a tile and wait until the inspector shows it."""

    def click_tile(panel, tile):
        left, top, width, height = panel.view.mosaic.rect_of(tile)
        with settles():
            mouse.click(panel.view, left + width / 2, top + height / 2)

    return click_tile


def outputs(net):
    x = torch.randn(1, 1, 3, 5, generator=torch.Generator().manual_seed(0))
    many = net.many(x)
    return {"many": many[0], "relu": many.relu()[0], "few": net.few(many.relu())[0]}


def texts(inspector):
    return {key: label.text() for key, label in inspector.values.items()}


def test_a_click_on_a_tile_shows_it_large(open_net, inspector, maps, click_tile):
    open_net(NET, at="many")
    click_tile(maps, 4)
    left, top, width, height = maps.view.mosaic.rect_of(4)
    tile = maps.view.pixels[top : top + height, left : left + width]
    np.testing.assert_array_equal(inspector.view.pixels, tile)
    assert inspector.heading.text() == "channel 4\nmany · output"


def test_the_statistics_are_numpys(open_net, inspector, maps, click_tile):
    net = open_net(NET, at="relu")
    click_tile(maps, 3)
    values = outputs(net)["relu"][3].detach().numpy().astype(np.float64)
    assert texts(inspector) == {
        "range": f"{values.min():.4g} … {values.max():.4g}",
        "mean": f"{values.mean():.4g}",
        "spread": f"{values.std():.4g}",
        "zeros": f"{(values == 0).mean():.1%}",
        "special": "none",
    }


def test_the_histogram_is_numpys(open_net, inspector, maps, click_tile):
    net = open_net(NET, at="many")
    click_tile(maps, 2)
    values = outputs(net)["many"][2].detach().numpy().astype(np.float64)
    counts, edges = np.histogram(values, bins=64)
    bars = inspector.histogram._bars.opts
    np.testing.assert_array_equal(bars["height"], counts)
    np.testing.assert_allclose(bars["x0"], edges[:-1], rtol=1e-12)


def test_the_colour_bar_has_the_ends_of_the_tile(open_net, inspector, maps, click_tile):
    net = open_net(NET, at="many")
    click_tile(maps, 5)
    values = outputs(net)["many"][5]
    assert inspector.bar._ends == (values.min().item(), values.max().item())


def test_the_colour_bar_runs_from_the_highest_colour_down(open_net, inspector, maps, click_tile):
    open_net(NET, at="many")
    click_tile(maps, 0)
    image = inspector.bar.grab().toImage()
    margin = inspector.bar.fontMetrics().height() // 2
    top, bottom = (image.pixelColor(5, y) for y in (margin + 2, image.height() - margin - 3))
    assert top.toTuple()[:3] == pytest.approx((253, 231, 37), abs=6)
    assert bottom.toTuple()[:3] == pytest.approx((68, 1, 84), abs=6)


def test_a_symmetric_tile_has_its_symmetric_ends_on_the_bar(
    open_net, inspector, filters, click_tile
):
    net = open_net(NET, at="many")
    click_tile(filters, 1)
    most = net.many.weight[1].abs().max().item()
    assert inspector.bar._ends == (-most, most)
    assert inspector.bar._color_map == "CET-D1"


def test_the_colours_follow_the_panel(qtbot, open_net, inspector, settles, maps, click_tile):
    open_net(NET, at="many")
    click_tile(maps, 1)
    with settles():
        qtbot.keyClick(maps.map_chooser, Qt.Key.Key_Down)
    assert inspector.bar._color_map == "cividis"
    with settles():
        qtbot.keyClick(maps.scale_chooser, Qt.Key.Key_Down)
    mosaic = maps.view.mosaic
    assert inspector.bar._ends == (mosaic.low[1], mosaic.high[1])


def test_hovering_reads_the_same_value_as_in_the_panel(
    open_net, inspector, maps, click_tile, mouse
):
    net = open_net(NET, at="many")
    click_tile(maps, 4)
    mouse.move(inspector.view, 2.5, 1.5)
    value = outputs(net)["many"][4, 1, 2].item()
    assert inspector.reading.text() == f"[4, 1, 2] = {np.float32(value)!s}"
    mouse.move(inspector.view, 2.5, -0.5)
    assert inspector.reading.text() == ""


def test_what_is_not_finite_is_counted(open_net, inspector):
    open_net(SPECIAL, given="noise:1x1x2x3")
    x = torch.randn(1, 1, 2, 3, generator=torch.Generator().manual_seed(0))[0, 0]
    infinite = ["+inf" if x[1, 0] > 0 else "-inf", "-inf" if x[1, 2] > 0 else "+inf"]
    counted = [f"{infinite.count(sign)} {sign}" for sign in ("+inf", "-inf") if sign in infinite]
    assert inspector.values["special"].text() == ", ".join(["1 NaN", *counted])


def test_the_tile_stays_picked_when_the_node_changes(
    open_net, inspector, maps, click_tile, click_node
):
    net = open_net(NET, at="many")
    click_tile(maps, 4)
    click_node("relu")
    assert inspector.heading.text() == "channel 4\nrelu · output"
    assert inspector.bar._ends[1] == outputs(net)["relu"][4].max().item()


def test_a_node_with_fewer_tiles_does_not_leave_the_old_tile_there(
    open_net, inspector, maps, click_tile, click_node
):
    open_net(NET, at="many")
    click_tile(maps, 4)
    click_node("few")
    assert inspector.heading.text() == "channel 0\nfew · output"
    assert maps.view.selected == 0


def test_an_empty_tensor_leaves_nothing_to_inspect(
    open_net, inspector, maps, click_tile, click_node
):
    open_net(NET, at="many")
    click_tile(maps, 4)
    click_node("empty")
    assert maps.view.message == "This tensor is empty."
    assert maps.caption.text().startswith("0 × 4 × 4")
    assert inspector.view.pixels is None


def test_it_is_empty_where_the_new_run_has_nothing(
    window, open_net, inspector, settles, maps, click_tile
):
    open_net(NET, at="aux")
    click_tile(maps, 1)
    with settles():
        window.conductor.open_input("noise:1x1x3x4")
    assert maps.view.message.startswith("not called")
    assert inspector.view.pixels is None
    assert set(texts(inspector).values()) == {""}
    assert inspector.heading.text() == ""
    assert inspector.bar._ends is None
    assert len(inspector.histogram._bars.opts["height"]) == 0


def test_where_the_picked_panel_has_nothing_another_takes_over(
    open_net, inspector, maps, filters, click_tile, click_node
):
    open_net(NET, at="many")
    click_tile(filters, 2)
    click_node("relu")  # has no filters
    assert inspector.heading.text() == "channel 0\nrelu · output"
    assert filters.view.message.startswith("no tensors")


def test_it_shows_no_old_tile_of_a_panel_that_was_closed(
    window, open_net, inspector, gradients, click_tile, click_node
):
    open_net(NET, at="many")
    click_tile(gradients, 2)
    assert "grad_output" in inspector.heading.text()
    window.area.docks["gradients"].close()
    click_node("relu")
    assert inspector.heading.text() == "channel 2\nrelu · output"


def test_a_panel_that_was_closed_does_not_take_over(
    qtbot, window, open_net, inspector, gradients, click_tile
):
    open_net(NET, at="many")
    click_tile(gradients, 2)
    gate = threading.Event()
    window.pictures.submit("mine", lambda _: gate.wait(10), lambda _: None, pytest.fail)
    window.area.docks["gradients"].close()
    gradients._on_resized()  # as a moment after its room has changed
    window.workspace.select("relu")
    qtbot.waitUntil(lambda: window.workspace.run is not None)
    gate.set()  # the closed panel's picture comes first
    qtbot.waitUntil(lambda: not window.busy)
    assert inspector.heading.text() == "channel 2\nrelu · output"


def test_the_same_tile_is_marked_in_all_panels_that_have_it(
    open_net, maps, gradients, filters, click_tile
):
    open_net(NET, at="many")
    click_tile(maps, 3)
    assert gradients.view.selected == 3
    assert filters.view.selected is None  # a filter is no channel of a map


def test_a_click_on_the_tile_that_another_panel_marked_moves_the_inspector_there(
    open_net, inspector, maps, gradients, click_tile
):
    open_net(NET, at="many")
    click_tile(maps, 3)
    click_tile(gradients, 3)
    assert inspector.heading.text() == "channel 3\nmany · grad_output"
    click_tile(maps, 3)
    assert inspector.heading.text() == "channel 3\nmany · output"


def test_the_first_tile_is_picked_for_a_newcomer(open_net, inspector, maps):
    open_net(NET, at="many")
    assert maps.view.selected == 0
    assert inspector.heading.text() == "channel 0\nmany · output"


def test_arrow_keys_walk_the_channels(qtbot, open_net, inspector, settles, maps, click_tile):
    open_net(NET, at="many")
    click_tile(maps, 1)
    with settles():
        qtbot.keyClick(maps.view, Qt.Key.Key_Right)
    assert inspector.heading.text().startswith("channel 2")
    with settles():
        qtbot.keyClick(maps.view, Qt.Key.Key_End)
    assert inspector.heading.text().startswith("channel 5")


def test_a_colour_filter_is_inspected_in_colour(open_net, inspector, filters, click_tile):
    open_net(
        "def build(): return nn.Sequential(nn.Conv2d(3, 4, 5), nn.Flatten())",
        given="noise:1x3x6x6",
        at="0",
    )
    click_tile(filters, 2)
    assert inspector.view.pixels.shape == (5, 5, 3)
    assert inspector.heading.text() == "filter 2\n0 · parameter"
