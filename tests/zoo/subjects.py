"""Build every model of torchvision with random weights, and a small input of the right kind."""

import math
from dataclasses import dataclass, field
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torchvision.models import (
    detection,
    get_model,
    get_model_builder,
    get_model_weights,
    list_models,
    maxvit,
    segmentation,
)
from torchvision.models.video import mvit

MOST_PARAMETERS = 400_000_000
"""Above this two copies of a model want too much memory and time."""

PARAMETERS = {
    name: max(weights.meta["num_params"] for weights in get_model_weights(name))
    for name in list_models()
}
NAMES = [name for name, count in PARAMETERS.items() if count <= MOST_PARAMETERS]

_OF_DETECTION = frozenset(list_models(detection))
_OF_SEGMENTATION = frozenset(list_models(segmentation))
_SMALL = {"min_size": 64, "max_size": 96}
_ONE_STAGE = {"score_thresh": 0.0, "detections_per_img": 4, "topk_candidates": 20}
_TWO_STAGES = {
    "rpn_pre_nms_top_n_test": 30,
    "rpn_post_nms_top_n_test": 6,
    "rpn_score_thresh": 0.0,
    "box_score_thresh": 0.0,
    "box_detections_per_img": 3,
}


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model in eval mode, and what it is called with."""

    model: nn.Module = field(repr=False)
    args: tuple
    kwargs: dict


def build(name):
    """Return the subject called ``name``, the same one every time."""
    torch.manual_seed(sum(name.encode()))
    with patch.object(mvit, "MViT", _SmallMViT), patch.object(maxvit, "MaxVit", _SmallMaxVit):
        model = get_model(name, **_options(name)).eval()
    args, kwargs = _arguments(name)
    _make_random(model)
    _settle(model, args, kwargs)
    return Subject(model, args, kwargs)


def _options(name):
    options = {"weights": None}
    if name in _OF_DETECTION:
        options |= _TWO_STAGES if "rcnn" in name else _ONE_STAGE
        options |= {} if name.startswith("ssd") else _SMALL  # which knows one size only
    if name in _OF_DETECTION | _OF_SEGMENTATION:
        options["weights_backbone"] = None
    if name.startswith(("fcn", "deeplab")):
        options["aux_loss"] = True
    if "googlenet" in name or "inception" in name:
        options["init_weights"] = False
    if name.startswith("quantized"):
        options["quantize"] = False
    if name.startswith("vit"):
        options["image_size"] = 64
    return options


class _SmallMViT(mvit.MViT):
    """The same network for clips of 4 frames of 64 × 64 pixels."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs | {"spatial_size": (64, 64), "temporal_size": 4})


class _SmallMaxVit(maxvit.MaxVit):
    """The same network for pictures of 64 × 64 pixels, in windows of 2 × 2 that fit these."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs | {"input_size": (64, 64), "partition_size": 2})


def _arguments(name):
    """Return positional and keyword arguments, as small as the model allows."""
    if name in _OF_DETECTION:
        return ([torch.rand(3, 64, 80), torch.rand(3, 72, 64)],), {}
    if name.startswith("raft"):
        pictures = (torch.rand(1, 3, 128, 128) * 2 - 1, torch.rand(1, 3, 128, 128) * 2 - 1)
        return pictures, {"num_flow_updates": 2}
    return (torch.randn(_shape(name)),), {}


def _shape(name):
    if name == "s3d":  # pools 2 × 7 × 7 at the end
        return 1, 3, 14, 209, 209
    if "video" in get_model_builder(name).__module__:
        return 1, 3, 4, 64, 64
    return (2, 3, 96, 96) if "inception" in name else (2, 3, 64, 64)


def _make_random(model):
    """Let no parameter be constant, as heads, shortcuts and scales are by construction."""
    with torch.no_grad():
        for parameter in model.parameters():
            low, high = (number.item() for number in parameter.aminmax())
            if low == high:
                middle = 0.5 if 0 < low < 0.1 else low  # a scale that nearly closes a branch
                parameter.copy_(torch.empty_like(parameter).uniform_(-0.1, 0.1) + middle)


def _settle(model, args, kwargs):
    """Give every normalisation statistics of its own input, so that values stay near one."""
    handles = [
        module.register_forward_pre_hook(_take_statistics)
        for module in model.modules()
        if getattr(module, "running_mean", None) is not None
    ]
    with torch.no_grad():
        model(*args, **kwargs)
    for handle in handles:
        handle.remove()


def _take_statistics(module, args):
    """Set the running statistics around those of all channels together; none of them is tiny."""
    value, size = args[0], module.running_mean.shape
    spread = max(value.std().item(), 1e-3) if math.prod(value.shape) > 1 else 1.0
    module.running_mean.copy_(value.mean() + 0.1 * spread * torch.randn(size))
    module.running_var.copy_((spread * torch.empty(size).uniform_(0.8, 1.25)) ** 2)


def weighted(output):
    """The target: every differentiable number of the output times a fixed random weight, summed."""
    random = torch.Generator().manual_seed(1)
    score = torch.zeros(())
    for tensor in tensors_in(output).values():
        if tensor.requires_grad:
            score = score + (tensor * torch.randn(tensor.shape, generator=random)).sum()
    return score


def tensors_in(value, path=""):
    """Return the tensors inside tuples, lists and dictionaries by their path; alone one is 0."""
    if isinstance(value, Tensor):
        return {path or "0": value}
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, tuple | list):
        parts = enumerate(value)
    else:
        return {}
    return {
        leaf: tensor
        for key, part in parts
        for leaf, tensor in tensors_in(part, f"{path}/{key}" if path else str(key)).items()
    }
