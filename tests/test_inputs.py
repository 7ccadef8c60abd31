import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import MobileNet_V2_Weights, ViT_B_16_Weights

from hookviewer.engine.errors import HookviewerError
from hookviewer.inputs import DEMO_PICTURES, read_input
from hookviewer.preprocessing import Preprocessing
from hookviewer.resources import path_of
from hookviewer.sources import load

PLAIN = Preprocessing(resize=None, crop=None, mean=(0, 0, 0), std=(1, 1, 1))


@pytest.fixture(scope="session")
def demo():
    return load("demo")


def tensor_of(loaded):
    (tensor,) = loaded.inputs.args
    assert not loaded.inputs.kwargs
    return tensor


@pytest.mark.parametrize("name", DEMO_PICTURES)
@pytest.mark.parametrize(
    "weights", [MobileNet_V2_Weights.IMAGENET1K_V1, ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1]
)
def test_the_tensor_is_exactly_what_torchvisions_own_transforms_give(name, weights):
    with Image.open(path_of("images", f"{name}.png")) as image:
        right = weights.transforms()(image.convert("RGB"))
    loaded = read_input(f"demo:{name}", Preprocessing.from_transforms(weights.transforms()))
    assert torch.equal(tensor_of(loaded), right.unsqueeze(0))
    assert tensor_of(loaded).is_contiguous()


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("chelsea", {"Egyptian cat": 0.717, "tiger cat": 0.147, "tabby": 0.130}),
        ("coffee", {"espresso": 0.992}),
        ("camera", {"tripod": 0.978}),
    ],
)
def test_the_built_in_model_knows_the_built_in_pictures(demo, name, classes):
    with torch.no_grad():
        scores = demo.model(tensor_of(read_input(f"demo:{name}", demo.preprocessing)))
    best = scores[0].softmax(0).topk(len(classes))
    found = {demo.class_names[index]: value.item() for value, index in zip(*best, strict=True)}
    assert found == pytest.approx(classes, abs=0.0006)


def test_the_default_picture_is_the_cat(demo):
    cat, same = (read_input(spec, demo.preprocessing) for spec in ("demo", "demo:chelsea"))
    assert torch.equal(tensor_of(cat), tensor_of(same))
    assert (cat.spec, cat.title) == ("demo", "chelsea")


def test_the_picture_shown_is_what_is_fed(demo):
    loaded = read_input("demo:coffee", demo.preprocessing)
    with Image.open(path_of("images", "coffee.png")) as image:
        small = image.convert("RGB").resize((384, 256), Image.Resampling.BILINEAR)
    assert np.array_equal(loaded.picture, np.asarray(small)[16:240, 80:304])


def test_a_picture_file_is_named_by_its_path(tmp_path):
    file = tmp_path / "red.png"
    Image.new("RGB", (2, 1), (255, 0, 0)).save(file)
    loaded = read_input(str(file), PLAIN)
    assert tensor_of(loaded).tolist() == [[[[1, 1]], [[0, 0]], [[0, 0]]]]
    assert loaded.picture.tolist() == [[[255, 0, 0]] * 2]
    assert (loaded.spec, loaded.title) == (str(file), "red.png")


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("demo:dog", "no built-in picture 'dog'; there are chelsea, coffee, camera"),
        ("demo:", "no built-in picture ''"),
        ("nowhere.png", "There is no file 'nowhere.png'"),
        ("", "There is no file"),
        ("noise:", "write its sizes as in noise:1x3x224x224"),
        ("noise:1x0x2", "write its sizes"),
        ("noise:1x-3", "write its sizes"),
        ("noise:9999x9999x9999", "999,700,029,999 numbers; that is too many"),
    ],
)
def test_what_cannot_be_opened_is_answered_in_a_sentence(spec, sentence):
    with pytest.raises(HookviewerError, match=sentence):
        read_input(spec, PLAIN)


def test_a_pickle_is_not_opened_as_an_input(tmp_path):
    file = tmp_path / "input.pt"
    torch.save(torch.ones(1), file)
    with pytest.raises(HookviewerError, match="not a picture"):
        read_input(str(file), PLAIN)


def test_noise_is_standard_normal_and_the_same_each_time():
    before = torch.get_rng_state()
    first, second = (tensor_of(read_input("noise:2x3x64x64", PLAIN)) for _ in range(2))
    assert torch.equal(first, second)
    assert first.shape == (2, 3, 64, 64)
    assert first.dtype == torch.float32
    assert first.mean().item() == pytest.approx(0, abs=0.03)
    assert first.std().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(torch.get_rng_state(), before)


def rows(sample):
    """Return ``sample`` (row, column) scaled to 0…255."""
    low, high = sample.min(), sample.max()
    return ((sample - low) / (high - low) * 255).round()


def test_noise_of_three_channels_is_shown_in_colour():
    loaded = read_input("noise:2x3x4x5", PLAIN)
    right = rows(tensor_of(loaded)[0]).permute(1, 2, 0)
    assert loaded.picture.tolist() == right.tolist()
    assert loaded.picture.dtype == np.uint8


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ("1x1x4x5", lambda tensor: tensor[0, 0]),
        ("1x8x4x5", lambda tensor: tensor[0].mean(0)),
        ("1x1x6x4x5", lambda tensor: tensor[0, 0, 0]),  # a video's first frame
        ("2x4x5", lambda tensor: tensor[0]),
        ("2x7", lambda tensor: tensor[0, None]),
    ],
)
def test_other_noise_is_shown_in_grey(sizes, shown):
    loaded = read_input(f"noise:{sizes}", PLAIN)
    right = rows(shown(tensor_of(loaded)))
    for channel in range(3):
        assert loaded.picture[:, :, channel].tolist() == right.tolist()


def test_a_single_number_of_noise_is_black():
    assert read_input("noise:1", PLAIN).picture.tolist() == [[[0, 0, 0]]]


@pytest.fixture
def made(tmp_path):
    """Read what a function in a script returns; the script knows torch and ``Inputs``."""

    def made(returned, query=""):
        file = tmp_path / "given.py"
        head = "import torch\nfrom hookviewer.engine.plan import Inputs\n"
        file.write_text(f"{head}def build(size=2):\n    return {returned}\n")
        return read_input(f"{file}:build{query}", PLAIN)

    return made


def test_a_function_in_a_script_may_return_one_tensor(made):
    loaded = made("torch.ones(size)", "?size=3")
    assert tensor_of(loaded).tolist() == [1, 1, 1]
    assert loaded.title == "given.py:build?size=3"
    assert loaded.lines == ("input:0 = 1, 1, 1  (float32)",)
    assert loaded.picture is None


def test_a_tuple_is_the_positional_arguments_as_they_are(made):
    loaded = made("torch.ones(1, 9, dtype=torch.int64), 'text', [torch.zeros(())]")
    first, text, (last,) = loaded.inputs.args
    assert (first.shape, first.dtype, text, last.item()) == ((1, 9), torch.int64, "text", 0)
    assert loaded.lines == ("input:0  1×9  int64", "input:2/0 = 0  (float32)")


def test_inputs_may_have_keywords(made):
    loaded = made("Inputs(torch.ones(1), mask=torch.tensor([True, False]))")
    assert list(loaded.inputs.kwargs) == ["mask"]
    assert loaded.lines == ("input:0 = 1  (float32)", "input:mask = 1, 0  (bool)")


def test_of_several_tensors_the_first_that_is_a_picture_is_shown(made):
    loaded = made("torch.ones(1, 4), torch.tensor([[[[0., 1.], [2., 4.]]]], dtype=torch.float16)")
    assert loaded.picture[:, :, 0].tolist() == [[0, 64], [128, 255]]


@pytest.mark.parametrize(
    "tensor",
    [
        "torch.full((1, 3, 2, 2), torch.nan)",
        "torch.ones(1, 3, 2, 2, dtype=torch.int64)",
        "torch.ones(1, 3, 2, 2, device='meta')",
        "torch.ones(1, 3, 0, 2)",
        "torch.ones(1, 3, 2, 2).to_sparse()",
    ],
)
def test_what_no_picture_can_show_is_only_described(made, tensor):
    loaded = made(tensor)
    assert loaded.picture is None
    assert len(loaded.lines) == 1


@pytest.mark.parametrize(
    ("returned", "kind"), [("[1]", "a list"), ("None", "None"), ("{'x': 1}", "a dict")]
)
def test_what_is_no_input_is_named(made, returned, kind):
    with pytest.raises(HookviewerError, match=f"'given.py:build' made {kind}; an input is"):
        made(returned)


def test_an_error_in_a_script_of_an_input_is_named_with_its_line(made):
    with pytest.raises(HookviewerError, match=r"in given\.py, line 4: ZeroDivisionError"):
        made("1 / 0")


def test_a_script_without_a_function_for_the_input_is_asked_for_one(tmp_path):
    file = tmp_path / "given.py"
    file.write_text("def build(): ...\n")
    with pytest.raises(HookviewerError, match=r"makes the input, 'given\.py:build'"):
        read_input(str(file), PLAIN)


def test_numbers_in_a_row_are_all_shown():
    numbers = tensor_of(read_input("noise:5", PLAIN))
    assert read_input("noise:5", PLAIN).picture[0, :, 0].tolist() == rows(numbers).tolist()
