"""The built-in model."""

from hookviewer.engine.cancel import CancelToken
from hookviewer.extension import sources
from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of
from hookviewer.sources.loaded import LoadedModel


@sources.register("demo")
def load_demo(spec: str, token: CancelToken) -> LoadedModel | None:
    """Load torchvision's MobileNetV2 with its ImageNet weights from hookviewer's own files."""
    if spec != "demo":
        return None
    # torch is imported here because the window must be on the screen before it is loaded.
    import torch
    from torchvision.models import MobileNet_V2_Weights, mobilenet_v2

    token.check()
    weights = MobileNet_V2_Weights.IMAGENET1K_V1
    file = path_of("models", "mobilenet_v2-b0353104.pth")
    with torch.device("meta"):  # neither fills weights nor draws the random numbers for it
        model = mobilenet_v2()
    model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True), assign=True)
    return LoadedModel(
        spec=spec,
        title="MobileNetV2",
        model=model.eval(),
        preprocessing=Preprocessing.from_transforms(weights.transforms())
        or Preprocessing.for_model(model),
        class_names=tuple(weights.meta["categories"]),
        weights="ImageNet weights (IMAGENET1K_V1)",
    )
