"""Schedules: the order of actions on each device, checked, and given time by simulation."""

from parakit.pipeline.build import (
    chunks_fault,
    schedule,
    schedules,
    sizes_fault,
    splits_backward,
    takes_chunks,
    usual_chunks,
)
from parakit.pipeline.check import Problem
from parakit.pipeline.compare import Compared, Comparison, compare
from parakit.pipeline.curve import Curve, bubble_curves
from parakit.pipeline.order import Kind, Schedule, ScheduleError
from parakit.pipeline.simulate import simulate
from parakit.pipeline.timeline import Timeline, TimeUnit
from parakit.pipeline.trace import read_trace

__all__ = [
    "Compared",
    "Comparison",
    "Curve",
    "Kind",
    "Problem",
    "Schedule",
    "ScheduleError",
    "Timeline",
    "TimeUnit",
    "bubble_curves",
    "chunks_fault",
    "compare",
    "read_trace",
    "schedule",
    "schedules",
    "simulate",
    "sizes_fault",
    "splits_backward",
    "takes_chunks",
    "usual_chunks",
]
