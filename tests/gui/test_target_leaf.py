import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt

TWO_HEADS = """


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.first, self.second = nn.Conv2d(1, 2, 1), nn.Linear(8, 3), nn.Linear(8, 5)

    def forward(self, x):
        hidden = self.body(x).flatten(1)
        return {"first": self.first(hidden), "second": self.second(hidden)}

def build():
    return Net()
"""


@pytest.fixture
def gradients(window):
    return window.area.panels["gradients"]


def expected(net, x, head):
    hidden = net.body(x).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(getattr(net, head)(hidden.flatten(1)).max(), hidden)
    return gradient[0]


def test_of_several_outputs_the_first_is_the_targets_until_another_is_chosen(
    window, open_net, gradients, settles, qtbot
):
    net = open_net(TWO_HEADS, given="noise:1x1x2x2", at="body")
    (x,) = window.workspace.input.inputs.args
    assert not window.area.message_bar.isVisible()
    assert window.tools.leaf_chooser.currentText() == "first"
    np.testing.assert_allclose(gradients.picture.stack.values, expected(net, x, "first"), rtol=1e-4)
    with settles():
        qtbot.keyClick(window.tools.leaf_chooser, Qt.Key.Key_Down)
    assert window.workspace.target_leaf == "second"
    np.testing.assert_allclose(
        gradients.picture.stack.values, expected(net, x, "second"), rtol=1e-4
    )


def test_a_single_output_offers_no_choice(window, open_net):
    open_net("def build(): return nn.Flatten()")
    assert not window.tools.leaf_chooser.isVisible()
