"""Reads a Hugging Face config.json: what each model type's fields mean, and what is wrong with them.

Imports nothing of the model: it returns the constructor's arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from parakit.checks import shown, unknown, whole_number_fault

# No published model comes within ten times of these; past them a number is a mistake.
LARGEST = {
    "layers": 100_000,
    "hidden": 10_000_000,
    "heads": 1_000_000,
    "kv_heads": 1_000_000,
    "head_dim": 1_000_000,
    "mlp": 100_000_000,
    "vocabulary": 100_000_000,
    "positions": 1_000_000_000,
}
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
    if "model_type" not in config:
        raise ValueError(
            f'{source} lacks model_type: it names the architecture, as in "model_type": "llama" '
            f"(known are {', '.join(_READERS)})"
        )
    kind = config["model_type"]
    if not isinstance(kind, str) or kind not in _READERS:
        raise ValueError(
            f"{source}: {unknown('model type', kind, _READERS)}; describe others with pk.Model(…)"
        )
    fields = _Fields(config, f"{source} (model_type {kind})")
    arguments = _READERS[kind](fields)
    fields.raise_faults()
    name = config.get("_name_or_path")
    return {"name": name if isinstance(name, str) and name else kind, **arguments}


class _Fields:
    """Takes fields from a config one by one and gathers every fault."""

    def __init__(self, config: Mapping[str, Any], source: str) -> None:
        self._config = config
        self._source = source
        self._faults: list[str] = []

    def size(self, key: str, meaning: str) -> int:
        """A size that must be there."""
        if key not in self._config:
            self._faults.append(
                f"it lacks {key}: a whole number from 1 to {LARGEST[meaning]:,} belongs there"
            )
            return 1
        return self._checked(key, meaning)

    def optional_size(self, key: str, meaning: str, default: int | None) -> int | None:
        """A size that may be absent (the configuration class's default) or null (None)."""
        if key not in self._config:
            return default
        return None if self._config[key] is None else self._checked(key, meaning)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._config.get(key, default)
        if not isinstance(value, bool):
            self._faults.append(f"{key} is {shown(value)}: it must be true or false")
            return default
        return value

    def fault(self, sentence: str) -> None:
        self._faults.append(sentence)

    def raise_faults(self) -> None:
        if len(self._faults) == 1:
            raise ValueError(f"{self._source}: {self._faults[0]}")
        if self._faults:
            lines = "".join(f"\n  - {fault}" for fault in self._faults)
            raise ValueError(f"{self._source} cannot be read:{lines}")

    @property
    def sound(self) -> bool:
        return not self._faults

    def _checked(self, key: str, meaning: str) -> int:
        value = self._config[key]
        fault = whole_number_fault(value, most=LARGEST[meaning])
        if fault is None:
            return int(value)
        hint = "; write it without quotes" if isinstance(value, str) and value.strip().isdigit() else ""
        self._faults.append(f"{key} is {shown(value)}: it {fault}{hint}")
        return 1


def _llama_like(fields: _Fields, *, absent_kv_heads: int | None) -> dict[str, Any]:
    """Llama's block: RMSNorm, a gated mlp, grouped-query attention, rotary positions."""
    hidden = fields.size("hidden_size", "hidden")
    heads = fields.size("num_attention_heads", "heads")
    kv_heads = fields.optional_size("num_key_value_heads", "kv_heads", absent_kv_heads)
    head_dim = fields.optional_size("head_dim", "head_dim", None)
    arguments = {
        "layers": fields.size("num_hidden_layers", "layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads or heads,
        "head_dim": head_dim,
        "mlp": fields.size("intermediate_size", "mlp"),
        "gated": True,
        "vocabulary": fields.size("vocab_size", "vocabulary"),
        "tied": fields.flag("tie_word_embeddings", False),
        "bias": False,
        "attention_bias": fields.flag("attention_bias", False),
        "mlp_bias": fields.flag("mlp_bias", False),
        "norm": "rms",
        "dropout": False,
    }
    if fields.sound and head_dim is None and hidden % heads:
        fields.fault(
            f"hidden_size {hidden} does not split over num_attention_heads {heads}: "
            f"it must be a multiple, or head_dim must be given"
        )
    if fields.sound and heads % (kv_heads or heads):
        fields.fault(
            f"num_attention_heads {heads} is not a multiple of num_key_value_heads {kv_heads}: "
            f"every key-value head serves equally many heads"
        )
    return arguments


def _llama(fields: _Fields) -> dict[str, Any]:
    return _llama_like(fields, absent_kv_heads=None)


def _mistral(fields: _Fields) -> dict[str, Any]:
    # Its configuration class has 8 where the field is absent, and as many as heads where it is null;
    # its linear layers never have biases, whatever the file says.
    arguments = _llama_like(fields, absent_kv_heads=8)
    return {**arguments, "attention_bias": False, "mlp_bias": False}


_READERS: dict[str, Callable[[_Fields], dict[str, Any]]] = {"llama": _llama, "mistral": _mistral}
