"""Takes fields from a Hugging Face config one by one and gathers every fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parakit.checks import is_real, shown, whole_number_fault

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
    "embedding_width": 10_000_000,
    "experts": 1_000_000,
    "per_token": 1_000_000,
    "rank": 1_000_000,
}


class Fields:
    """The fields of one config; `assumed` names those that took their class's default.

    Args:
        config: the loaded object.
        source: what a sentence calls it.
        outer: the config around it, where `config` is a wrapper's text part.
    """

    def __init__(
        self, config: Mapping[str, Any], source: str, outer: Mapping[str, Any] | None = None
    ) -> None:
        self._config = config
        self._source = source
        self._outer = outer or {}
        self._faults: list[str] = []
        self.assumed: list[str] = []

    def size(self, keys: str, meaning: str, default: int | None, *, least: int = 1) -> int:
        """A size; `keys` are its names separated by spaces, `default` that of its class.

        A default of None means that its class has none: it must be there.
        """
        key = self._key(keys)
        if key is None:
            first = keys.split()[0]
            if default is None:
                self._faults.append(
                    f"it lacks {first}: a whole number from 1 to {LARGEST[meaning]:,} belongs there"
                )
                return 1
            self.assumed.append(f"{first} {default}")
            return default
        return self._checked(key, meaning, least)

    def optional_size(self, keys: str, meaning: str, default: int | None = None) -> int | None:
        """A size that may be absent (the class's default) or null (None)."""
        key = self._key(keys)
        if key is None:
            return default
        return None if self._config[key] is None else self._checked(key, meaning, 1)

    def flag(self, key: str, default: bool) -> bool:
        """True or false; null counts as absent."""
        value = self._config.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._faults.append(f"{key} is {shown(value)}: it must be true or false")
            return default
        return value

    def tied(self, default: bool) -> bool:
        """Whether the head is the embedding; a wrapper may say it instead of its text part."""
        key = "tie_word_embeddings"
        if self._config.get(key) is None and isinstance(self._outer.get(key), bool):
            return bool(self._outer[key])
        return self.flag(key, default)

    def dropout(self, *keys: str, default: float = 0.0) -> bool:
        """Whether any of these dropout rates is above 0."""
        dropped = False
        for key in keys:
            rate = self._config.get(key)
            rate = default if rate is None else rate
            if not is_real(rate) or not 0 <= rate <= 1:
                self._faults.append(f"{key} is {shown(rate)}: it must be a number from 0 to 1")
            else:
                dropped |= rate > 0
        return dropped

    def whole_numbers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers; absent or null counts as empty."""
        value = self._config.get(key)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)) or any(whole_number_fault(one, least=0) for one in value):
            self._faults.append(f"{key} is {shown(value)}: it must be a list of whole numbers")
            return ()
        return tuple(value)

    def fault(self, sentence: str) -> None:
        """Add a fault that is no single field's."""
        self._faults.append(sentence)

    @property
    def sound(self) -> bool:
        """No fault so far."""
        return not self._faults

    def raise_faults(self) -> None:
        """Raise ValueError with every fault, if there is one."""
        if len(self._faults) == 1:
            raise ValueError(f"{self._source}: {self._faults[0]}")
        if self._faults:
            lines = "".join(f"\n  - {fault}" for fault in self._faults)
            raise ValueError(f"{self._source} cannot be read:{lines}")

    def _key(self, keys: str) -> str | None:
        return next((key for key in keys.split() if key in self._config), None)

    def _checked(self, key: str, meaning: str, least: int) -> int:
        value = self._config[key]
        fault = whole_number_fault(value, least=least, most=LARGEST[meaning])
        if fault is None:
            return int(value)
        hint = "; write it without quotes" if isinstance(value, str) and value.strip().isdigit() else ""
        self._faults.append(f"{key} is {shown(value)}: it {fault}{hint}")
        return 1
