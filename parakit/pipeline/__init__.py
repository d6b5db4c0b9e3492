"""Schedules: the order of actions on each device, checked, and given time by simulation."""

from parakit.pipeline.build import chunks_fault, schedule, schedules, sizes_fault, usual_chunks
from parakit.pipeline.check import Problem
from parakit.pipeline.order import Kind, Schedule, ScheduleError
from parakit.pipeline.simulate import simulate
from parakit.pipeline.timeline import Timeline, TimeUnit
from parakit.pipeline.trace import read_trace

__all__ = [
    "Kind",
    "Problem",
    "Schedule",
    "ScheduleError",
    "Timeline",
    "TimeUnit",
    "chunks_fault",
    "read_trace",
    "sizes_fault",
    "schedule",
    "schedules",
    "simulate",
    "usual_chunks",
]
