"""Parameter counts against a well-known library's, and what a model refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.hf_types import READERS
from parakit.weights import layer_weights

ROWS = read("params.json")
CONFIGS = ROWS["rows"]
COUNTED = read("architectures.json")
PRESETS = {
    "llama-2-7b": "llama-2-7b",
    "llama-2-13b": "llama-2-13b",
    "llama-2-70b": "llama-2-70b",
    "llama-3-8b": "llama-3-8b",
    "llama-3-70b": "llama-3-70b",
    "llama-3.1-405b": "llama-3.1-405b",
    "llama-3.2-3b": "llama-3.2-3b",
    "tinyllama-1.1b": "tinyllama-1.1b",
    "mistral-7b": "mistral-7b-v0.1",
    "gpt2": "gpt2",
    "gpt2-medium": "gpt2-medium",
    "gpt2-large": "gpt2-large",
    "gpt2-xl": "gpt2-xl",
    "mixtral-8x7b": "mixtral-8x7b",
    "mixtral-8x22b": "mixtral-8x22b",
    "deepseek-v2-lite": "deepseek-v2-lite",
    "deepseek-v3": "deepseek-v3",
    "opt-175b": "opt-175b",
    "bloom-176b": "bloom-176b",
}


@pytest.mark.parametrize("row", CONFIGS, ids=lambda row: row["name"])
def test_config_counts_are_exact_in_total_and_in_each_part(row):
    model = pk.Model.from_config(row["config"])
    assert model.parameters == row["total"], ROWS["source"]
    assert {part: n for part, n in model.parameter_groups.items() if n} == row["parts"], ROWS["source"]
    assert model.tied is row["tied"]


@pytest.mark.parametrize("row", COUNTED["rows"], ids=lambda row: row["name"])
def test_architectures_are_exact_in_total_and_in_each_part(row):
    model = pk.Model.from_config(row["config"])
    groups = {part: n for part, n in model.parameter_groups.items() if n}
    assert groups == {part: n for part, n in row["parts"].items() if n}, COUNTED["source"]
    assert model.parameters == row["total"], COUNTED["source"]


def test_every_model_type_is_among_the_counted():
    counted = {row["config"]["model_type"] for row in (*COUNTED["rows"], *CONFIGS)}
    assert counted == set(READERS)


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_counts_are_exact(preset):
    row = next(row for row in (*CONFIGS, *COUNTED["rows"]) if row["name"] == PRESETS[preset])
    groups = pk.Model.preset(preset).parameter_groups
    assert {part: n for part, n in groups.items() if n} == row["parts"], ROWS["source"]


PRINTED = {  # billions of parameters as their papers print them
    "gpt3-125m": 0.125,
    "gpt3-350m": 0.356,
    "gpt3-760m": 0.760,
    "gpt3-1.3b": 1.3,
    "gpt3-2.7b": 2.7,
    "gpt3-6.7b": 6.7,
    "gpt3-13b": 13.0,
    "gpt3-175b": 175.0,
    "megatron-22b": 22.0,
    "megatron-175b": 175.0,
    "megatron-530b": 529.6,
    "megatron-1t": 1008.0,
}


@pytest.mark.parametrize("preset", PRINTED)
def test_presets_come_near_what_their_papers_print(preset):
    assert pk.Model.preset(preset).parameters / 1e9 == pytest.approx(PRINTED[preset], rel=0.02)


@pytest.mark.parametrize(
    ("preset", "billions"),
    [("mixtral-8x7b", 12.9), ("mixtral-8x22b", 39.1), ("deepseek-v3", 37.5), ("deepseek-v2-lite", 2.66)],
)
def test_active_parameters_of_experts(preset, billions):
    # Jiang et al. 2024 print 13B and 39B, DeepSeek-AI 2024 37B and 2.4B (without embedding and head).
    assert pk.Model.preset(preset).active_parameters / 1e9 == pytest.approx(billions, rel=0.004)


def test_without_experts_all_parameters_are_active():
    model = pk.Model.preset("llama-2-7b")
    assert model.active_parameters == model.parameters


@given(
    batch=st.integers(1, 64),
    sequence=st.integers(1, 4096),
    layers=st.integers(1, 100),
    width=st.integers(1, 200),
    vocabulary=st.integers(1, 100_000),
)
def test_flops_are_the_papers_formula(batch, sequence, layers, width, vocabulary):
    hidden = 64 * width
    model = pk.Model(layers=layers, hidden=hidden, heads=width, vocabulary=vocabulary)
    flops = model.flops(batch * sequence, sequence=sequence, recompute="full")
    core = layers * (24 * hidden**2 + 4 * sequence * hidden) + 2 * hidden * vocabulary
    # Korthikanti et al. 2022: 72 B l s h² (1 + s/6h + V/12hl), and the blocks' forward once more.
    assert flops.model == 3 * batch * sequence * core
    assert flops.recompute == batch * sequence * layers * (24 * hidden**2 + 4 * sequence * hidden)
    assert flops.backward == 2 * flops.forward
    assert flops.total == flops.model + flops.recompute


def test_causal_attention_halves_its_term_alone():
    model = pk.Model(layers=2, hidden=64, heads=4)
    whole, half = (model.flops(100, sequence=10, causal=causal).forward for causal in (False, True))
    assert whole - half == 100 * 2 * 2 * 10 * 64


def test_experts_count_as_often_as_a_token_meets_them():
    one = pk.Model(layers=1, hidden=8, heads=2, bias=False, experts=pk.Experts(count=4, per_token=1))
    two = pk.Model(layers=1, hidden=8, heads=2, bias=False, experts=pk.Experts(count=4, per_token=2))
    assert two.active_parameters - one.active_parameters == 2 * 8 * 32
    assert two.parameters == one.parameters
    assert two.flops(10).forward - one.flops(10).forward == 10 * 2 * 2 * 8 * 32


def test_llama_3_8b_from_a_file(tmp_path):
    config = next(row["config"] for row in CONFIGS if row["name"] == "llama-3-8b")
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert pk.Model.from_config(tmp_path / "config.json").parameters == 8_030_261_248
    assert pk.Model.from_config(str(tmp_path)).parameters == 8_030_261_248


def test_every_group_is_always_there():
    groups = pk.Model(layers=1, hidden=8, heads=2).parameter_groups
    assert list(groups) == ["embedding", "position", "attention", "mlp", "norm", "head", "other"]


def test_blocks_alone_are_12_h_squared_plus_13_h():
    h, layers = 6144, 48
    assert pk.Model(layers=layers, hidden=h, heads=64).parameters == layers * (12 * h * h + 13 * h)


def test_tied_head_counts_once_and_untied_twice():
    tied = pk.Model(layers=2, hidden=8, heads=2, vocabulary=100)
    untied = pk.Model(layers=2, hidden=8, heads=2, vocabulary=100, tied=False)
    assert untied.parameters - tied.parameters == 800
    assert (tied.parameter_groups["head"], untied.parameter_groups["head"]) == (0, 800)


def test_mistral_defaults_differ_from_llamas_where_kv_heads_are_absent():
    sizes = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 16,
        "vocab_size": 100,
    }
    assert pk.Model.from_config({"model_type": "llama", **sizes}).kv_heads == 16
    assert pk.Model.from_config({"model_type": "mistral", **sizes}).kv_heads == 8
    assert (
        pk.Model.from_config({"model_type": "mistral", **sizes, "num_key_value_heads": None}).kv_heads == 16
    )


def test_llama_biases_follow_the_config():
    sizes = {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
    }
    plain = pk.Model.from_config(sizes).parameters
    assert pk.Model.from_config({**sizes, "attention_bias": True}).parameters - plain == 64 + 2 * 32 + 64
    assert pk.Model.from_config({**sizes, "mlp_bias": True}).parameters - plain == 2 * 128 + 64


@given(
    layers=st.integers(1, 5),
    head_dim=st.integers(1, 8),
    kv=st.integers(1, 3),
    share=st.integers(1, 3),
    tp=st.sampled_from([1, 2, 4]),
    gated=st.booleans(),
    bias=st.booleans(),
)
def test_tensor_ranks_together_hold_every_split_parameter_once(layers, head_dim, kv, share, tp, gated, bias):
    kv_heads = kv * tp
    heads = kv_heads * share
    hidden = 4 * tp
    model = pk.Model(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        mlp=8 * tp,
        gated=gated,
        bias=bias,
    )
    repeated = {"attention": hidden * bias, "mlp": hidden * bias}  # biases added after each sum
    for group in ("attention", "mlp", "norm"):
        weights = [one for one in layer_weights(model, sparse=False) if one.part == group]
        whole, part = (sum(one.held(tp=ranks) for one in weights) for ranks in (1, tp))
        if group == "norm":
            assert part == whole
        else:
            assert tp * part == whole + (tp - 1) * repeated[group]


ERRORS = [
    (dict(layers=0, hidden=8, heads=2), "layers is 0: it must be a whole number from 1 to 100,000"),
    (dict(layers=1, hidden=8.5, heads=2), "hidden is 8.5: it must be a whole number from 1 to 10,000,000"),
    (
        dict(layers=1, hidden=10, heads=4),
        "hidden 10 does not split over 4 heads: hidden must be a multiple of heads, or give head_dim",
    ),
    (
        dict(layers=1, hidden=12, heads=4, kv_heads=3),
        "4 heads do not share 3 key-value heads evenly: heads must be a multiple of kv_heads",
    ),
    (
        dict(layers=1, hidden=8, heads=2, norm="rmss"),
        "there is no norm 'rmss': did you mean 'rms'? Known: layer, rms, plain",
    ),
    (
        dict(layers=1, hidden=8, heads=2, qk_norm="heads"),
        "there is no qk_norm 'heads': did you mean 'head'? Known: none, head, width",
    ),
    (
        dict(layers=1, hidden=8, heads=2, experts=8),
        "experts is 8: it must be a pk.Experts(…) or None",
    ),
    (
        dict(layers=2, hidden=8, heads=2, experts=pk.Experts(count=2, per_token=1, layers=(1, 2))),
        "experts layers holds 2: layers count from 0 to 1",
    ),
    (dict(layers=1, hidden=8, heads=2, tied="yes"), "tied is 'yes': it must be True or False"),
]


@pytest.mark.parametrize(("arguments", "text"), ERRORS, ids=[text[:20] for _, text in ERRORS])
def test_bad_sizes_are_refused_with_the_whole_sentence(arguments, text):
    with pytest.raises(ValueError) as error:
        pk.Model(**arguments)
    assert str(error.value) == text


def test_unknown_preset_offers_the_nearest():
    with pytest.raises(ValueError, match="there is no model preset 'lama-3-8b': did you mean 'llama-3-8b'"):
        pk.Model.preset("lama-3-8b")
