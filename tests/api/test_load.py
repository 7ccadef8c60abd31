"""A loaded model is a plain module, and what belongs to it is remembered beside it."""

import gc
import weakref

import pytest
import torch
from PIL import Image
from torch import nn
from torchvision.models import MobileNet_V2_Weights

import hookviewer as hv
from hookviewer.resources import path_of


@pytest.fixture(scope="module")
def demo():
    return hv.load("demo")


@pytest.fixture
def script(tmp_path):
    """The spec of a model in a file."""
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n"
        "def make(size=2): return torch.nn.Linear(size, 1)\n"
        "def empty(): return torch.nn.Linear(2, 1, device='meta')\n"
        "def function(): return torch.cat\n"
        "def one(): return torch.zeros(2)\n"
        "def two(): return torch.zeros(2), torch.ones(2)\n"
        "def parts(): return ((torch.zeros(2), torch.ones(2)),)\n"
        "def named(): return __import__('hookviewer').Inputs(torch.zeros(2), out=None)\n"
    )
    return f"{file}:make"


def test_a_model_comes_with_its_preprocessing(demo):
    picture = Image.open(path_of("images", "chelsea.png")).convert("RGB")
    wanted = MobileNet_V2_Weights.IMAGENET1K_V1.transforms()(picture).unsqueeze(0)
    assert torch.equal(hv.read_input("demo", demo), wanted)


def test_a_model_comes_with_its_class_names(demo):
    run = hv.record(demo, hv.read_input("demo", demo), [])
    assert run.top(1)[0][:2] == (285, "Egyptian cat")
    assert run.description.spec == "demo"


def test_nothing_is_put_into_the_model(script):
    model = hv.load(script)
    assert vars(model).keys() == vars(nn.Linear(2, 1)).keys()


def test_a_model_that_nobody_holds_any_more_is_freed(script):
    alive = weakref.ref(hv.load(script))
    gc.collect()
    assert alive() is None


def test_a_model_from_elsewhere_gets_as_many_channels_as_it_looks_at():
    assert hv.read_input("demo", nn.Conv2d(1, 4, 3)).shape == (1, 1, 224, 224)
    assert hv.read_input("demo", torch.relu).shape == (1, 3, 224, 224)


def test_noise_is_fed_as_it_is():
    assert hv.read_input("noise:2x5", nn.Linear(5, 1)).shape == (2, 5)


def test_an_input_is_a_tensor_or_what_a_model_is_called_with(script):
    file = script.removesuffix(":make")
    cat = hv.load(f"{file}:function", device="cpu")
    assert hv.read_input(f"{file}:one", cat).shape == (2,)
    two = hv.read_input(f"{file}:two", cat)
    assert [argument.tolist() for argument in two.args] == [[0, 0], [1, 1]]
    assert hv.read_input(f"{file}:named", cat).kwargs == {"out": None}
    parts = hv.read_input(f"{file}:parts", cat)  # a tuple that is one argument
    assert hv.record(cat, parts, []).output.tolist() == [0, 0, 1, 1]


def test_a_model_can_be_put_on_a_device(script):
    assert hv.load(script, device="meta").weight.is_meta


def test_a_device_that_is_not_there_is_a_sentence(script):
    with pytest.raises(hv.HookviewerError, match=r"^The device 'attic' cannot be used: .*[^.]\.$"):
        hv.load(script, device="attic")


def test_a_model_that_cannot_be_moved_is_a_sentence(script):
    empty = script.replace(":make", ":empty")
    with pytest.raises(hv.HookviewerError, match=r"^The model cannot be put on 'cpu': .*[^.]\.$"):
        hv.load(empty, device="cpu")


def test_a_tree_has_the_modules_and_parameters(chain):
    paths = [node.path for node in hv.tree(chain).walk()]
    assert paths == ["", "0", "0.weight", "1", "2", "2.weight"]
