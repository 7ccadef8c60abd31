import numpy as np
import pytest

from hookviewer.gui.widgets.color_bar import ColorBar
from hookviewer.gui.widgets.numbers import (
    bytes_text,
    count_text,
    duration_text,
    number_text,
    reading_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0"), (-0.0, "0"), (1.23456, "1.235"), (-1e-7, "-1e-07"), (3e38, "3e+38")],
)
def test_a_number_has_four_significant_digits(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_reading_has_the_digits_that_mean_this_very_value(dtype):
    for value in np.array([1 / 3, 0.1, -2.5e-8, 12345678.0, np.pi], dtype):
        text = reading_text((0, 1, 2), float(value), dtype)
        place, _, number = text.partition(" = ")
        assert place == "[0, 1, 2]"
        assert dtype(number) == value
    assert reading_text((3,), 0.1, np.float32) == "[3] = 0.1"


def test_a_reading_of_whole_numbers_has_no_point():
    assert reading_text((0,), 7, np.int64) == "[0] = 7"


def test_a_reading_of_a_colour_has_three_values():
    assert reading_text((4, 0), (0.5, -1.0, 0.25), np.float32) == "[4, 0] = 0.5, -1.0, 0.25"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_reading_names_what_is_no_finite_number(value):
    assert reading_text((0,), value, np.float32) == f"[0] = {value}"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0 ms"), (0.0234, "23 ms"), (9.9, "9900 ms"), (12.34, "12.3 s")]
)
def test_a_duration_is_in_milliseconds_until_it_is_long(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0.0 MB"), (2_100_000, "2.1 MB"), (3_456_000_000, "3.46 GB")]
)
def test_memory_is_in_the_unit_that_suits_it(count, text):
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1_000, "1.0 k"), (3_504_872, "3.5 M"), (7e9, "7.0 G")],
)
def test_a_count_is_short(count, text):
    assert count_text(count) == text


def test_the_colour_bar_has_room_for_its_numbers_and_shows_them(qtbot):
    bar = ColorBar()
    qtbot.addWidget(bar)
    bar.resize(bar.sizeHint())
    pictures = []
    for low, high in ((0.0, 1.0), (0.0, 2.0), (-1.234e-10, 1.0)):
        bar.show_range("viridis", low, high)
        pictures.append(bar.grab().toImage())
    assert pictures[0] != pictures[1] != pictures[2]  # only the numbers differ
    widest = bar.fontMetrics().horizontalAdvance("-1.234e-10")
    assert widest <= bar.width() - 20
    bar.clear()
    assert bar.grab().toImage() not in pictures
