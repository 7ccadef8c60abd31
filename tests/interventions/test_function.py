import pytest
import torch

from hookviewer.engine.errors import HookviewerError
from hookviewer.interventions import function

X = torch.tensor([[1.0, -2.0]])


def shortened(value):
    return value[:, :1]


def overwritten(value):
    return value.fill_(7)


def broken(value):
    raise RuntimeError


def refused(value):
    raise HookviewerError("Not here.")


class Halved:
    def __call__(self, value):
        return [value]


def test_functions_change_values_and_gradients():
    intervention = function(forward=lambda value: value + 1, backward=torch.neg)
    assert intervention.forward(X).tolist() == [[2, -1]]
    assert intervention.backward(X).tolist() == [[-1, 2]]


def test_a_direction_without_function_is_left_alone():
    intervention = function()
    assert (intervention.forward, intervention.backward) == (None, None)


def test_a_function_that_writes_to_its_value_reaches_nothing_else():
    value = X.clone()
    assert function(forward=overwritten).forward(value).tolist() == [[7, 7]]
    assert torch.equal(value, X)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (shortened, "The function 'shortened' gives 1 × 1 of float32 where 1 × 2 of float32 is"),
        (broken, "The function 'broken' could not be computed: RuntimeError"),
        (refused, "Not here."),
        (Halved(), "The function 'Halved' gives no tensor but list;"),
    ],
)
def test_what_a_function_should_not_do_is_said_with_its_name(change, sentence):
    with pytest.raises(HookviewerError) as caught:
        function(backward=change).backward(X)
    assert str(caught.value).startswith(sentence)
