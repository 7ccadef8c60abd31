"""Read a picture file of any kind, with the pixels that a person sees in it."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from hookviewer.engine.errors import HookviewerError

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 178_956_970  # where Pillow, too, takes a file for a decompression bomb


def read_picture(path: Path) -> "Image":
    """Return the first frame of a picture file, upright, with nothing transparent.

    What is transparent is laid on white. Colours come as mode RGB and grey as L, both with 8 bits;
    grey of 16 bits comes as F with values between 0 and 1, so that no step is lost.

    Raises:
        HookviewerError: It is missing, no picture, damaged, or too big; the sentence says which.
    """
    # Late, because the window reads this module's names while it starts.
    from PIL import Image, ImageOps, UnidentifiedImageError

    if not path.is_file():
        raise HookviewerError(f"There is no file '{path}'.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # see _check
            with Image.open(path) as file:
                _check(file, path)
                upright = ImageOps.exif_transpose(file)
        return _plain(upright, file.format, path)
    except HookviewerError:
        raise
    except UnidentifiedImageError as error:
        raise HookviewerError(f"'{path}' is not a picture that can be read.") from error
    except Image.DecompressionBombError as error:
        raise _too_big(path) from error
    except Exception as error:  # decoders meet a broken file with whatever comes up
        words = " ".join(str(error).split()).rstrip(".")
        raise HookviewerError(f"The picture '{path}' cannot be read: {words}.") from error


def _check(file: "Image", path: Path) -> None:
    if file.format == "EPS":  # Pillow would hand it to Ghostscript, which runs it
        raise HookviewerError(f"'{path}' is PostScript, a program and not a picture.")
    if file.width * file.height > _MOST_PIXELS:
        raise _too_big(path)


def _too_big(path: Path) -> HookviewerError:
    return HookviewerError(
        f"'{path}' claims to have more than {_MOST_PIXELS // 10**6} million pixels; "
        "that is too many to open safely."
    )


def _plain(image: "Image", kind: str | None, path: Path) -> "Image":
    """Return ``image`` in mode RGB, L or F."""
    from PIL import Image

    if image.mode.startswith("I;16") or (image.mode == "I" and kind in ("PNG", "PPM")):
        return _from_16_bits(image)
    if image.mode in ("I", "F"):
        return _from_32_bits(image, path)
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        if image.mode == "La":
            image = image.convert("LA")
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _from_16_bits(image: "Image") -> "Image":
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    grey = (values / 65535).astype(np.float32)
    if "transparency" in image.info:
        grey[values == image.info["transparency"]] = 1
    return Image.fromarray(grey)


def _from_32_bits(image: "Image", path: Path) -> "Image":
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    if image.mode == "F" and np.all((values >= 0) & (values <= 1)):
        return Image.fromarray(values)
    raise HookviewerError(
        f"'{path}' holds 32-bit numbers, and nothing says which of them is black and which is "
        "white; save it with 8 or 16 bits, or as decimal numbers from 0 to 1."
    )
