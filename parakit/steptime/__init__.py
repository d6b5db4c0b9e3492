"""The time of one step: computing, exposed communication, waiting, update."""

from parakit.steptime.compute import step_time
from parakit.steptime.links import LinkCurve, link_curves
from parakit.steptime.many import ManySteps, step_times
from parakit.steptime.result import COMMUNICATION, PART_NAMES, PARTS, StepTime
from parakit.steptime.streams import Streams, overlap, streams

__all__ = [
    "COMMUNICATION",
    "PARTS",
    "PART_NAMES",
    "LinkCurve",
    "ManySteps",
    "StepTime",
    "Streams",
    "link_curves",
    "overlap",
    "step_time",
    "step_times",
    "streams",
]
