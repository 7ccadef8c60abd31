"""What is put on another device leaves what is the user's in place."""

import torch

from hookviewer.engine.placement import inputs_on, known_device, model_on
from hookviewer.engine.plan import Inputs

META = torch.device("meta")


def test_a_model_is_copied_unless_it_is_there(chain):
    assert model_on(torch.device("cpu"), chain) is chain
    copy = model_on(META, chain)
    assert copy[0].weight.is_meta
    assert chain[0].weight.device.type == "cpu"


def test_a_tensor_that_is_given_twice_is_one_there_too(ones):
    inputs = inputs_on(META, Inputs(ones, [ones], mask=ones))
    assert inputs.args[0].is_meta
    assert inputs.args[0] is inputs.args[1][0] is inputs.kwargs["mask"]


def test_a_device_is_what_tensors_there_call_it():
    assert known_device("cpu:0") == torch.device("cpu")
