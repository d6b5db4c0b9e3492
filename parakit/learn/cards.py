"""Flashcards, read from flashcards/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from parakit.checks import shown, unknown
from parakit.learn.objectives import Objective
from parakit.shipped import folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """One flashcard: a question, its answer, and why it is so."""

    id: str
    front: str
    back: str
    why: str
    objective: Objective


def cards(name: str | None = None) -> tuple[Card, ...]:
    """The cards of one deck, or of all.

    Raises:
        ValueError: there is no such deck, or its file is faulty; every fault is named.

    Example:
        >>> cards("bubbles")[0].objective
        <Objective.BUBBLE: 'O3'>
    """
    files = {path.stem: path for path in sorted(folder("flashcards").glob("*.yaml"))}
    if name is None:
        return tuple(card for path in files.values() for card in read(path))
    if name not in files:
        raise ValueError(unknown("deck", name, files))
    return read(files[name])


def read(path: Path) -> tuple[Card, ...]:
    """The cards of a file: a list of mappings with id, front, back, why and objective.

    Raises:
        ValueError: the file is faulty; every fault is named.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(loaded, list) or not loaded:
        raise ValueError(f"{path.name} must be a list of cards, each with {', '.join(Card.__slots__)}")
    faults = [fault for place, entry in enumerate(loaded, start=1) for fault in _faults(place, entry)]
    ids = [entry.get("id") for entry in loaded if isinstance(entry, dict)]
    faults += [
        f"id {shown(one)} stands on more than one card" for one in dict.fromkeys(ids) if ids.count(one) > 1
    ]
    if faults:
        raise ValueError(f"{path.name} cannot be read:" + "".join(f"\n  - {fault}" for fault in faults))
    return tuple(Card(**{**entry, "objective": Objective(entry["objective"])}) for entry in loaded)


def _faults(place: int, entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return [f"card {place} is {shown(entry)}: it must have {', '.join(Card.__slots__)}"]
    faults = [f"card {place} lacks {field}" for field in Card.__slots__ if field not in entry]
    faults += [
        f"card {place} has {shown(field)}, which no card has"
        for field in entry
        if field not in Card.__slots__
    ]
    for field in Card.__slots__:
        value = entry.get(field, " ")
        if not isinstance(value, str) or not value:
            faults.append(f"card {place}: {field} is {shown(value)}: it must be a text (write it in quotes)")
    objective = entry.get("objective", "O1")
    if isinstance(objective, str) and objective not in list(Objective):
        faults.append(f"card {place}: {unknown('objective', objective, list(Objective))}")
    return faults
