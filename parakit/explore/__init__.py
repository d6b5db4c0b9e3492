"""Explorers: controls, a sentence and a picture that follow each other at once."""

from parakit.explore.memory import memory
from parakit.explore.pipeline import pipeline

__all__ = ["memory", "pipeline"]
