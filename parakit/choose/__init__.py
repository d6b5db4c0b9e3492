"""Which plan, and why not the others: exclude by memory, rank by time."""

from parakit.choose.result import Choice, Excluded, Point, Ranked
from parakit.choose.search import choose
from parakit.choose.words import plan_words

__all__ = ["Choice", "Excluded", "Point", "Ranked", "choose", "plan_words"]
