"""What is painted, and what the mouse and the keyboard mean on it. Also run on a dense screen."""

import os

import numpy as np
import pyqtgraph as pg
import pytest
import torch
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget

from hookviewer.engine.capture import Capture
from hookviewer.engine.plan import Quantity, Tap
from hookviewer.gui.theme import apply_theme
from hookviewer.gui.widgets.mosaic_view import MosaicView
from hookviewer.render.mosaic import build_mosaic
from hookviewer.render.scaling import Scaling
from hookviewer.render.tiles import maps_of

VIRIDIS = {0.0: (68, 1, 84), 0.5: (33, 145, 140), 1.0: (253, 231, 37)}  # as published
NAN_COLOR, POSITIVE_COLOR, NEGATIVE_COLOR = (255, 0, 255), (255, 128, 0), (0, 224, 224)
TWO_TILES = torch.tensor([[[[0.0, 1.0, 2.0], [2.0, 1.0, 1.0]], [[7.0, 6.0, 5.0], [5.0, 7.0, 6.0]]]])


@pytest.fixture
def view(qtbot):
    """Return the view as a part of a window, not at its corner."""
    apply_theme(dark=False)
    window = QWidget()
    qtbot.addWidget(window)
    view = MosaicView("viridis")
    layout = QVBoxLayout(window)
    layout.setContentsMargins(31, 17, 5, 9)
    layout.addWidget(view)
    window.resize(640, 420)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    yield view
    window.close()


@pytest.fixture
def show(qtbot, view):
    """Return a function that shows a tensor (1, channel, row, column)."""

    def show(tensor, scaling=Scaling(), aspect=9):  # noqa: B008  it is frozen
        stack = maps_of(Capture(Tap("", Quantity.OUTPUT), 0, "0", torch.as_tensor(tensor)))
        view.show_mosaic(build_mosaic(stack, scaling, aspect))
        return stack

    return show


def color_at(view, x, y):
    """Return the colour of the very pixel of the screen at a place of the picture."""
    image = view.grab().toImage()
    place = view.position_of(x, y) * image.devicePixelRatio()
    return image.pixelColor(place.toPoint()).toTuple()[:3]


def of_map(name, place):
    """Return the colour of a map at a place from 0 to 1."""
    return tuple(pg.colormap.get(name).map(place, mode="qcolor").toTuple()[:3])


def near(color):
    return pytest.approx(color, abs=3)  # the map has 252 steps, and pyqtgraph's own rounding


def colors(view, tile):
    """Return the colours at the centres of a tile's pixels, row by row."""
    left, top, width, height = view.mosaic.rect_of(tile)
    return [
        [color_at(view, left + column + 0.5, top + row + 0.5) for column in range(width)]
        for row in range(height)
    ]


def test_every_value_has_the_colour_of_its_place_between_minimum_and_maximum(view, show):
    show(TWO_TILES)
    low, middle, high = (near(color) for color in VIRIDIS.values())
    assert colors(view, 0) == [[low, middle, high], [high, middle, middle]]
    assert colors(view, 1) == [[high, middle, low], [low, high, middle]]


def test_row_0_is_on_top_and_column_0_on_the_left(view, show):
    show(TWO_TILES)
    first, below, beside = (view.position_of(*place) for place in ((0, 0), (0, 1), (1, 0)))
    assert below.y() > first.y()
    assert beside.x() > first.x()
    assert below.y() - first.y() == pytest.approx(beside.x() - first.x(), abs=1.1)  # square


def test_a_shared_scale_makes_tiles_comparable(view, show):
    show(TWO_TILES, Scaling(shared=True))
    assert colors(view, 0)[0] == [near(of_map("viridis", value / 7)) for value in (0, 1, 2)]
    assert colors(view, 1)[0] == [near(of_map("viridis", value / 7)) for value in (7, 6, 5)]


def test_zero_is_the_middle_of_a_symmetric_scale(view, show):
    show([[[[-1.0, 0.0, 4.0]]]], Scaling(symmetric=True))
    view.set_color_map("CET-D1")
    assert colors(view, 0)[0] == [near(of_map("CET-D1", place)) for place in (3 / 8, 0.5, 1)]
    assert min(colors(view, 0)[0][1]) > 230  # the pale middle


def test_what_is_not_finite_has_colours_of_its_own(view, show):
    show([[[[np.nan, np.inf, -np.inf], [0.0, 1.0, 2.0]]]])
    assert colors(view, 0)[0] == [NAN_COLOR, POSITIVE_COLOR, NEGATIVE_COLOR]
    assert colors(view, 0)[1] == [near(color) for color in VIRIDIS.values()]


def test_a_constant_map_has_the_middle_colour(view, show):
    show(torch.full((1, 1, 3, 4), 5.0))
    assert color_at(view, 2, 1) == near(VIRIDIS[0.5])


def test_one_hot_pixel_of_a_big_map_is_seen(view, show):
    hot = torch.zeros(1, 1, 300, 300)
    hot[0, 0, 151, 153] = 0.5
    show(hot)
    view.window().resize(1000, 1000)
    QTest.qWait(0)
    assert color_at(view, 153.5, 151.5) == near(VIRIDIS[1.0])
    assert color_at(view, 155.5, 151.5) == near(VIRIDIS[0.0])


def test_there_is_a_gap_between_tiles(view, show):
    show(TWO_TILES)
    assert color_at(view, 3.5, 1) == view.gap_color


def test_colours_change_with_the_map_and_with_the_theme(view, show):
    show(TWO_TILES)
    view.set_color_map("CET-L1")
    assert color_at(view, 0.5, 0.5) == near((0, 0, 0))
    light = color_at(view, 3.5, 1)
    apply_theme(dark=True)
    QTest.qWait(0)
    assert color_at(view, 3.5, 1) == view.gap_color != light


def test_colour_pixels_are_painted_as_they_are(view):
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 99, 199]]], np.uint8)
    view.show_pixels(pixels)
    painted = [[color_at(view, column + 0.5, row + 0.5) for column in (0, 1)] for row in (0, 1)]
    assert painted == [[(255, 0, 0), (0, 255, 0)], [(0, 0, 255), (9, 99, 199)]]


def test_a_text_takes_the_place_of_the_picture(view, show):
    show(TWO_TILES)
    view.show_message("not called")
    assert (view.message, view.pixels, view.mosaic) == ("not called", None, None)
    assert (view._message.isVisible(), view._graphics.isVisible()) == (True, False)
    show(TWO_TILES)
    assert (view._message.isVisible(), view._graphics.isVisible()) == (False, True)


def test_the_mouse_reads_every_pixel_at_its_centre(qtbot, view, show, mouse):
    stack, read = show(TWO_TILES), []
    view.value_hovered.connect(lambda *place: read.append(place))
    expected = []
    for tile in (0, 1):
        left, top, width, height = view.mosaic.rect_of(tile)
        for row in range(height):
            for column in range(width):
                mouse.move(view, left + column + 0.5, top + row + 0.5)
                expected.append((tile, row, column))
    assert read == expected
    values = [stack.value_at(*place) for place in read]
    assert values == TWO_TILES.flatten().tolist()
    assert [stack.position(*place) for place in read][7] == (1, 0, 1)


def test_the_mouse_reads_nothing_between_tiles_and_outside(view, show, mouse):
    show(TWO_TILES)
    read, left = [], []
    view.value_hovered.connect(lambda *place: read.append(place))
    view.left.connect(lambda: left.append(1))
    mouse.move(view, 3.5, 1)
    mouse.move(view, -0.2, 1)
    assert (read, left) == ([], [1, 1])


def test_leaving_the_view_is_told(view, show, mouse):
    show(TWO_TILES)
    mouse.move(view, 1, 1)
    left = []
    view.left.connect(lambda: left.append(1))
    QTest.mouseMove(view.window().windowHandle(), QPoint(2, 2))
    QTest.qWait(0)
    assert left


def test_a_click_selects_the_tile_under_it(view, show, mouse):
    show(TWO_TILES)
    selected = []
    view.tile_selected.connect(selected.append)
    mouse.click(view, 5.5, 0.5)
    mouse.click(view, 3.5, 1)  # the gap
    assert (selected, view.selected) == ([1], 1)


def test_a_click_on_the_marked_tile_is_told_too(view, show, mouse):
    show(TWO_TILES)
    view.mark_tile(1)
    selected = []
    view.tile_selected.connect(selected.append)
    mouse.click(view, 5.5, 0.5)
    assert selected == [1]


def test_the_selected_tile_has_a_frame(view, show):
    show(TWO_TILES)
    view.select(1)
    left, top, *_ = view.mosaic.rect_of(1)
    assert color_at(view, left, top + 1) == near((255, 159, 28))
    view.mark_tile(None)
    assert color_at(view, left + 0.1, top + 0.5) == near(VIRIDIS[1.0])


def test_keys_walk_the_tiles(qtbot, view, show):
    show(torch.zeros(1, 7, 1, 2), aspect=1.2)  # 3 columns: 0 1 2 / 3 4 5 / 6
    assert view.mosaic.columns == 3
    key = Qt.Key
    walked = []
    view.tile_selected.connect(walked.append)
    for pressed in (
        key.Key_Right,  # nothing is selected yet: the first
        key.Key_Right,
        key.Key_Down,
        key.Key_Left,
        key.Key_Up,
        key.Key_Up,  # no row above
        key.Key_Left,  # no tile before
        key.Key_End,
        key.Key_Down,
        key.Key_Right,
        key.Key_Home,
    ):
        qtbot.keyClick(view, pressed)
    assert walked == [0, 1, 4, 3, 0, 6, 0]


def test_a_click_takes_the_keyboard(qtbot, view, show, mouse):
    show(TWO_TILES)
    mouse.click(view, 0.5, 0.5)
    qtbot.waitUntil(view.hasFocus)
    QTest.keyClick(view.window().windowHandle(), Qt.Key.Key_Right)
    assert view.selected == 1


def test_the_wheel_zooms_at_the_mouse_and_a_double_click_fits_again(qtbot, view, show, mouse):
    show(TWO_TILES)
    whole = [view.position_of(*place).toTuple() for place in ((0, 0), (7, 2))]
    place = view.position_of(1.5, 0.5).toTuple()
    mouse.wheel(view, 1.5, 0.5, turns=3)
    assert view.position_of(1.5, 0.5).toTuple() == pytest.approx(place, abs=2)
    zoomed = [view.position_of(*place).toTuple() for place in ((0, 0), (7, 2))]
    assert zoomed[1][0] - zoomed[0][0] > 1.1 * (whole[1][0] - whole[0][0])
    mouse.double_click(view, 1.5, 0.5)
    fitted = [view.position_of(*place).toTuple() for place in ((0, 0), (7, 2))]
    assert fitted == [pytest.approx(corner, abs=2) for corner in whole]


def test_the_mouse_reads_right_in_a_zoomed_picture(view, show, mouse):
    show(TWO_TILES)
    mouse.wheel(view, 1.5, 0.5, turns=2)
    read = []
    view.value_hovered.connect(lambda *place: read.append(place))
    mouse.move(view, 2.2, 1.2)
    assert read == [(0, 1, 2)]


def test_a_drag_moves_the_picture(view, show, mouse, monkeypatch):
    monkeypatch.setitem(pg.CONFIG_OPTIONS, "mouseRateLimit", 0)  # this hand is faster than any
    show(TWO_TILES)
    handle, start = view.window().windowHandle(), mouse.place(view, 1.5, 0.5)
    before = view.position_of(0, 0)
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(handle, left, none, start)
    for step in (10, 20, 40):
        QTest.mouseMove(handle, start + QPoint(step, 0))
    QTest.mouseRelease(handle, left, none, start + QPoint(40, 0))
    assert view.position_of(0, 0).x() - before.x() == pytest.approx(40, abs=3)


def test_a_new_picture_of_the_same_size_keeps_zoom_and_selection(view, show, mouse):
    show(TWO_TILES)
    view.select(1)
    mouse.wheel(view, 1.5, 0.5, turns=2)
    before = view.position_of(7, 2)
    show(-TWO_TILES)
    assert view.position_of(7, 2) == before
    assert view.selected == 1


def test_a_picture_with_fewer_tiles_has_no_frame_of_a_tile_that_is_gone(view, show):
    show(TWO_TILES)
    view.select(1)
    show(TWO_TILES[:, :1])
    assert view.selected is None
    assert not view._mark.isVisible()


def test_resizing_keeps_the_whole_picture_in_view(view, show):
    show(TWO_TILES)
    view.window().resize(300, 700)
    QTest.qWait(0)
    for corner in ((0, 0), (7, 2)):
        assert view.rect().contains(view.position_of(*corner).toPoint())


def test_the_screen_is_as_dense_as_asked_for(view):
    density = float(os.environ.get("QT_SCALE_FACTOR", "1"))
    assert view.grab().width() == density * view.width()
