"""Turn a picture into the tensor that a model expects."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookviewer.engine.errors import HookviewerError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image
    from torch import Tensor

# torch and torchvision are imported inside the functions: the window reads this module's types
# while it starts, and it must be on the screen before torch is loaded.

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
_MOST_PIXELS = 1 << 26


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How a picture becomes a model's input.

    Attributes:
        resize: Pixels of the shorter side after resizing; None leaves the size alone.
        crop: Side of the square cut from the centre; None cuts nothing.
        interpolation: torchvision's name of the resizing method.
        mean: Subtracted from each channel, whose values are between 0 and 1.
        std: What each channel is divided by afterwards.
        channels: 1 for grey pictures, 3 for colour.
    """

    resize: int | None = 256
    crop: int | None = 224
    interpolation: str = "bilinear"
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    channels: int = 3

    @classmethod
    def from_transforms(cls, transforms: Any) -> "Preprocessing | None":
        """Return what torchvision's ``weights.transforms()`` do; None if not for one picture."""
        if type(transforms).__name__ == "ObjectDetection":  # has no attributes to tell it by
            return cls(resize=None, crop=None, mean=(0.0,) * 3, std=(1.0,) * 3)
        resize = getattr(transforms, "resize_size", None) or [None]
        crop = getattr(transforms, "crop_size", None) or [None]
        if not hasattr(transforms, "mean") or len(resize) != 1 or len(crop) != 1:
            return None  # for videos, or for pairs of pictures
        return cls(
            resize=resize[0],
            crop=crop[0],
            interpolation=transforms.interpolation.value,
            mean=tuple(transforms.mean),
            std=tuple(transforms.std),
            channels=len(transforms.mean),
        )

    @classmethod
    def for_model(cls, model: "Callable[..., Any]") -> "Preprocessing":
        """Return ImageNet's preprocessing, with as many channels as the model looks at.

        The channels are those of its first convolution. Networks that state the one size they
        take, as torchvision's vision transformers do (``image_size``), get that size.
        """
        crop = getattr(model, "image_size", None)
        crop = crop if type(crop) is int and crop > 0 else 224
        resize = round(crop * 256 / 224)
        if _first_channels(model) != 1:
            return cls(resize=resize, crop=crop)
        mean, std = sum(IMAGENET_MEAN) / 3, sum(IMAGENET_STD) / 3
        return cls(resize=resize, crop=crop, mean=(mean,), std=(std,), channels=1)

    def apply(self, picture: "Image") -> "Tensor":
        """Return ``picture`` as a float32 tensor (1, channel, row, column).

        The steps are those of torchvision's classification transforms, so that a model with
        torchvision's weights gets bit for bit what it was evaluated on.

        Args:
            picture: Of mode RGB, L, or F with values between 0 and 1.

        Raises:
            HookviewerError: The picture is so narrow that resizing it would fill the memory.
        """
        from torchvision.transforms import InterpolationMode, functional  # late: see above

        if picture.mode != "F":
            picture = picture.convert("L" if self.channels == 1 else "RGB")
        image: Any = picture
        if self.resize is not None:
            self._check_size(*picture.size)
            image = functional.resize(image, [self.resize], InterpolationMode(self.interpolation))
        if self.crop is not None:
            image = functional.center_crop(image, [self.crop])
        pixels = functional.convert_image_dtype(functional.pil_to_tensor(image))
        pixels = pixels.expand(self.channels, -1, -1).contiguous()  # rows of a channel together
        normal: Tensor = functional.normalize(pixels, list(self.mean), list(self.std))
        return normal.unsqueeze(0)

    def undo(self, tensor: "Tensor") -> "NDArray[np.uint8]":
        """Return the first sample of ``tensor`` as a picture (row, column, 3)."""
        import torch  # late: see above

        mean, std = (torch.tensor(values).view(-1, 1, 1) for values in (self.mean, self.std))
        pixels = (tensor[0] * std + mean).mul(255).round().clamp(0, 255)
        picture: NDArray[np.uint8] = pixels.byte().expand(3, -1, -1).permute(1, 2, 0).numpy()
        return picture.copy()

    def _check_size(self, width: int, height: int) -> None:
        short, long = sorted((width, height))
        resize = self.resize or short
        if resize * resize * long / short > _MOST_PIXELS:
            raise HookviewerError(
                f"The picture is {width} x {height} pixels, too narrow to be enlarged until its "
                f"shorter side has {resize}."
            )


def _first_channels(model: "Callable[..., Any]") -> int | None:
    from torch import nn  # late: see above

    for module in model.modules() if isinstance(model, nn.Module) else ():
        if isinstance(module, nn.Conv1d | nn.Conv2d | nn.Conv3d):
            return module.in_channels
    return None
