"""The tree of a model shows everything that can be looked at, each under its own path."""

import pytest
import torch
from torch import nn

from hookviewer.engine.node import NodeKind
from hookviewer.engine.paths import build_tree


class Owner(nn.Module):
    """Parameters, a list of them and a buffer, that belong to no layer."""

    def __init__(self):
        super().__init__()
        self.cls = nn.Parameter(torch.tensor([[[5.0, 6.0]]]))
        self.scale = nn.ParameterList([torch.ones(1), torch.ones(1) * 2])
        self.blocks = nn.ModuleDict({"layer 1": nn.Linear(2, 2), "a/b": nn.Identity()})
        self.register_buffer("pos", torch.arange(2), persistent=False)
        self.register_buffer("unset", None)
        self.register_parameter("bias", None)

    def forward(self, x):
        x = torch.cat([self.cls, x], 1) + self.pos
        for block in self.blocks.values():
            x = block(x)
        return x * self.scale[1]


def nodes_of(model):
    return {node.path: node for node in build_tree(model).walk()}


def test_the_tree_has_every_module_parameter_and_buffer_in_the_order_of_the_model():
    assert list(nodes_of(Owner())) == [
        "", "scale", "scale.0", "scale.1",
        "blocks", "blocks.layer 1", "blocks.layer 1.weight", "blocks.layer 1.bias", "blocks.a\\/b",
        "cls", "pos",
    ]  # fmt: skip


def test_nodes_know_their_kind_type_shape_and_size():
    nodes = nodes_of(Owner())
    cls, pos, blocks = nodes["cls"], nodes["pos"], nodes["blocks"]
    assert (cls.kind, cls.type_name, cls.shape) == (NodeKind.PARAMETER, "float32", (1, 1, 2))
    assert (pos.kind, pos.type_name, pos.shape) == (NodeKind.BUFFER, "int64", (2,))
    assert (blocks.kind, blocks.type_name, blocks.shape) == (NodeKind.MODULE, "ModuleDict", None)
    assert nodes["blocks.layer 1.weight"].parameter_count == 4
    assert pos.parameter_count == 0
    assert nodes[""].parameter_count == 10
    assert nodes["blocks"].parameter_count == 6


def test_names_are_the_last_part_of_the_path_and_the_class_at_the_root():
    nodes = nodes_of(Owner())
    assert nodes[""].name == "Owner"
    assert nodes["blocks.layer 1"].name == "layer 1"
    assert nodes["scale.1"].name == "1"


def test_only_what_is_never_called_is_a_container():
    containers = [path for path, node in nodes_of(Owner()).items() if node.is_container]
    assert containers == ["scale", "blocks"]


def test_every_path_of_the_tree_can_be_recorded(record):
    net = Owner()
    run = record(net, torch.zeros(1, 1, 2), list(nodes_of(net)), quantities=["output"])
    assert run["cls"].output.tolist() == [[[5, 6]]]
    assert run["scale.1"].output.tolist() == [2]
    assert run["pos"].output.tolist() == [0, 1]
    assert run["blocks.a\\/b"].output.shape == (1, 2, 2)
    assert run["blocks"].absence("output") == "container"
    assert run["scale"].absence("output") == "container"


ODD = ("a/b", "layer 1", "x:y", "back\\slash", "input:0", "\\/", "ünï", "{}")


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_modules_can_be_told_from_paths(record, name):
    inner = nn.ModuleDict({name: nn.Linear(1, 1)})
    net = nn.Sequential(inner[name])
    net.add_module(name, inner[name])
    escaped = name.replace("\\", "\\\\").replace("/", "\\/").replace(":", "\\:")
    nodes = nodes_of(net)
    assert set(nodes) >= {escaped, f"{escaped}.weight"}
    run = record(net, torch.ones(1, 1), [escaped, f"{escaped}.weight"])
    assert run[escaped].output.shape == (1, 1)
    assert torch.equal(run[f"{escaped}.weight"].output, inner[name].weight)


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_parameters_too(record, name):
    net = nn.Sequential(nn.Linear(1, 1))
    net.register_parameter(name, nn.Parameter(torch.ones(3)))
    escaped = name.replace("\\", "\\\\").replace("/", "\\/").replace(":", "\\:")
    assert nodes_of(net)[escaped].shape == (3,)
    run = record(net, torch.ones(1, 1), [escaped, "input:0"], quantities=["output"])
    assert run[escaped].output.tolist() == [1, 1, 1]
    assert run["input:0"].output.tolist() == [[1]]


def test_two_names_that_differ_in_a_backslash_have_two_paths():
    net = nn.ModuleDict({"a/b": nn.Linear(1, 1), "a\\/b": nn.Linear(1, 2)})
    nodes = nodes_of(net)
    assert [nodes[path].parameter_count for path in ("a\\/b", "a\\\\\\/b")] == [2, 4]


def test_a_shared_module_stands_at_both_paths_and_counts_once():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.Sequential(shared))
    nodes = nodes_of(net)
    assert nodes["0.weight"].shape == nodes["1.0.weight"].shape == (2, 2)
    assert nodes[""].parameter_count == nodes["1"].parameter_count == 6


def test_tied_parameters_count_once():
    net = nn.Sequential(nn.Embedding(3, 2), nn.Linear(2, 3, bias=False))
    net[1].weight = net[0].weight
    nodes = nodes_of(net)
    assert nodes[""].parameter_count == 6
    assert nodes["0"].parameter_count == nodes["1"].parameter_count == 6


def test_a_lazy_model_has_a_tree_without_shapes():
    net = nn.Sequential(nn.LazyLinear(2), nn.Linear(2, 2))
    nodes = nodes_of(net)
    assert nodes["0.weight"].shape is None
    assert nodes[""].parameter_count == 6
    assert net[0].has_uninitialized_params()


def test_a_model_on_the_meta_device_has_a_tree():
    nodes = nodes_of(nn.Linear(2, 3, device="meta"))
    assert nodes["weight"].shape == (3, 2)
    assert nodes[""].parameter_count == 9


def test_a_function_is_a_root_alone():
    def answer(x):
        return x

    root = build_tree(answer)
    assert (root.path, root.name, root.children) == ("", "answer", ())


def test_a_very_deep_model_has_a_tree():
    net = nn.Linear(1, 1)
    for _ in range(200):
        net = nn.Sequential(net)
    assert len(nodes_of(net)) == 203
