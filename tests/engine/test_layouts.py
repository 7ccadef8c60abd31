"""Whatever shape a tensor has and however it lies in memory, its elements are found by index."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing._internal.two_tensor import TwoTensor

X = torch.arange(24.0).reshape(2, 3, 4)
SHAPES = [(), (5,), (2, 5), (1, 3, 4), (1, 2, 3, 2), (1, 2, 3, 2, 2), (1, 0, 2, 2), (1, 4096, 1, 2)]


@pytest.fixture
def passed(record, around, does):
    """``passed(make)``: the run of a module that makes something of ``X``, and one that takes it.

    With ``weigh``, the target is the sum of what that makes of it.
    """

    def passed(make, weigh=None):
        parts = nn.ModuleList([does(make), does(lambda y: None)])

        def call(parts, x):
            value = parts[0](x)
            parts[1](value)
            return x * 1 if weigh is None else weigh(value)

        return record(around(parts, call), X, ["body.0", "body.1", "input:0"])

    return passed


@pytest.mark.parametrize("shape", SHAPES)
def test_tensors_of_all_ranks_have_values_and_gradients(passed, shape):
    values = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    run = passed(lambda x: values * x[0, 0, 1], lambda value: value * values)
    assert torch.equal(run["body.0"].output, values)
    assert torch.equal(run["body.0"].grad_output, values)
    assert torch.equal(run["body.1"].input, values)


WAYS = {
    "transposed": lambda x: x.transpose(0, 2),
    "every other": lambda x: x[:, ::2],
    "a part of the middle": lambda x: x[:, 1, 1:3],
    "expanded": lambda x: x[:, :1].expand(2, 7, 4),
    "overlapping": lambda x: x.reshape(-1).unfold(0, 3, 1),
    "a diagonal": lambda x: x[0].diagonal(),
    "channels last": lambda x: x.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    "channels last, 3-d": lambda x: x.reshape(1, 2, 3, 2, 2).to(
        memory_format=torch.channels_last_3d
    ),
    "empty": lambda x: x[:, :0].transpose(0, 2),
    "backwards": lambda x: x.flip(0),
}


@pytest.mark.parametrize("way", WAYS)
def test_elements_keep_their_places_however_they_lie_in_memory(passed, way):
    expected = WAYS[way](X)
    factors = torch.arange(1.0, expected.numel() + 1).reshape(expected.shape)
    run = passed(WAYS[way], lambda value: value * factors)
    assert run["body.0"].output.tolist() == expected.tolist()
    assert run["body.1"].input.tolist() == expected.tolist()
    assert run["body.0"].grad_output.tolist() == factors.tolist()
    alone = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((WAYS[way](alone) * factors).sum(), alone)
    assert torch.equal(run["input:0"].grad_output, gradient)


def test_what_is_recorded_of_a_broadcast_value_can_be_told_apart(passed):
    """A copy with the strides of its original would have one element for all."""
    output = passed(WAYS["expanded"])["body.0"].output
    assert output.stride() == (28, 4, 1)


DENSE = torch.tensor([[0.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.0]])
SPARSE = {
    "coo": lambda x: x.to_sparse(),
    "coo, by row": lambda x: x.to_sparse(1),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((2, 2)),
}


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_values_stay_sparse_and_have_gradients_where_there_are_elements(passed, layout):
    expected = SPARSE[layout](DENSE)
    run = passed(lambda x: SPARSE[layout](x[0, :2] * 0 + DENSE), lambda value: value.to_dense() * 5)
    for tensor in (run["body.0"].output, run["body.1"].input):
        assert tensor.layout == expected.layout
        assert torch.equal(tensor.to_dense(), DENSE)
    gradient = run["body.0"].grad_output.to_dense()
    assert gradient[DENSE != 0].tolist() == [5, 5, 5]


def test_a_sparse_value_that_names_an_element_twice_keeps_both(passed):
    places, values = torch.tensor([[0, 0], [1, 1]]), torch.tensor([2.0, 3.0])
    run = passed(lambda x: torch.sparse_coo_tensor(places, values, (2, 2)))
    output = run["body.0"].output
    assert not output.is_coalesced()
    assert output._values().tolist() == [2, 3]
    assert output.to_dense().tolist() == [[0, 5], [0, 0]]


def test_a_value_in_a_layout_of_one_library_is_recorded_as_a_plain_one(passed):
    run = passed(lambda x: x.detach().to_mkldnn())
    assert run["body.0"].output.tolist() == X.tolist()
    assert run["body.1"].input.tolist() == X.tolist()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_values_have_values_and_gradients_part_by_part(passed, layout):
    def make(x):
        return torch.nested.as_nested_tensor([x[0], x[1, :2]], layout=layout)

    run = passed(make, lambda value: torch.nested.to_padded_tensor(value, 0.0) * 5)
    for tensor in (run["body.0"].output, run["body.1"].input):
        assert tensor.is_nested
        assert [part.tolist() for part in tensor.unbind()] == [X[0].tolist(), X[1, :2].tolist()]
    gradients = run["body.0"].grad_output.unbind()
    assert [part.tolist() for part in gradients] == [[[5.0] * 4] * 3, [[5.0] * 4] * 2]
    assert run["input:0"].grad_output.sum() == 5 * 20


class Plain(Tensor):
    """A subclass that changes nothing."""


class Silent(Tensor):
    """A subclass whose operations give plain tensors."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class Loud(Tensor):
    """A subclass that sees every operation on it, reads of attributes included."""

    seen: list[object] = []  # noqa: RUF012  # of the class, as the operations are

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.mark.parametrize("kind", [Plain, Silent, Loud])
def test_tensors_of_a_class_of_the_users_have_values_and_gradients(passed, kind):
    run = passed(lambda x: (x * 2).as_subclass(kind), lambda value: value.as_subclass(Tensor) * X)
    for tensor in (run["body.0"].output, run["body.1"].input, run["body.0"].grad_output):
        assert isinstance(tensor, Tensor)
    assert run["body.0"].output.tolist() == (X * 2).tolist()
    assert run["body.0"].grad_output.tolist() == X.tolist()
    assert run["input:0"].grad_output.tolist() == (X * 2).tolist()


def test_a_tensor_that_computes_by_itself_keeps_its_parts(passed):
    run = passed(lambda x: TwoTensor(x.detach() * 1, x.detach() * 3))
    output = run["body.0"].output
    assert (output.a.tolist(), output.b.tolist()) == (X.tolist(), (X * 3).tolist())


def test_a_value_without_numbers_inside_a_model_has_a_name(passed):
    run = passed(lambda x: torch.empty(2, 3, device="meta"))
    assert run["body.0"].absence("output") == "no data (meta)"
    assert run["body.1"].absence("input") == "no data (meta)"
    assert run["body.0"].absence("grad_output") is not None


def test_parts_of_one_memory_are_recorded_apart(passed):
    run = passed(lambda x: (x, x[0], x[0, 1:]), lambda value: value[1] * 2 + value[2].sum())
    (call,) = run["body.0"].calls
    assert [call.outputs[leaf].tolist() for leaf in "012"] == [
        X.tolist(),
        X[0].tolist(),
        X[0, 1:].tolist(),
    ]
    places = {tensor.untyped_storage().data_ptr() for tensor in call.outputs.values()}
    assert len(places) == 3
    assert call.grad_outputs["1"].tolist() == [[2.0] * 4] * 3
    assert call.grad_outputs["2"].tolist() == [[12.0] * 4] * 2


@pytest.mark.parametrize("learns", [False, True])
def test_a_tensor_that_the_module_keeps_is_recorded_whether_it_learns_or_not(
    record, around, does, learns
):
    kept = torch.tensor([1.0, 2.0], requires_grad=learns)
    net = around(does(lambda: kept), lambda body, x: body() * x)
    node = record(net, torch.tensor([3.0, 4.0]), "body")["body"]
    assert node.output.tolist() == [1, 2]
    assert node.grad_output.tolist() == [3, 4]
    assert (kept.requires_grad, kept.grad, kept.grad_fn) == (learns, None, None)
