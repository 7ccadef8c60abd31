"""Attention weights are what the values are added up with, and are computed without a trace."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right
from torch.overrides import TorchFunctionMode

from hookviewer.engine.attention import attention_weights, is_attention

SDPA = functional.scaled_dot_product_attention
MULTI_HEAD = functional.multi_head_attention_forward
SEEN = torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]])


def parts(*lead, queries=3, keys=4, dtype=torch.float32):
    """Queries, keys and values of width 5, with axes ``lead`` before."""
    torch.manual_seed(0)
    return [torch.randn(*lead, length, 5, dtype=dtype) for length in (queries, keys, keys)]


class Watching(TorchFunctionMode):
    """Takes the weights of each attention of the block beside it, and lists what it has seen."""

    def __init__(self):
        super().__init__()
        self.seen, self.weights = [], []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        result = function(*args, **(kwargs or {}))
        if is_attention(function):
            self.weights.append(attention_weights(function, args, kwargs or {}))
        return result


def multi_head(*given, embed=8, heads=2, options=None, **kwargs):
    """The output of a ``MultiheadAttention``, its own weights, and those computed beside it."""
    torch.manual_seed(0)
    module = nn.MultiheadAttention(embed, heads, **(options or {})).eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    with Watching() as watching:
        output, own = module(*given, **kwargs)
    (weights,) = watching.weights
    return module, output, own, weights


def sequence(length=3, samples=2, embed=8, seed=0):
    return torch.randn(length, samples, embed, generator=torch.Generator().manual_seed(seed))


def projected(module, value):
    """The values of ``module`` by head, ``(sample, head, key, width)``, for keys first in line."""
    weight, bias = module.in_proj_weight.chunk(3)[2], module.in_proj_bias.chunk(3)[2]
    by_head = functional.linear(value, weight, bias).unflatten(-1, (module.num_heads, -1))
    return by_head.permute(1, 2, 0, 3)


def added_up(module, weights, values):
    """What an attention with ``weights`` puts out, queries first in line."""
    return module.out_proj((weights @ values).permute(2, 0, 1, 3).flatten(2))


def test_one_query_sees_two_keys_by_their_exponentials():
    query = torch.tensor([[[[1.0]]]])
    key = torch.tensor([[[[0.0], [math.log(3)]]]])
    weights = attention_weights(SDPA, (query, key, key), {})
    torch.testing.assert_close(weights, torch.tensor([[[[0.25, 0.75]]]]))


def test_scale_replaces_the_root_of_the_width():
    query = torch.tensor([[[[math.log(3), 0.0, 0.0, 0.0]]]])
    key = torch.tensor([[[[0.0] * 4, [1.0, 0.0, 0.0, 0.0]]]])
    scaled = attention_weights(SDPA, (query, key, key), {"scale": 2.0})
    plain = attention_weights(SDPA, (query, key, key), {})
    torch.testing.assert_close(scaled, torch.tensor([[[[0.1, 0.9]]]]))
    root = math.sqrt(3)
    torch.testing.assert_close(plain, torch.tensor([[[[1 / (1 + root), root / (1 + root)]]]]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.1},
        {"attn_mask": SEEN},
        {"attn_mask": torch.zeros(3, 4).masked_fill(~SEEN, -math.inf)},
        {"attn_mask": torch.arange(24.0).view(2, 1, 3, 4) / 10},
    ],
    ids=["plain", "causal", "scale", "bool mask", "hiding mask", "float mask"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_times_values_are_the_output(options, dtype):
    query, key, value = parts(2, 2, dtype=dtype)
    if options.get("attn_mask", SEEN).is_floating_point():
        options = {"attn_mask": options["attn_mask"].to(dtype)}
    weights = attention_weights(SDPA, (query, key, value), options)
    assert weights.shape == (2, 2, 3, 4)
    assert weights.dtype is dtype
    output = SDPA(query, key, value, **options)
    torch.testing.assert_close(weights @ value, output, rtol=0, atol=1e-6)


def test_a_causal_query_sees_no_later_key():
    weights = attention_weights(SDPA, (*parts(1, 1), None, 0.0, True), {})
    assert (weights[0, 0] > 0).tolist() == [[True] + 3 * [False], [True] * 2 + [False] * 2,
                                            [True] * 3 + [False]]  # fmt: skip


def test_a_mask_that_knows_how_it_is_aligned_is_heeded():
    query, key, value = parts(1, 1)
    mask = causal_lower_right(3, 4)
    weights = attention_weights(SDPA, (query, key, value, mask), {})
    torch.testing.assert_close(weights @ value, SDPA(query, key, value, mask), rtol=0, atol=1e-6)
    assert (weights[0, 0, 0] > 0).tolist() == [True, True, False, False]


def test_a_query_that_sees_nothing_has_zeros_and_the_others_add_to_one():
    weights = attention_weights(SDPA, parts(2, 2), {"attn_mask": SEEN})
    torch.testing.assert_close(weights.sum(-1), torch.tensor([1.0, 0.0, 1.0]).expand(2, 2, 3))


def test_a_query_that_is_no_number_stays_none():
    query, key, value = parts(1, 1)
    query[0, 0, 1] = math.nan
    weights = attention_weights(SDPA, (query, key, value), {})
    assert weights.isnan().any(-1).tolist() == [[[False, True, False]]]


@pytest.mark.parametrize(
    ("lead", "counted"),
    [((), (1, 1)), ((2,), (2, 1)), ((2, 3), (2, 3)), ((2, 5, 3), (10, 3))],
)
def test_axes_before_the_heads_are_samples(lead, counted):
    query, key, value = parts(*lead)
    weights = attention_weights(SDPA, (query, key, value), {})
    assert weights.shape == (*counted, 3, 4)
    again = weights.view(*lead, 3, 4) @ value
    torch.testing.assert_close(again, SDPA(query, key, value), rtol=0, atol=1e-6)


@pytest.mark.parametrize("lead", [(), (2,)])
def test_heads_in_groups_share_their_keys(lead):
    (query, *_), (_, key, value) = parts(*lead, 4), parts(*lead, 2)
    weights = attention_weights(SDPA, (query, key, value), {"enable_gqa": True})
    assert weights.shape == (math.prod(lead), 4, 3, 4)
    output = SDPA(query, key, value, enable_gqa=True)
    shared = value.repeat_interleave(2, -3)
    torch.testing.assert_close((weights @ shared).view_as(output), output, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.half])
def test_low_precision_is_exact_up_to_its_rounding(dtype):
    query, key, value = parts(2, 2, dtype=dtype)
    weights = attention_weights(SDPA, (query, key, value), {})
    assert weights.dtype is torch.float32
    exact = (query.double() @ key.double().mT / math.sqrt(5)).softmax(-1)
    torch.testing.assert_close(weights.double(), exact, rtol=0, atol=1e-6)
    output = SDPA(query, key, value).float()
    rounding = 2 * torch.finfo(dtype).eps * value.abs().max().item()
    torch.testing.assert_close(weights @ value.float(), output, rtol=0, atol=rounding)


def test_autocast_rounds_queries_and_keys_as_it_does_for_the_call():
    query, key, value = parts(1, 1)
    rounded = attention_weights(SDPA, (query.bfloat16(), key.bfloat16(), value.bfloat16()), {})
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weights = attention_weights(SDPA, (query, key, value), {})
    assert torch.equal(weights, rounded)


def test_dropout_is_no_part_of_the_weights():
    given = parts(1, 1)
    dropped = attention_weights(SDPA, (*given, None, 0.9), {})
    assert torch.equal(dropped, attention_weights(SDPA, given, {}))


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_multi_head_weights_are_the_modules_own_by_head(asked, batch_first):
    x, memory = sequence(3), sequence(4, seed=1)
    given = [each.transpose(0, 1) for each in (x, memory)] if batch_first else [x, memory]
    module, output, _, weights = multi_head(
        given[0], given[1], given[1], options={"batch_first": batch_first}, need_weights=asked
    )
    module.requires_grad_(requires_grad=True)
    own = module(given[0], given[1], given[1], average_attn_weights=False)[1]
    assert weights.shape == (2, 2, 3, 4)
    assert torch.equal(weights, own)
    assert not weights.requires_grad
    output = output.transpose(0, 1) if batch_first else output
    again = added_up(module, weights, projected(module, memory))
    torch.testing.assert_close(again, output, rtol=1e-6, atol=1e-6)


def test_one_sample_without_an_axis_for_it_is_one_sample():
    x = sequence()[:, 0]
    _, _, own, weights = multi_head(x, x, x)
    assert weights.shape == (1, 2, 3, 3)
    torch.testing.assert_close(weights[0].mean(0), own)


def test_own_sizes_of_keys_and_values_and_keys_of_its_own_are_weighed_too():
    options = {"kdim": 5, "vdim": 7, "add_bias_kv": True, "add_zero_attn": True}
    key, value = sequence(4, embed=5), sequence(4, embed=7)
    _, _, own, weights = multi_head(
        sequence(), key, value, options=options, key_padding_mask=torch.ones(2, 4, dtype=bool)
    )
    assert weights.shape == (2, 2, 3, 6)
    assert weights[..., :4].count_nonzero() == 0
    torch.testing.assert_close(weights.mean(1), own)


def test_what_the_padding_or_the_mask_hides_has_no_weight():
    x = sequence()
    padding = torch.tensor([[False, False, True], [False, False, False]])
    mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
    module, output, _, weights = multi_head(
        x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False
    )
    seen = ~(mask | padding[:, None, None])
    assert torch.equal(weights > 0, seen.expand(2, 2, 3, 3))
    again = added_up(module, weights, projected(module, x))
    torch.testing.assert_close(again, output, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["bool", "float", "by head", "padding"])
def test_a_multi_head_query_that_sees_nothing_has_zeros(kind):
    x, blind = sequence(), torch.zeros(3, 3, dtype=torch.bool)
    blind[1] = True
    masks = {
        "bool": {"attn_mask": blind},
        "float": {"attn_mask": torch.zeros(3, 3).masked_fill(blind, -math.inf)},
        "by head": {"attn_mask": blind.expand(4, 3, 3)},
        "padding": {"key_padding_mask": torch.tensor([[True] * 3, [False] * 3])},
    }
    module, output, _, weights = multi_head(x, x, x, need_weights=False, **masks[kind])
    blind_rows = torch.tensor([[True] * 3, [False] * 3]) if kind == "padding" else blind[:, 0]
    assert torch.equal(weights.eq(0).all(-1), blind_rows.view(-1, 1, 3).expand(2, 2, 3))
    again = added_up(module, weights, projected(module, x))
    torch.testing.assert_close(again, output, rtol=1e-6, atol=1e-6)


def test_weights_that_the_module_itself_computes_as_no_numbers_are_shown_so():
    x = sequence()
    _, _, own, weights = multi_head(x, x, x, attn_mask=torch.ones(3, 3, dtype=torch.bool))
    assert own.isnan().all()
    assert weights.isnan().all()


def test_the_hint_that_a_mask_is_causal_is_taken_as_torch_takes_it():
    x = sequence()
    hint = {"attn_mask": torch.zeros(3, 3, dtype=torch.bool), "is_causal": True}
    module, output, _, weights = multi_head(x, x, x, need_weights=False, **hint)
    assert weights.triu(1).count_nonzero() == 0
    again = added_up(module, weights, projected(module, x))
    torch.testing.assert_close(again, output, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"need_weights": False, "key_padding_mask": torch.zeros(2, 3, dtype=bool)}]
)
def test_where_torch_heeds_the_mask_in_spite_of_the_hint_it_is_heeded(options):
    x = sequence()
    hint = {"attn_mask": torch.zeros(3, 3, dtype=torch.bool), "is_causal": True}
    _, _, _, weights = multi_head(x, x, x, **hint, **options)
    assert (weights > 0).all()


def test_a_key_of_nothing_is_seen_where_all_others_are_hidden():
    x, hidden = sequence(), torch.ones(3, 3, dtype=torch.bool)
    _, _, _, weights = multi_head(
        x, x, x, options={"add_zero_attn": True}, attn_mask=hidden, need_weights=False
    )
    assert torch.equal(weights, torch.tensor([0.0, 0.0, 0.0, 1.0]).expand(2, 2, 3, 4))


def test_dropout_in_training_touches_neither_weights_nor_random_numbers():
    x = sequence()
    module = nn.MultiheadAttention(8, 2, dropout=0.5)
    torch.manual_seed(3)
    module(x, x, x)
    expected = torch.get_rng_state()
    torch.manual_seed(3)
    with Watching() as watching:
        module(x, x, x)
    assert torch.equal(torch.get_rng_state(), expected)
    own = module.eval()(x, x, x, average_attn_weights=False)[1]
    assert torch.equal(watching.weights[0], own)


@pytest.mark.parametrize("function", [SDPA, MULTI_HEAD])
def test_no_function_mode_sees_the_weights_being_computed(function):
    x = sequence()
    module = nn.MultiheadAttention(8, 2)
    if function is MULTI_HEAD:
        args = (x, x, x, 8, 2, module.in_proj_weight, module.in_proj_bias, None, None, False, 0.0,
                module.out_proj.weight, module.out_proj.bias)  # fmt: skip
    else:
        args = (x, x, x)
    with Watching() as watching:
        assert attention_weights(function, args, {}) is not None
    assert watching.seen == []


def test_what_is_no_attention_has_no_weights():
    assert attention_weights(torch.matmul, (torch.ones(2, 2), torch.ones(2, 2)), {}) is None


def test_nested_tensors_have_no_weights_that_fit_into_a_rectangle():
    rows = [torch.ones(2, 3, 4), torch.ones(2, 5, 4)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    assert attention_weights(SDPA, (nested, nested, nested), {}) is None
