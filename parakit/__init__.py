"""parakit: see how one neural network is trained across many devices.

    import parakit as pk

    schedule = pk.schedule("1f1b", devices=4, microbatches=8)
    timeline = pk.simulate(schedule, forward=1.0, backward=2.0)
    pk.draw.grid(timeline)        # a picture, in any notebook
    pk.explore.pipeline()         # the same, with sliders

Nothing is loaded until it is first touched, so the import itself costs next to nothing.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from parakit import draw, explore, learn, measure
    from parakit.blocks import Experts, Latent
    from parakit.choose import Choice, choose
    from parakit.cluster import Cluster, Efficiency
    from parakit.links import Link
    from parakit.memory import (
        MemoryOverTime,
        MemoryReport,
        memory,
        memory_many,
        memory_over_time,
    )
    from parakit.model import Model
    from parakit.pipeline import (
        Problem,
        Schedule,
        ScheduleError,
        Timeline,
        read_trace,
        schedule,
        schedules,
        simulate,
    )
    from parakit.plan import Plan, PlanError
    from parakit.steptime import StepTime, link_curves, overlap, step_time
    from parakit.traffic import Traffic, Transfer, traffic

_HOME = {
    "Model": "parakit.model",
    "Experts": "parakit.blocks",
    "Latent": "parakit.blocks",
    "Plan": "parakit.plan",
    "PlanError": "parakit.plan",
    "Cluster": "parakit.cluster",
    "Efficiency": "parakit.cluster",
    "Link": "parakit.links",
    "memory": "parakit.memory",
    "memory_many": "parakit.memory",
    "memory_over_time": "parakit.memory",
    "MemoryOverTime": "parakit.memory",
    "MemoryReport": "parakit.memory",
    "traffic": "parakit.traffic",
    "Traffic": "parakit.traffic",
    "Transfer": "parakit.traffic",
    "Problem": "parakit.pipeline",
    "Schedule": "parakit.pipeline",
    "ScheduleError": "parakit.pipeline",
    "Timeline": "parakit.pipeline",
    "Comparison": "parakit.pipeline",
    "compare": "parakit.pipeline",
    "read_trace": "parakit.pipeline",
    "schedule": "parakit.pipeline",
    "schedules": "parakit.pipeline",
    "simulate": "parakit.pipeline",
    "step_time": "parakit.steptime",
    "StepTime": "parakit.steptime",
    "overlap": "parakit.steptime",
    "link_curves": "parakit.steptime",
    "choose": "parakit.choose",
    "Choice": "parakit.choose",
}
_SUBPACKAGES = ("draw", "explore", "learn", "measure")

__all__ = [
    "Model",
    "Experts",
    "Latent",
    "Plan",
    "PlanError",
    "Cluster",
    "Efficiency",
    "Link",
    "memory",
    "memory_many",
    "memory_over_time",
    "MemoryOverTime",
    "MemoryReport",
    "traffic",
    "Traffic",
    "Transfer",
    "Problem",
    "Schedule",
    "ScheduleError",
    "Timeline",
    "Comparison",
    "compare",
    "read_trace",
    "schedule",
    "schedules",
    "simulate",
    "step_time",
    "StepTime",
    "overlap",
    "link_curves",
    "choose",
    "Choice",
    "draw",
    "explore",
    "learn",
    "measure",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"parakit.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"parakit has no {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Face(ModuleType):
    """The package, whose function `memory` keeps its name when the module `memory` is loaded.

    Python binds a submodule to its package under the submodule's name; where the public
    function has the same name, the function is what `pk.memory` has to be.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _HOME.get(name) == value.__name__:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
