import pytest
import torch
from torch import nn

from hookviewer.engine.errors import HookviewerError, TargetError
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap
from hookviewer.targets import mean, unit

X = torch.tensor([[1.0, 1.0]], dtype=torch.float64)


def run(net, target, path="input:0", x=X):
    return execute(net, Plan(frozenset({Tap(path, Quantity.GRAD_OUTPUT)}), Inputs(x), target))


def gradient(net, target, path="input:0", x=X):
    result = run(net, target, path, x)
    return result.score, result[path].grad_output.tolist()


def test_a_unit_before_an_in_place_change_is_what_the_node_handed_on(chain):
    # chain: [5, 6] relu([[1, 2], [3, -4]] x), cut off in place: unit 1 is -1, not 0
    assert gradient(chain, unit("0", (1,))) == (-1, [[3, -4]])


def test_a_mean_of_a_node_is_differentiated(chain):
    assert gradient(chain, mean("0")) == (1, [[2, -1]])
    assert gradient(chain, mean("1")) == (1.5, [[0.5, 1]])


def test_what_comes_after_the_node_has_no_path_to_the_target(chain):
    result = run(chain, mean("0"), "2")
    assert result["2"].absence("grad_output") == "no path to the target"


def test_each_call_of_a_node_is_a_target_of_its_own(twice):
    # twice: 2 (2 x + 1)
    assert gradient(twice, mean("scale", channel=0, call=0)) == (2, [[2, 0]])
    assert gradient(twice, mean("scale", channel=0, call=1)) == (6, [[4, 0]])


def test_an_operation_can_be_the_target(twice):
    assert gradient(twice, unit("/add", (1,))) == (3, [[0, 2]])


def test_an_input_can_be_the_target(chain):
    assert gradient(chain, unit("input:0", (1,)), x=4 * X) == (4, [[0, 1]])


def test_one_sample_of_a_node_is_a_target(chain):
    score, slopes = gradient(chain, unit("0", (1,), sample=1), x=torch.cat([X, 2 * X]))
    assert (score, slopes) == (-2, [[0, 0], [3, -4]])


def test_a_call_that_is_not_there_is_said(twice):
    with pytest.raises(TargetError, match="'scale' has calls 0 to 1; 2 is not among them"):
        run(twice, mean("scale", call=2))


def test_a_node_that_is_not_called_is_said():
    net = nn.Sequential(nn.Identity())
    net[0].unused = nn.Identity()
    with pytest.raises(TargetError, match=r"'0\.unused', which was not called"):
        run(net, mean("0.unused"))


def test_an_unknown_node_is_refused(chain):
    with pytest.raises(HookviewerError, match="no node 'nothing'"):
        run(chain, mean("nothing"))
