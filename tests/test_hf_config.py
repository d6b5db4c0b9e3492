"""What a faulty config.json is told, each with its whole text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk

GOOD = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}
WANTED = "a model's config.json from Hugging Face is expected here"

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
        'the config lacks model_type: it names the architecture, as in "model_type": "llama" (known are llama, mistral)',
    ),
    (
        {**GOOD, "model_type": "lama"},
        "the config: there is no model type 'lama': did you mean 'llama'? Known: llama, mistral; "
        "describe others with pk.Model(…)",
    ),
    (
        {**GOOD, "model_type": ["llama"]},
        "the config: there is no model type ['llama']: did you mean 'llama'? Known: llama, mistral; "
        "describe others with pk.Model(…)",
    ),
    (
        without("num_hidden_layers"),
        "the config (model_type llama): it lacks num_hidden_layers: a whole number from 1 to 100,000 belongs there",
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@given(
    field=st.sampled_from([*GOOD, "num_key_value_heads", "head_dim", "attention_bias", "_name_or_path"]),
    value=JSON,
)
def test_any_value_gives_a_model_or_one_value_error(field, value):
    try:
        model = pk.Model.from_config({**GOOD, field: value})
    except ValueError:
        return
    assert model.parameters > 0
    json.dumps(model.parameter_groups)
