"""Every plan of a search, and those that cannot run with the reason why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from parakit.choose.limits import Limits
from parakit.model import Model
from parakit.pipeline import sizes_fault, splits_backward, takes_chunks, usual_chunks
from parakit.plan import Plan

MOST_PLANS = 1_000_000  # some minutes; whoever asks for more has not said enough
MOST_ACTIONS = 400_000  # of a schedule that is timed
MOST_CHUNKS = 8  # tried where none are given
MOST_MICROBATCH = 64  # the same


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """What there is to judge."""

    plans: list[Plan] = field(default_factory=list)  # those that can run, of one pp after the other
    faulty: list[tuple[Plan, str]] = field(default_factory=list)  # one for all that have the same fault


def every_plan(model: Model, devices: int, limits: Limits) -> Listed:
    """All plans that use all devices within the limits.

    What only repeats another plan is left out: ZeRO without replicas, sequence parallelism without
    tensor ranks, schedules of one stage, selective recomputation of fused attention.

    Raises:
        ValueError: there are more than can be judged in minutes.
    """
    listed = Listed()
    shapes = _Shapes(model)
    for pp, tp, dp in sorted(_splits(devices, limits)):
        corner = Plan(dp=dp, tp=tp, pp=pp, batch=limits.batch, sequence=limits.sequence)
        if fault := _split_fault(model, corner, limits):
            listed.faulty.append((corner, fault))
            continue
        for ep in _expert_degrees(model, dp, limits):
            for microbatch in _microbatches(limits, dp):
                for shape in shapes.of(pp, limits.batch // (dp * microbatch), limits, listed, corner):
                    listed.plans.extend(_choices(dp, tp, pp, ep, microbatch, shape, limits))
        if len(listed.plans) > MOST_PLANS:
            raise ValueError(
                f"more than {MOST_PLANS:,} plans are within these limits: fix some of dp, tp, pp, schedule, "
                f"microbatch"
            )
    return listed


def _splits(devices: int, limits: Limits) -> Iterator[tuple[int, int, int]]:
    """(pp, tp, dp) whose product is the number of devices."""
    divisors = _divisors(devices)
    for pp in divisors if limits.pp is None else [one for one in limits.pp if devices % one == 0]:
        rest = devices // pp
        for tp in divisors if limits.tp is None else limits.tp:
            if rest % tp == 0 and (limits.dp is None or rest // tp in limits.dp):
                yield pp, tp, rest // tp


def _divisors(number: int) -> list[int]:
    low = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    return sorted({*low, *(number // one for one in low)})


def _split_fault(model: Model, corner: Plan, limits: Limits) -> str | None:
    """Why no plan with these degrees can run."""
    if corner.pp > model.layers:
        return f"pp={corner.pp} is more stages than the model has layers, {model.layers}"
    fitting = [one for one in _microbatches(limits, corner.dp) if limits.batch % (corner.dp * one) == 0]
    if not fitting:
        if limits.microbatch is None:
            return f"batch {limits.batch} does not split over dp={corner.dp}"
        tried = ", ".join(map(str, limits.microbatch))
        return f"batch {limits.batch} does not split over dp={corner.dp} and microbatches of {tried}"
    one = Plan(dp=corner.dp, tp=corner.tp, sequence=corner.sequence)
    faults = one.problems(model)
    return faults[0] if faults else None


def _expert_degrees(model: Model, dp: int, limits: Limits) -> list[int]:
    if model.experts is None:
        return [1]
    tried = _divisors(dp) if limits.ep is None else limits.ep
    return [ep for ep in tried if dp % ep == 0 and model.experts.count % ep == 0]


def _microbatches(limits: Limits, dp: int) -> list[int]:
    if limits.batch % dp:
        return []
    share = limits.batch // dp
    tried = [2**power for power in range(MOST_MICROBATCH.bit_length())]
    return [one for one in (tried if limits.microbatch is None else limits.microbatch) if share % one == 0]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A schedule on stages of given depth."""

    schedule: str
    chunks: int | None
    stage_layers: tuple[int, ...] | None


class _Shapes:
    """Schedules and depths that go with a number of stages and microbatches; each fault is told once."""

    def __init__(self, model: Model) -> None:
        self._layers = model.layers
        self._known: dict[tuple[int, int], list[_Shape]] = {}

    def of(self, pp: int, microbatches: int, limits: Limits, listed: Listed, corner: Plan) -> list[_Shape]:
        key = (pp, microbatches)
        if key not in self._known:
            self._known[key] = list(self._found(pp, microbatches, limits, listed, corner))
        return self._known[key]

    def _found(
        self, pp: int, microbatches: int, limits: Limits, listed: Listed, corner: Plan
    ) -> Iterator[_Shape]:
        names = limits.schedule
        if pp == 1:  # all orders of one stage take the same time; the usual one stands for them
            alone = [name for name in names if usual_chunks(name) == 1 and name != "dualpipe"]
            names = tuple(sorted(alone, key=lambda name: name != "1f1b")[:1]) or names[:1]
        for name in names:
            for chunks in self._chunks(name, pp, limits):
                plan = Plan(
                    dp=corner.dp,
                    tp=corner.tp,
                    pp=pp,
                    batch=corner.batch,
                    microbatch=limits.batch // (corner.dp * microbatches),
                    sequence=corner.sequence,
                    schedule=name,
                    chunks=chunks,
                )
                if fault := self._fault(name, pp, microbatches, plan.stages):
                    listed.faulty.append((plan, fault))
                    continue
                yield _Shape(name, chunks, self._uneven(plan.stages))

    def _chunks(self, name: str, pp: int, limits: Limits) -> list[int | None]:
        if not takes_chunks(name):
            return [None]
        if limits.chunks is not None:
            return list(limits.chunks)
        even = [one for one in range(2, MOST_CHUNKS + 1) if self._layers % (pp * one) == 0]
        return list(even) or [2]

    def _fault(self, name: str, pp: int, microbatches: int, stages: int) -> str | None:
        if stages > self._layers:
            return f"{name} with pp={pp} has {stages} stages, and the model {self._layers} layers"
        if fault := sizes_fault(name, pp, microbatches):
            return fault
        actions = (3 if splits_backward(name) else 2) * stages * microbatches
        if actions > MOST_ACTIONS and pp > 1:
            return (
                f"{name} with {microbatches:,} microbatches on {stages} stages has {actions:,} actions, and "
                f"plans are compared up to {MOST_ACTIONS:,}: choose larger microbatches"
            )
        return None

    def _uneven(self, stages: int) -> tuple[int, ...] | None:
        """Depths as equal as can be, the deeper ones first; None where all are equal."""
        even, more = divmod(self._layers, stages)
        return (even + 1,) * more + (even,) * (stages - more) if more else None


def _choices(
    dp: int, tp: int, pp: int, ep: int, microbatch: int, shape: _Shape, limits: Limits
) -> Iterator[Plan]:
    zeros = (0, 1, 2, 3) if limits.zero is None else limits.zero
    if dp == 1:
        zeros = zeros[:1]
    flags = (False, True) if limits.sequence_parallel is None else limits.sequence_parallel
    if tp == 1:
        flags = (False,)
    elif limits.sequence % tp:
        flags = tuple(one for one in flags if not one)
    for precision in limits.precision:
        for attention in limits.attention:
            for recompute in limits.recompute:
                if recompute == "selective" and attention == "fused" and "none" in limits.recompute:
                    continue
                for sequence_parallel in flags:
                    for zero in zeros:
                        yield Plan(
                            dp=dp,
                            tp=tp,
                            pp=pp,
                            ep=ep,
                            zero=zero,
                            batch=limits.batch,
                            microbatch=microbatch,
                            sequence=limits.sequence,
                            schedule=shape.schedule,
                            chunks=shape.chunks,
                            stage_layers=shape.stage_layers,
                            sequence_parallel=sequence_parallel,
                            recompute=recompute,
                            attention=attention,
                            precision=precision,
                        )
