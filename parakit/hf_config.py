"""Reads a Hugging Face config.json, a wrapper's too, and says what is wrong with it.

Imports nothing of the model: it returns the constructor's arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from parakit.checks import shown, unknown
from parakit.hf_fields import LARGEST, Fields
from parakit.hf_types import READERS

__all__ = ["LARGEST", "read"]

_LARGEST_FILE = 10 * 2**20  # bytes; a config.json has a few thousand


def read(config: str | PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for `Model(...)` from a config file, its folder, or its loaded object.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a config that can be read; every fault is named.
    """
    if isinstance(config, Mapping):
        return _interpret(config, "the config")
    path = Path(config)
    if path.is_dir():
        path = path / "config.json"
    return _interpret(_load(path), path.name)


def _load(path: Path) -> Mapping[str, Any]:
    what = "a model's config.json from Hugging Face is expected here"
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: {what}")
    if path.stat().st_size > _LARGEST_FILE:
        raise ValueError(f"{path.name} is larger than 10 MiB: {what}, a few thousand bytes long")
    try:
        loaded = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path.name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}; {what}"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not JSON: it is not UTF-8 text; {what}") from None
    except RecursionError:
        raise ValueError(f"{path.name} is not JSON that can be read: nested too deeply; {what}") from None
    except ValueError:  # Python refuses to read a whole number of thousands of digits
        raise ValueError(f"{path.name} holds a number with thousands of digits; {what}") from None
    if not isinstance(loaded, dict):
        kind = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
        raise ValueError(
            f"{path.name} holds {kind.get(type(loaded), 'a number')}, not an object {{…}}; {what}"
        )
    return loaded


def _interpret(config: Mapping[str, Any], source: str) -> dict[str, Any]:
    named = config.get("_name_or_path")
    text, where = _text_part(config)
    if "model_type" not in text:
        raise ValueError(
            f'{source} lacks model_type: it names the architecture, as in "model_type": "llama" '
            f"(known are {', '.join(READERS)})"
        )
    kind = text["model_type"]
    reader = READERS.get(_TEXT_TYPES.get(kind, kind)) if isinstance(kind, str) else None
    if reader is None:
        raise ValueError(f"{source}: {unknown('model type', kind, READERS)}; {_own_model(text)}")
    inside = f" in {where}" if where else ""
    fields = Fields(text, f"{source} (model_type {kind}{inside})", config if where else None)
    arguments = reader(fields)
    fields.raise_faults()
    notes = [*_left_out(config, text, where)]
    if fields.assumed:
        notes.append(f"not in the config, so as {kind} has it: {', '.join(fields.assumed)}")
    name = named if isinstance(named, str) and named else config.get("model_type", kind)
    return {"name": str(name), "notes": tuple(notes), **arguments}


# Where a wrapper keeps its language model.
_TEXT_PARTS = ("text_config", "llm_config", "language_config")
# What a wrapper's text part is, where it does not say; and text types that are another type's model.
_WRAPPERS = {
    "llava": "llama",
    "llava_next": "llama",
    "mistral3": "mistral",
    "paligemma": "gemma",
    "gemma3": "gemma3_text",
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
}
_TEXT_TYPES = {
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
}


def _text_part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """A wrapper's language model and the field that holds it; any other config as it is."""
    for field in _TEXT_PARTS:
        part = config.get(field)
        if isinstance(part, Mapping) and part:
            kind = config.get("model_type")
            default = _WRAPPERS.get(kind) if isinstance(kind, str) else None
            known = {"model_type": default} if default else {}
            return {**known, **part}, field
    return config, ""


def _left_out(config: Mapping[str, Any], text: Mapping[str, Any], where: str) -> list[str]:
    others = [
        name
        for name, value in config.items()
        if isinstance(name, str) and name.endswith("_config") and name != where and _describes_a_model(value)
    ]
    left = [f"what {name} describes" for name in others]
    if where:
        left.append("what joins it to the language model")
    if text.get("num_nextn_predict_layers"):
        left.append("layers that predict further tokens (num_nextn_predict_layers)")
    return [f"left out: {', '.join(left)}"] if left else []


def _describes_a_model(value: object) -> bool:
    return isinstance(value, Mapping) and any(
        key in value
        for key in ("hidden_size", "num_hidden_layers", "embed_dim", "depth", "d_model", "model_type")
    )


def _own_model(config: Mapping[str, Any]) -> str:
    """How to write an unknown type as pk.Model(…), with what its config plainly says."""
    said = []
    for name, keys in (
        ("layers", ("num_hidden_layers", "n_layer", "n_layers", "num_layers")),
        ("hidden", ("hidden_size", "n_embd", "d_model", "n_embed")),
        ("heads", ("num_attention_heads", "n_head", "n_heads", "num_heads")),
        ("kv_heads", ("num_key_value_heads",)),
        ("mlp", ("intermediate_size", "n_inner", "ffn_dim")),
        ("vocabulary", ("vocab_size",)),
    ):
        value = next((config[key] for key in keys if config.get(key) is not None), None)
        if isinstance(value, int) and not isinstance(value, bool):
            said.append(f"{name}={shown(value).replace(',', '_')}")
        elif name in ("layers", "hidden", "heads", "vocabulary"):
            said.append(f"{name}=…")
    return (
        f'describe it with pk.Model({", ".join(said)}), and gated=True, bias=False, norm="rms" '
        f"where it is built like Llama"
    )
