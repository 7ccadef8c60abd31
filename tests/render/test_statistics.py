import numpy as np
import pytest

from hookviewer.render import statistics
from hookviewer.render.statistics import describe

NAN, INF = np.nan, np.inf


def numbers(values, dtype=np.float32):
    found = describe(np.asarray(values, dtype))
    return found.minimum, found.maximum, found.mean, found.standard_deviation


def test_values_are_described_by_range_mean_and_deviation():
    assert numbers([[2, 4, 4, 4], [5, 5, 7, 9]]) == (2, 9, 5, 2)


def test_only_finite_values_count_and_the_others_are_counted():
    found = describe(np.array([NAN, INF, INF, -INF, -INF, -INF, 1, 3]))
    assert (found.minimum, found.maximum, found.mean) == (1, 3, 2)
    assert found.standard_deviation == 1
    assert found.nan_count == 1
    assert found.positive_infinity_count == 2
    assert found.negative_infinity_count == 3
    assert (found.count, found.histogram.sum()) == (8, 2)


def test_the_share_of_zeros_is_of_all_values():
    assert describe(np.array([0, -0.0, NAN, 1])).zero_share == 0.5


@pytest.mark.parametrize("values", [[], [NAN, INF]])
def test_without_finite_values_there_is_no_range(values):
    found = describe(np.array(values))
    assert found.minimum is found.maximum is found.mean is found.standard_deviation is None
    assert (found.zero_share, found.histogram.sum()) == (0, 0)
    assert (len(found.histogram), len(found.edges)) == (64, 65)


def test_the_histogram_has_64_bins_from_the_minimum_to_the_maximum():
    found = describe(np.array([0, 1, 1, 2.5, 63, 64]))
    assert found.edges.tolist() == list(range(65))
    assert np.flatnonzero(found.histogram).tolist() == [0, 1, 2, 63]
    assert found.histogram[[0, 1, 2, 63]].tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("value", "limits"), [(0, (-0.5, 0.5)), (4, (2, 6)), (-0.01, (-0.015, -0.005))]
)
def test_a_constant_lies_in_the_middle_of_its_histogram(value, limits):
    found = describe(np.full((3, 5), value, np.float64))
    assert (found.mean, found.standard_deviation) == (value, 0)
    assert (found.edges[0], found.edges[-1]) == pytest.approx(limits)
    assert found.histogram[31:33].sum() == found.histogram.sum() == 15


def test_a_constant_has_exactly_its_own_mean_and_no_deviation():
    found = describe(np.full(7, 0.1))
    assert (found.mean, found.standard_deviation) == (0.1, 0)


def test_huge_floats_do_not_overflow():
    minimum, maximum, mean, deviation = numbers([-1e38, 1e38, 3e38, -3e38])
    assert (minimum, maximum) == (np.float32(-3e38), np.float32(3e38))
    assert mean == pytest.approx(0)
    assert deviation == pytest.approx(5**0.5 * 1e38)
    assert np.isfinite(describe(np.array([-3e38, 3e38], np.float32)).edges).all()


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-200, 1e-300])
def test_doubles_at_the_ends_of_their_range_are_described_too(size):
    found = describe(np.array([-size, 0, 0, size]))
    assert (found.mean, found.standard_deviation) == (0, pytest.approx(size / 2**0.5))
    assert found.histogram[[0, 32, 63]].tolist() == [1, 2, 1]


@pytest.mark.parametrize("size", [1.7e308, 5e-324])
def test_an_extreme_constant_has_a_histogram(size):
    found = describe(np.array([size, size]))
    assert (found.mean, found.histogram.sum()) == (size, 2)
    assert np.isfinite(found.edges).all()


def test_neighbouring_doubles_have_a_histogram():
    found = describe(np.array([1, np.nextafter(1, 2)]))
    assert found.histogram[[0, 63]].tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float16])
def test_numbers_of_all_types_are_described(dtype):
    assert numbers([0, 1, 1, 0], dtype) == (0, 1, 0.5, 0.5)


def test_whole_numbers_may_be_large():
    assert numbers([2**40, -(2**40)], np.int64) == (-(2**40), 2**40, 0, 2**40)


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_neither_strides_nor_chunks_matter(monkeypatch, chunk):
    monkeypatch.setattr(statistics, "CHUNK", chunk)
    values = np.arange(120.0).reshape(4, 5, 6)[:, ::2].transpose(2, 0, 1)
    found, whole = describe(values), describe(values.copy().ravel())
    assert found.mean == pytest.approx(values.mean())
    assert found.standard_deviation == pytest.approx(values.std())
    assert found.histogram.tolist() == whole.histogram.tolist()


def test_an_expanded_array_counts_every_place():
    found = describe(np.broadcast_to(np.array([1.0, 3.0]), (10, 2)))
    assert (found.count, found.mean, found.histogram.sum()) == (20, 2, 20)


def test_a_single_number_is_described():
    assert numbers(7.0) == (7, 7, 7, 0)


def test_one_hot_value_among_a_million_is_seen():
    values = np.zeros(1_000_000, np.float32)
    values[654_321] = 0.5
    found = describe(values)
    assert (found.maximum, found.histogram[63]) == (0.5, 1)
