"""Parameter counts against a well-known library's, and what a model refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk

ROWS = read("params.json")
CONFIGS = [row for row in ROWS["rows"] if row["config"]["model_type"] in ("llama", "mistral")]
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
}


@pytest.mark.parametrize("row", CONFIGS, ids=lambda row: row["name"])
def test_config_counts_are_exact_in_total_and_in_each_part(row):
    model = pk.Model.from_config(row["config"])
    assert model.parameters == row["total"], ROWS["source"]
    assert {part: n for part, n in model.parameter_groups.items() if n} == row["parts"], ROWS["source"]
    assert model.tied is row["tied"]


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_counts_are_exact(preset):
    row = next(row for row in ROWS["rows"] if row["name"] == PRESETS[preset])
    groups = pk.Model.preset(preset).parameter_groups
    assert {part: n for part, n in groups.items() if n} == row["parts"], ROWS["source"]


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
    whole, part = model.layer_parameters(), model.layer_parameters(tp=tp)
    repeated = hidden if bias else 0  # the bias added after each sum is on every rank
    for group in ("attention", "mlp"):
        assert tp * part[group] == whole[group] + (tp - 1) * repeated
    assert part["norm"] == whole["norm"]


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
        "there is no norm 'rmss': did you mean 'rms'? Known: layer, rms",
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
