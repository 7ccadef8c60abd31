import inspect
import pickle
import shutil
import typing
import warnings

import pytest
import torch
from torchvision import models

from hookviewer.engine.errors import HookviewerError
from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of
from hookviewer.sources import load, torchvision_models

FILE = "mobilenet_v2-b0353104.pth"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """torch's cache of downloaded weights, empty; a download would fail the test."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda *_, **__: pytest.fail("network"))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def test_a_name_alone_gives_random_weights(cache):
    loaded = load("torchvision:squeezenet1_1")
    assert type(loaded.model) is models.SqueezeNet
    assert (loaded.title, loaded.weights, loaded.class_names) == (
        "squeezenet1_1",
        "random weights",
        (),
    )
    assert not loaded.model.training


def test_arguments_reach_the_builder():
    loaded = load("torchvision:squeezenet1_1?num_classes=7&dropout=0.25")
    assert loaded.model.classifier[1].out_channels == 7
    assert loaded.model.classifier[0].p == 0.25


@pytest.mark.parametrize("choice", ["IMAGENET1K_V1", "MobileNet_V2_Weights.IMAGENET1K_V1"])
def test_weights_come_from_torchs_cache(cache, choice):
    shutil.copy(path_of("models", FILE), cache)
    loaded = load(f"torchvision:mobilenet_v2?weights={choice}")
    demo = load("demo")
    assert torch.equal(loaded.model.classifier[1].weight, demo.model.classifier[1].weight)
    assert loaded.class_names == demo.class_names
    assert loaded.preprocessing == demo.preprocessing
    assert loaded.weights == "torchvision's weights (MobileNet_V2_Weights.IMAGENET1K_V1)"


def test_weights_that_are_not_on_this_machine_are_not_downloaded(cache):
    with pytest.raises(HookviewerError) as caught:
        load("torchvision:resnet18?weights=DEFAULT")
    sentence = str(caught.value)
    assert f"there is no resnet18-f37072fd.pth in {cache}" in sentence
    assert "Without '?weights=' the model opens with random weights" in sentence


@pytest.mark.parametrize(
    "spec",
    ["torchvision:resnet18?pretrained=True", "torchvision:fcn_resnet50?weights_backbone=DEFAULT"],
)
def test_no_other_way_leads_to_the_network(cache, spec):
    with pytest.raises(HookviewerError, match=r"weights=DEFAULT|not on this machine"):
        load(spec)


def test_a_segmentation_models_backbone_is_not_downloaded_either(cache):
    loaded = load("torchvision:lraspp_mobilenet_v3_large")
    assert loaded.weights == "random weights"


def test_every_builder_that_downloads_does_so_through_a_parameter_that_we_know():
    for name in torchvision_models.names():
        for key, parameter in inspect.signature(models.get_model_builder(name)).parameters.items():
            enums = [e for e in typing.get_args(parameter.annotation) if hasattr(e, "__members__")]
            assert bool(enums) == key.startswith("weights"), (name, key)


class _Payload:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (str(self.marker), "w"))


@pytest.mark.parametrize("kind", ["zip", "legacy", "pickle"])
def test_code_in_a_cached_file_does_not_run(cache, tmp_path, kind):
    marker = tmp_path / "ran"
    with (cache / FILE).open("wb") as file:
        if kind == "pickle":
            pickle.dump(_Payload(marker), file)
        else:
            torch.save(_Payload(marker), file, _use_new_zipfile_serialization=kind == "zip")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(HookviewerError, match="damaged, or holds more than weights"):
            load("torchvision:mobilenet_v2?weights=IMAGENET1K_V1")
    assert not marker.exists()
    assert not warned


def test_a_truncated_cached_file_is_named(cache):
    whole = path_of("models", FILE).read_bytes()
    (cache / FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HookviewerError, match=f"{FILE} is damaged"):
        load("torchvision:mobilenet_v2?weights=IMAGENET1K_V1")


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(HookviewerError, match=r"no model 'resnet81'\. Near it: .*resnet18"):
        load("torchvision:resnet81")
    with pytest.raises(HookviewerError, match=r"^torchvision has no model '§'\.$"):
        load("torchvision:§")


def test_unknown_weights_are_answered_with_the_known_ones():
    with pytest.raises(HookviewerError, match=r"no weights 'V9'.*it has IMAGENET1K_V1"):
        load("torchvision:resnet18?weights=V9")


def test_what_torchvision_refuses_becomes_a_sentence():
    with pytest.raises(HookviewerError, match=r"cannot build 'squeezenet1_1': .*'depth'\.$"):
        load("torchvision:squeezenet1_1?depth=3")


def test_models_whose_default_warns_open_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load("torchvision:googlenet?aux_logits=False")


def test_quantized_weights_are_asked_for_with_the_argument_quantize(cache):
    for query, file in (("", "shufflenetv2_x0.5-f707e7126e.pth"), ("&quantize=True", "fbgemm")):
        with pytest.raises(HookviewerError, match=file):
            load(f"torchvision:quantized_shufflenet_v2_x0_5?weights=DEFAULT{query}")


def test_names_are_those_that_can_be_opened():
    names = torchvision_models.names()
    assert {"resnet18", "vit_b_16", "quantized_resnet18", "raft_small"} <= set(names)
    assert len(names) > 100


def transforms_of(weights):
    return Preprocessing.from_transforms(weights.transforms())


def test_preprocessing_follows_the_weights():
    assert transforms_of(models.EfficientNet_B1_Weights.IMAGENET1K_V2) == Preprocessing(255, 240)
    assert transforms_of(models.Swin_T_Weights.DEFAULT).interpolation == "bicubic"
    assert transforms_of(models.segmentation.FCN_ResNet50_Weights.DEFAULT) == Preprocessing(
        520, None
    )
    assert transforms_of(models.detection.SSD300_VGG16_Weights.DEFAULT) == Preprocessing(
        None, None, mean=(0, 0, 0), std=(1, 1, 1)
    )
    assert transforms_of(models.video.R3D_18_Weights.DEFAULT) is None
    assert transforms_of(models.optical_flow.Raft_Small_Weights.DEFAULT) is None
