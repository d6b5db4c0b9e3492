"""What a faulty config.json is told, each with its whole text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.hf_types import READERS

GOOD = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}
WANTED = "a model's config.json from Hugging Face is expected here"

KNOWN = ", ".join(READERS)
OWN = (
    "describe it with pk.Model(layers=2, hidden=64, heads=4, mlp=128, vocabulary=100), and gated=True, bias=False, "
    'norm="rms" where it is built like Llama'
)

TEXTS = [
    ("", f"config.json is not JSON: Expecting value at line 1, column 1; {WANTED}"),
    (
        "{'a': 1}",
        "config.json is not JSON: Expecting property name enclosed in double quotes at line 1, column 2; "
        + WANTED,
    ),
    ("[1]", f"config.json holds a list, not an object {{…}}; {WANTED}"),
    ('"llama"', f"config.json holds a string, not an object {{…}}; {WANTED}"),
    ("null", f"config.json holds null, not an object {{…}}; {WANTED}"),
    ("3", f"config.json holds a number, not an object {{…}}; {WANTED}"),
    (
        '{"hidden_size": 1' + "0" * 5000 + "}",
        f"config.json holds a number with thousands of digits; {WANTED}",
    ),
    ("[" * 200_000, f"config.json is not JSON that can be read: nested too deeply; {WANTED}"),
]


@pytest.mark.parametrize(("text", "said"), TEXTS, ids=range(len(TEXTS)))
def test_what_is_no_object_is_refused(tmp_path, text, said):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError) as error:
        pk.Model.from_config(tmp_path / "config.json")
    assert str(error.value) == said


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(ValueError) as error:
        pk.Model.from_config(tmp_path)
    assert str(error.value) == f"config.json is not JSON: it is not UTF-8 text; {WANTED}"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        pk.Model.from_config(tmp_path / "nothing.json")
    assert str(error.value) == f"there is no file {tmp_path / 'nothing.json'}: {WANTED}"


def without(field: str) -> dict:
    return {key: value for key, value in GOOD.items() if key != field}


FIELDS = [
    (
        without("model_type"),
        'the config lacks model_type: it names the architecture, as in "model_type": "llama" '
        f"(known are {KNOWN})",
    ),
    (
        {**GOOD, "model_type": "lama"},
        f"the config: there is no model type 'lama': did you mean 'llama' or 'olmo'? Known: {KNOWN}; {OWN}",
    ),
    (
        {**GOOD, "model_type": ["llama"]},
        f"the config: there is no model type ['llama']: did you mean 'llama'? Known: {KNOWN}; {OWN}",
    ),
    (
        {"model_type": "deepseek_v2"},
        "the config (model_type deepseek_v2): it lacks num_experts_per_tok: a whole number from 1 to 1,000,000 belongs there",
    ),
    (
        {"model_type": "mixtral", "num_experts_per_tok": 9},
        "the config (model_type mixtral): num_experts_per_tok 9 is more than the 8 experts there are",
    ),
    (
        {"model_type": "gpt2", "resid_pdrop": 2},
        "the config (model_type gpt2): resid_pdrop is 2: it must be a number from 0 to 1",
    ),
    (
        {"model_type": "llava", "text_config": {**GOOD, "vocab_size": 0}},
        "the config (model_type llama in text_config): vocab_size is 0: it must be a whole number from 1 to 100,000,000",
    ),
    (
        {**GOOD, "hidden_size": "64"},
        "the config (model_type llama): hidden_size is '64': it must be a whole number from 1 to 10,000,000; "
        "write it without quotes",
    ),
    (
        {**GOOD, "hidden_size": "wide"},
        "the config (model_type llama): hidden_size is 'wide': it must be a whole number from 1 to 10,000,000",
    ),
    (
        {**GOOD, "vocab_size": -5},
        "the config (model_type llama): vocab_size is -5: it must be a whole number from 1 to 100,000,000",
    ),
    (
        {**GOOD, "num_attention_heads": 10**30},
        "the config (model_type llama): num_attention_heads is a number of 19 or more digits: "
        "it must be a whole number from 1 to 1,000,000",
    ),
    (
        {**GOOD, "intermediate_size": 12.5},
        "the config (model_type llama): intermediate_size is 12.5: it must be a whole number from 1 to 100,000,000",
    ),
    (
        {**GOOD, "num_hidden_layers": True},
        "the config (model_type llama): num_hidden_layers is True: it must be a whole number from 1 to 100,000",
    ),
    (
        {**GOOD, "hidden_size": 66},
        "the config (model_type llama): hidden_size 66 does not split over num_attention_heads 4: "
        "it must be a multiple, or head_dim must be given",
    ),
    (
        {**GOOD, "num_key_value_heads": 3},
        "the config (model_type llama): num_attention_heads 4 is not a multiple of num_key_value_heads 3: "
        "every key-value head serves equally many heads",
    ),
    (
        {**GOOD, "hidden_size": None, "tie_word_embeddings": "no"},
        "the config (model_type llama) cannot be read:\n"
        "  - hidden_size is None: it must be a whole number from 1 to 10,000,000\n"
        "  - tie_word_embeddings is 'no': it must be true or false",
    ),
]


@pytest.mark.parametrize(("config", "said"), FIELDS, ids=[said[:40] for _, said in FIELDS])
def test_faulty_fields_are_named(config, said):
    with pytest.raises(ValueError) as error:
        pk.Model.from_config(config)
    assert str(error.value) == said


def test_absent_sizes_are_the_class_s_and_said():
    model = pk.Model.from_config(without("num_hidden_layers"))
    assert model.layers == 32
    assert model.notes == ("not in the config, so as llama has it: num_hidden_layers 32",)
    assert pk.Model.from_config(GOOD).notes == ()


def test_a_wrapper_s_language_model_is_read_and_the_rest_named():
    text = {key: value for key, value in GOOD.items() if key != "model_type"}
    model = pk.Model.from_config(
        {
            "model_type": "llava",
            "tie_word_embeddings": True,
            "text_config": text,
            "vision_config": {"hidden_size": 9},
            "quantization_config": {"bits": 4},
        }
    )
    assert model == pk.Model.from_config({**GOOD, "tie_word_embeddings": True})
    assert (model.name, model.notes) == (
        "llava",
        ("left out: what vision_config describes, what joins it to the language model",),
    )
    assert model.tied


def test_a_flat_wrapper_is_its_language_model():
    sizes = {**without("model_type"), "vision_config": {"depth": 3}}
    model = pk.Model.from_config({"model_type": "qwen2_vl", **sizes, "num_key_value_heads": 4})
    assert model == pk.Model.from_config({**GOOD, "model_type": "qwen2", "num_key_value_heads": 4})
    assert model.notes == ("left out: what vision_config describes",)


def test_layers_for_further_tokens_are_left_out_and_said():
    model = pk.Model.from_config({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})
    assert model.notes[0] == "left out: layers that predict further tokens (num_nextn_predict_layers)"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
CONFIGS = [row["config"] for name in ("params.json", "architectures.json") for row in read(name)["rows"]]
FIELDS_SEEN = sorted({field for config in CONFIGS for field in config})
ODD = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        7,
        10**6,
        10**9,
        10**30,
        1.5,
        float("nan"),
        float("inf"),
        "",
        "64",
        [],
        {},
    ]
)


@settings(max_examples=2500)
@given(data=st.data())
def test_any_mutation_gives_a_model_or_one_value_error(data):
    config = dict(data.draw(st.sampled_from(CONFIGS)))
    for _ in range(data.draw(st.integers(1, 4))):
        what = data.draw(st.sampled_from(["drop", "odd", "any", "type", "nest"]))
        field = data.draw(st.sampled_from([*config, *FIELDS_SEEN]))
        if what == "drop":
            config.pop(field, None)
        elif what == "odd":
            config[field] = data.draw(ODD)
        elif what == "any":
            config[field] = data.draw(JSON)
        elif what == "type":
            config["model_type"] = data.draw(st.sampled_from([*READERS, "llava", "gemma3", "mamba"]))
        else:
            config = {"model_type": "llava", "text_config": config}
    try:
        model = pk.Model.from_config(config)
    except ValueError:
        return
    groups = model.parameter_groups
    assert all(isinstance(n, int) and n >= 0 for n in groups.values())
    assert 0 < model.active_parameters <= model.parameters
    json.dumps(groups)
