import torch
from torchvision.models import MobileNet_V2_Weights, mobilenet_v2

from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of
from hookviewer.sources import load


def test_the_built_in_model_is_torchvisions_mobilenet_v2():
    model = load("demo").model
    twin = mobilenet_v2()
    weights = torch.load(path_of("models", "mobilenet_v2-b0353104.pth"), weights_only=True)
    twin.load_state_dict(weights)
    picture = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(picture), twin.eval()(picture))
    assert str(model) == str(twin)
    assert not model.training
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_built_in_model_says_what_it_is():
    loaded = load("demo")
    assert loaded.title == "MobileNetV2"
    assert loaded.weights == "ImageNet weights (IMAGENET1K_V1)"
    assert loaded.class_names == tuple(MobileNet_V2_Weights.IMAGENET1K_V1.meta["categories"])
    assert loaded.class_names[285] == "Egyptian cat"
    assert loaded.preprocessing == Preprocessing()


def test_loading_the_built_in_model_draws_no_random_numbers():
    before = torch.get_rng_state()
    load("demo")
    assert torch.equal(torch.get_rng_state(), before)
