"""Schedules: the order of actions on each device, checked, and given time by simulation."""

from parakit.pipeline.build import schedule, schedules
from parakit.pipeline.check import Problem
from parakit.pipeline.order import Kind, Schedule, ScheduleError
from parakit.pipeline.simulate import Timeline, simulate

__all__ = ["Kind", "Problem", "Schedule", "ScheduleError", "Timeline", "schedule", "schedules", "simulate"]
