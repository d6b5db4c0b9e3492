"""Bytes that each device holds, by pipeline rank and category, and what would lower them."""

from parakit.memory.activations import Tensor
from parakit.memory.advice import Advice
from parakit.memory.compute import memory
from parakit.memory.many import ManyReports, memory_many
from parakit.memory.overtime import MemoryOverTime, memory_over_time
from parakit.memory.report import CATEGORY_NAMES, CATEGORY_TAKES, Limit, MemoryReport

__all__ = [
    "CATEGORY_NAMES",
    "CATEGORY_TAKES",
    "Advice",
    "Limit",
    "ManyReports",
    "MemoryOverTime",
    "MemoryReport",
    "Tensor",
    "memory",
    "memory_many",
    "memory_over_time",
]
