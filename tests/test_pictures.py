import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from hookviewer.engine.errors import HookviewerError
from hookviewer.pictures import read_picture

RED, GREEN, BLUE, WHITE = [255, 0, 0], [0, 255, 0], [0, 0, 255], [255] * 3


def read(path):
    """Return the mode and the pixels of a picture file."""
    image = read_picture(path)
    return image.mode, np.asarray(image).tolist()


def refused(path):
    with pytest.raises(HookviewerError) as caught:
        read_picture(path)
    return str(caught.value)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "picture"


def grey(values):
    return Image.fromarray(np.array(values, np.uint8))


def with_alpha(pixels, mode):
    return Image.frombytes(mode, (len(pixels), 1), np.array(pixels, np.uint8).tobytes())


def palette(colours):
    """Return one row with each of ``colours`` once."""
    image = Image.new("P", (len(colours), 1))
    image.putpalette(np.ravel(colours).tolist())
    image.putdata(range(len(colours)))
    return image


def test_grey_stays_grey(file):
    grey([[0, 128], [255, 64]]).save(file, "PNG")
    assert read(file) == ("L", [[0, 128], [255, 64]])


def test_black_and_white_becomes_grey(file):
    grey([[0, 255]]).convert("1").save(file, "PNG")
    assert read(file) == ("L", [[0, 255]])


def test_a_palette_becomes_its_colours(file):
    palette([RED, BLUE]).save(file, "PNG")
    assert read(file) == ("RGB", [[RED, BLUE]])


@pytest.mark.parametrize("transparency", [1, b"\xff\x00"])
def test_a_palettes_transparent_colour_becomes_white(file, transparency):
    palette([RED, BLUE]).save(file, "PNG", transparency=transparency)
    assert read(file) == ("RGB", [[RED, WHITE]])


def test_transparent_colours_are_laid_on_white(file):
    with_alpha([[*RED, 255], [*GREEN, 0], [0, 0, 0, 51]], "RGBA").save(file, "PNG")
    assert read(file) == ("RGB", [[RED, WHITE, [204] * 3]])  # a fifth black, four fifths white


def test_transparent_grey_is_laid_on_white(file):
    with_alpha([[0, 255], [128, 0]], "LA").save(file, "PNG")
    assert read(file) == ("RGB", [[[0] * 3, WHITE]])


@pytest.mark.parametrize(
    ("mode", "colour", "transparency"), [("L", 128, 128), ("RGB", (0, 255, 0), (0, 255, 0))]
)
def test_a_single_transparent_colour_becomes_white(file, mode, colour, transparency):
    Image.new(mode, (1, 1), colour).save(file, "PNG", transparency=transparency)
    assert read(file) == ("RGB", [[WHITE]])


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_grey_of_16_bits_is_not_clipped(file, kind):
    Image.fromarray(np.array([[0, 256, 32768, 65535]], np.uint16)).save(file, kind)
    mode, pixels = read(file)
    assert mode == "F"
    assert pixels == pytest.approx(np.array([[0, 256 / 65535, 32768 / 65535, 1]]), rel=1e-6)


def test_big_endian_16_bits_are_read_in_their_order(file):
    values = np.array([[1, 256, 65535]], ">u2")
    file.write_bytes(b"P5 3 1 65535\n" + values.tobytes())
    assert read(file)[1] == pytest.approx(values / 65535, rel=1e-6)


def test_the_transparent_grey_of_16_bits_becomes_white(file):
    Image.fromarray(np.array([[300, 301]], np.uint16)).save(file, "PNG", transparency=300)
    assert read(file)[1] == pytest.approx(np.array([[1, 301 / 65535]]), rel=1e-6)


def test_colour_of_16_bits_is_not_clipped(file):
    def chunk(name, content):
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    row = b"\x00" + struct.pack(">3H", 257, 128 * 257, 65535)
    header = struct.pack(">2I5B", 1, 1, 16, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(row)), (b"IEND", b"")
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts))
    assert read(file) == ("RGB", [[[1, 128, 255]]])


def test_decimal_numbers_from_0_to_1_are_kept(file):
    Image.fromarray(np.array([[0, 0.25, 1]], np.float32)).save(file, "TIFF")
    assert read(file) == ("F", [[0, 0.25, 1]])


@pytest.mark.parametrize("values", [np.float32([[0, 2]]), np.float32([[np.nan]]), np.int32([[7]])])
def test_32_bit_numbers_without_a_range_are_refused(file, values):
    Image.fromarray(values).save(file, "TIFF")
    assert "nothing says which of them is black" in refused(file)


@pytest.mark.parametrize(
    ("ink", "colour"), [((0, 0, 0, 0), WHITE), ((255, 0, 0, 0), [0, 255, 255])]
)
def test_printing_inks_become_light(file, ink, colour):
    Image.new("CMYK", (16, 16), ink).save(file, "JPEG", quality=95)
    mode, pixels = read(file)
    assert mode == "RGB"
    assert pixels[8][8] == pytest.approx(colour, abs=6)


# How the upright picture [[1, 2], [3, 4], [5, 6]] is stored under each orientation.
ORIENTATIONS = {
    1: [[1, 2], [3, 4], [5, 6]],
    2: [[2, 1], [4, 3], [6, 5]],
    3: [[6, 5], [4, 3], [2, 1]],
    4: [[5, 6], [3, 4], [1, 2]],
    5: [[1, 3, 5], [2, 4, 6]],
    6: [[2, 4, 6], [1, 3, 5]],
    7: [[6, 4, 2], [5, 3, 1]],
    8: [[5, 3, 1], [6, 4, 2]],
}


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("bits", [8, 16])
def test_a_photo_taken_sideways_is_upright(file, orientation, bits):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = np.array(ORIENTATIONS[orientation], f"u{bits // 8}")
    Image.fromarray(stored).save(file, "PNG", exif=exif)
    pixels = np.asarray(read_picture(file)) * (1 if bits == 8 else 65535)
    assert np.rint(pixels).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_of_several_frames_the_first_is_read(file, kind):
    red, green = (Image.new("RGB", (2, 1), tuple(colour)) for colour in (RED, GREEN))
    options = {"lossless": True} if kind == "WEBP" else {}
    red.save(file, kind, save_all=True, append_images=[green], **options)
    assert read(file) == ("RGB", [[RED, RED]])


def test_a_truncated_picture_is_refused(file):
    Image.effect_noise((64, 64), 50).save(file, "PNG")
    file.write_bytes(file.read_bytes()[:1000])
    assert refused(file).startswith(f"The picture '{file}' cannot be read: ")


def test_what_is_no_picture_is_refused(file, tmp_path):
    assert refused(file) == f"There is no file '{file}'."
    assert refused(tmp_path) == f"There is no file '{tmp_path}'."
    for content in (b"", b"text", b"\x80\x04\x95"):
        file.write_bytes(content)
        assert refused(file) == f"'{file}' is not a picture that can be read."


def test_a_damaged_header_is_refused(file):
    Image.new("RGB", (4, 4)).save(file, "PNG")
    content = bytearray(file.read_bytes())
    content[24] = 77  # the bit depth
    file.write_bytes(content)
    assert str(file) in refused(file)


@pytest.mark.parametrize(("width", "height"), [(30_000, 30_000), (13_000, 14_000)])
def test_a_decompression_bomb_is_refused_by_what_it_claims(file, width, height):
    limit = Image.MAX_IMAGE_PIXELS
    file.write_bytes(b"P5 %d %d 255\n" % (width, height))
    assert "claims to have more than 178 million pixels" in refused(file)
    assert limit == Image.MAX_IMAGE_PIXELS


def test_a_bomb_is_refused_even_where_pillows_own_guard_is_off(file, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    file.write_bytes(b"P5 30000 30000 255\n")
    assert "claims to have more than 178 million pixels" in refused(file)


def test_a_big_but_honest_picture_opens_quietly(file, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 3)
    grey([[1, 2], [3, 4]]).save(file, "PNG")
    before = list(warnings.filters)
    assert read(file) == ("L", [[1, 2], [3, 4]])
    assert warnings.filters == before


def test_postscript_is_refused_because_it_is_a_program(file, monkeypatch):
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_: pytest.fail("it was run"))
    Image.new("RGB", (4, 4)).save(file, "EPS")
    assert "is PostScript" in refused(file)
