"""Explorers: controls, a sentence and a picture that follow each other at once."""

from parakit.explore.choose import choose
from parakit.explore.memory import memory
from parakit.explore.overlap import overlap
from parakit.explore.pipeline import pipeline

__all__ = ["choose", "memory", "overlap", "pipeline"]
