"""What is recorded of an operation is what went in and came out at that moment."""

import gc
import weakref

import pytest
import torch
from torch.nn import functional

from hookviewer.engine.plan import Inputs

X = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])
VALUES = ("input", "output")


@pytest.fixture
def values(record):
    """``values(function, *paths)``: the output of call 0 of each path, as lists."""

    def values(function, *paths, given=X):
        run = record(function, given, paths, target=None, quantities=VALUES)
        return [run[path].calls[0].outputs["0"].tolist() for path in paths]

    return values


def test_a_value_is_that_before_later_changes_in_place(values):
    def chain(x):
        y = x * 2
        y += 1
        y.mul_(-1)
        return functional.relu(y, inplace=True)

    assert values(chain, "/mul", "/add_", "/mul_", "/relu", given=torch.tensor([1.0, -2.0])) == [
        [2, -4],
        [3, -3],
        [-3, 3],
        [0, 3],
    ]


def test_what_goes_into_a_change_in_place_is_that_before(record):
    run = record(lambda x: (x * 1).add_(x), X, "/add_", target=None)
    (call,) = run["/add_"].calls
    assert torch.equal(call.inputs["0"], X)
    assert torch.equal(call.outputs["0"], 2 * X)


def test_a_view_is_that_before_its_memory_is_written_to(values):
    def through(x):
        y = x * 1
        row = y[0]
        y.zero_()
        return row

    assert values(through, "/getitem", "/zero_") == [[1, -2, 3], [[0] * 3] * 2]


def test_writing_through_a_view_is_seen_step_by_step(record):
    def add_to_a_row(x):
        y = x * 1
        y[0] += 10
        return y

    run = record(add_to_a_row, X, ["/getitem", "/add_", "/setitem"], target=None)
    assert run["/getitem"].output.tolist() == [1, -2, 3]
    assert run["/add_"].output.tolist() == [11, 8, 13]
    (written,) = run["/setitem"].calls
    assert written.inputs["0"].tolist() == [[11, 8, 13], [-4, 5, -6]]  # the row is a view of it
    assert torch.equal(written.outputs["0"], run.output)


def test_a_column_that_is_set_shows_the_whole_tensor_before_and_after(record):
    def set_column(x):
        y = x * 1
        y[:, 0] = 7
        return y + 0

    (call,) = record(set_column, X, "/setitem", target=None)["/setitem"].calls
    assert torch.equal(call.inputs["0"], X)
    assert call.outputs["0"].tolist() == [[7, -2, 3], [7, 5, -6]]


def test_an_expanded_tensor_has_all_its_elements(values):
    def expanded(x):
        return x[:1].expand(2, 3) * 1

    assert values(expanded, "/expand") == [[[1, -2, 3]] * 2]


def test_what_is_written_to_an_argument_is_the_output(record):
    def into(x):
        into_this = torch.empty(2, 3)
        torch.add(x, 1, out=into_this)
        return into_this.mul_(0)

    run = record(into, X, "/add", target=None)
    assert torch.equal(run["/add"].output, X + 1)
    assert not run.output.any()


def test_no_value_changes_what_the_model_does_with_its_own_memory(record):
    def by_parts(x):
        for row in x:
            row[0] *= 2
        x[:, 1:].relu_()
        return x.flatten()

    everything = ["/unbind", "/getitem", "/mul_", "/setitem", "/relu_", "/flatten"]
    run = record(by_parts, X, everything, target=None)
    assert run.output.tolist() == [2, 0, 3, -8, 5, 0]
    assert run["/flatten"].output.tolist() == [2, 0, 3, -8, 5, 0]
    assert len(run["/mul_"].calls) == 2


def test_only_what_is_tapped_is_copied(record):
    run = record(lambda x: ((x + 1) * 2 - 3).sin(), X, "/mul", target=None, quantities=VALUES)
    assert [capture.tap.path for capture in run.captures] == ["/mul", "/mul"]
    assert run.byte_count == 2 * X.nbytes


def test_what_is_not_tapped_is_not_kept(record):
    made = []

    def noting(x):
        y = x + 1
        made.append(weakref.ref(y))
        return y * 2

    run = record(noting, X, "/mul", target=None, quantities=["output"])
    gc.collect()
    assert [each() for each in made] == [None]
    assert torch.equal(run["/mul"].output, (X + 1) * 2)


def test_a_tensor_given_by_keyword_and_one_inside_a_list_are_inputs(record):
    def index(x, rows):
        return torch.stack([x.index_select(dim=0, index=rows), x])

    run = record(index, Inputs(X, torch.tensor([1, 0])), ["/index_select", "/stack"], target=None)
    assert run["/index_select"].calls[0].inputs["index"].tolist() == [1, 0]
    assert torch.equal(run["/stack"].calls[0].inputs["0/0"], X.flip(0))


def test_the_user_s_tensors_are_never_written_to(record):
    given = X.clone()
    record(lambda x: x.add_(1).mul_(2), given, ["/add_", "/mul_"])
    assert torch.equal(given, X)
    assert not given.requires_grad


def test_operations_of_whole_numbers_and_truths_have_values(values):
    assert values(lambda x: x.long() & 3, "/and", given=torch.tensor([5.0, 6.0])) == [[1, 2]]
    assert values(lambda x: ~(x > 0), "/gt", "/invert", given=torch.tensor([5.0, -6.0])) == [
        [True, False],
        [False, True],
    ]


def test_an_operation_without_gradients_has_its_value(record):
    def without(x):
        with torch.no_grad():
            y = x * 2
            y += 1
        with torch.inference_mode():
            z = y.abs()
        return x + y + z.clone()

    run = record(without, X, ["/mul", "/add_", "/abs"])
    assert torch.equal(run["/mul"].output, 2 * X)
    assert torch.equal(run["/add_"].output, 2 * X + 1)
    assert torch.equal(run["/abs"].output, (2 * X + 1).abs())
