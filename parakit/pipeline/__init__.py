"""Schedules: the order of actions on each device, checked, and given time by simulation."""

from parakit.pipeline.build import chunks_fault, microbatches_fault, schedule, schedules, usual_chunks
from parakit.pipeline.check import Problem
from parakit.pipeline.order import Kind, Schedule, ScheduleError
from parakit.pipeline.simulate import Timeline, simulate

__all__ = [
    "Kind",
    "Problem",
    "Schedule",
    "ScheduleError",
    "Timeline",
    "chunks_fault",
    "microbatches_fault",
    "schedule",
    "schedules",
    "simulate",
    "usual_chunks",
]
