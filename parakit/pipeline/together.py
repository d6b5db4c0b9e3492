"""One order with many durations at once: when each device ends.

The same times as `simulate`. Three things make them cheap: one walk through the order serves all
durations; orders in two phases need no walk; and once an order's state repeats itself but for a
constant, every further round adds that constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parakit.pipeline.build import schedule
from parakit.pipeline.order import Kind, Schedule
from parakit.pipeline.rows import round_size
from parakit.pipeline.run import needs_of, run

_TWO_PHASES = ("gpipe", "looped-bfs")
_IN_ROUNDS = ("interleaved-1f1b", "interleaved-zb")
_MOST_AT_ONCE = 4_000_000  # actions × columns: 64 MB of times
_STEADY = 1e-11  # of a round's time: differences of this size come from rounding


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Durations:
    """Of a stage's actions, one row a column of the answer."""

    forward: np.ndarray  # float64 (columns, stages)
    backward: np.ndarray  # the same shape: of a full backward B
    weight: np.ndarray  # of its part W
    transfer: np.ndarray  # float64 (columns, stages - 1)

    def take(self, index: np.ndarray | slice) -> Durations:
        """Some of the columns."""
        return Durations(
            forward=self.forward[index],
            backward=self.backward[index],
            weight=self.weight[index],
            transfer=self.transfer[index],
        )


def last_ends(
    name: str, devices: int, microbatches: np.ndarray, chunks: int, durations: Durations
) -> np.ndarray:
    """When each device ends its last action, float64 (columns, devices).

    Args:
        name: of a schedule; all numbers must be ones that it works with.
        devices: of the pipeline.
        microbatches: of each column, int64 (columns,).
        chunks: stages a device.
        durations: of each column.
    """
    ends = np.zeros((len(microbatches), devices))
    if name in _TWO_PHASES:
        for number in np.unique(microbatches).tolist():
            index = np.flatnonzero(microbatches == number)
            ends[index] = _two_phases(name, devices, number, durations.take(index))
        return ends
    left = np.arange(len(microbatches))
    size = 4
    while len(left):
        few = np.array([_fewer(name, devices, number, size) for number in microbatches[left].tolist()])
        done = np.zeros(len(left), dtype=bool)
        for number in np.unique(few).tolist():
            here = np.flatnonzero(few == number)
            order = walk(name, devices, number, chunks)
            if order.steady is None and (microbatches[left[here]] != number).any():
                continue
            more = microbatches[left[here]] - number
            found, known = order.ends_with_more(durations.take(left[here]), more)
            ends[left[here]] = found
            done[here] = known
        left = left[~done]
        size *= 4
    return ends


def _fewer(name: str, devices: int, microbatches: int, times: int) -> int:
    """A smaller number of microbatches, about `times` × devices, of an order that only has fewer rounds."""
    least = times * devices + 4
    each = _round(name, devices, microbatches)
    rounds = (microbatches - least) // each
    few = microbatches - max(rounds, 0) * each
    if few < microbatches and _round(name, devices, few) != each:
        return microbatches
    return few


def _round(name: str, devices: int, microbatches: int) -> int:
    """Microbatches after which an order repeats itself."""
    if name in _IN_ROUNDS:
        return round_size(devices, microbatches)
    return 2 if name == "dualpipe" else 1


def _two_phases(name: str, devices: int, microbatches: int, durations: Durations) -> np.ndarray:
    """All forwards, then all backwards: stage after stage, all microbatches at once."""
    columns, stages = durations.forward.shape
    clock = np.zeros((columns, devices))
    turn = np.arange(microbatches)
    for took, order in ((durations.forward, range(stages)), (durations.backward, range(stages)[::-1])):
        before: np.ndarray | None = None  # ends on the stage that is needed, (columns, microbatches)
        for stage in order:
            device = stage % devices
            each = took[:, stage, None]
            since = clock[:, device, None] + 0 * each * turn
            if before is not None:
                boundary = stage - 1 if order.step > 0 else stage
                late = durations.transfer[:, boundary, None] if devices > 1 else 0.0
                since = np.maximum(since, before + late - turn * each)
            # Each starts when the one before has ended and its input is there.
            before = np.maximum.accumulate(since, axis=1) + (turn + 1) * each
            clock[:, device] = before[:, -1]
    return clock


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Steady:
    """What the rest of an order depends on at one moment, and the same one round before."""

    now: np.ndarray  # int64 (actions of the state,)
    before: np.ndarray  # int64, the same shape
    microbatches: int  # of a round


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Walk:
    """A schedule's actions in an order in which each comes after all it waits for.

    Those of a level wait for nothing of the same level. Both actions of an overlapped pair are one.
    The last entry of durations and transfers, index -1, is nothing.
    """

    levels: tuple[tuple[int, int], ...]  # first and last + 1 of each level
    took: np.ndarray  # int64 (2, actions): kind × stages + stage of what it does; -1 for no second one
    after: np.ndarray  # int64 (3, actions): its device's previous, and what it needs; -1 for nothing
    over: np.ndarray  # int64 (2, actions): the boundary each need comes over; -1 on the same device
    last: np.ndarray  # int64 (devices,): the last action of each device
    pairs: bool
    steady: Steady | None

    def ends_with_more(self, durations: Durations, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """When each device ends with so many microbatches more than this order has, and whether that is known.

        A round adds the same to all that the rest depends on once it has done so: an order's times
        are maxima of sums, so a constant added to all they start from is added to all of them, and
        what is still different by less cannot grow.

        Args:
            durations: of each column.
            more: microbatches of each column, int64 (columns,), a multiple of a round's.
        """
        ends = np.zeros((len(more), len(self.last)))
        known = np.zeros(len(more), dtype=bool)
        most = max(_MOST_AT_ONCE // self.took.shape[1], 1)
        for low in range(0, len(more), most):
            some = slice(low, low + most)
            times = self._times(durations.take(some))
            ends[some] = times[self.last].T
            known[some] = more[some] == 0
            if self.steady is not None:
                added = times[self.steady.now] - times[self.steady.before]
                each = added.mean(axis=0)
                repeats = np.ptp(added, axis=0) <= _STEADY * each
                rounds = np.where(repeats, more[some] / self.steady.microbatches, 0)
                ends[some] += (rounds * each)[:, None]
                known[some] |= repeats
        return ends, known

    def _times(self, durations: Durations) -> np.ndarray:
        """When each action ends, float64 (actions + 1, columns); the last is nothing and ends at 0."""
        columns, stages = durations.forward.shape
        times = np.zeros((4 * stages + 1, columns))
        for kind, each in (
            (Kind.F, durations.forward),
            (Kind.B, durations.backward),
            (Kind.I, durations.backward - durations.weight),
            (Kind.W, durations.weight),
        ):
            times[int(kind) * stages : (int(kind) + 1) * stages] = each.T
        late = np.zeros((stages, columns))
        late[:-1] = durations.transfer.T
        end = np.zeros((self.took.shape[1] + 1, columns))
        own, *needs = self.after
        for low, high in self.levels:
            here = end.take(own[low:high], axis=0)
            for need, over in zip(needs if self.pairs else needs[:1], self.over, strict=False):
                there = end.take(need[low:high], axis=0)
                there += late.take(over[low:high], axis=0)
                np.maximum(here, there, out=here)
            here += times.take(self.took[0, low:high], axis=0)
            if self.pairs:
                here += times.take(self.took[1, low:high], axis=0)
            end[low:high] = here
        return end


@lru_cache(maxsize=512)
def walk(name: str, devices: int, microbatches: int, chunks: int) -> Walk:
    """Of a named schedule; the arguments must be ones that it works with."""
    order = schedule(name, devices=devices, microbatches=microbatches, chunks=chunks)
    return walk_of(order, _round(name, devices, microbatches))


def walk_of(order: Schedule, each: int) -> Walk:
    """Of a legal order that repeats itself after `each` microbatches."""
    before, device = needs_of(order).before, order.device
    ones = np.ones(order.actions)
    level = np.rint(run(order, before, duration=ones, delay=np.zeros(order.actions)).end).astype(np.int64)
    single = np.ones(order.actions, dtype=bool)
    single[order.pairs + 1] = False
    # By level, then as in the schedule; the second of a pair is its first.
    sorted_ = np.flatnonzero(single)[np.argsort(level[single], kind="stable")]
    place = np.full(order.actions + 1, -1, dtype=np.int64)
    place[sorted_] = np.arange(len(sorted_))
    place[order.pairs + 1] = place[order.pairs]
    previous = np.arange(-1, order.actions - 1)
    previous[order.first[:-1][np.diff(order.first) > 0]] = -1
    boundary = order.stage.astype(np.int64) - (order.kind == Kind.F)
    elsewhere = (before >= 0) & (device[before] != device)
    over = np.where(elsewhere, boundary, -1)
    took = order.kind.astype(np.int64) * order.stages + order.stage
    second = np.full(order.actions, -1, dtype=np.int64)
    second[order.pairs] = order.pairs + 1
    paired = second[sorted_]
    counts = np.bincount(level[sorted_])
    stops = np.cumsum(counts)
    return Walk(
        levels=tuple(
            (int(stop - number), int(stop)) for stop, number in zip(stops, counts, strict=True) if number
        ),
        took=np.stack([took[sorted_], np.where(paired >= 0, took[paired], -1)]),
        after=np.stack(
            [
                place[previous[sorted_]],
                place[before[sorted_]],
                np.where(paired >= 0, place[before[paired]], -1),
            ]
        ),
        over=np.stack([over[sorted_], np.where(paired >= 0, over[paired], -1)]),
        last=place[order.first[1:] - 1],
        pairs=bool(len(order.pairs)),
        steady=_steady(order, each, level, previous, before, place),
    )


def _steady(
    order: Schedule, each: int, level: np.ndarray, previous: np.ndarray, before: np.ndarray, place: np.ndarray
) -> Steady | None:
    """The state right before the last microbatch enters, if the order has come round to it once before."""
    ends = order.microbatches // 2 if each == 2 else order.microbatches  # dualpipe's first half enters here
    shift = 1 if each == 2 else each
    table = np.full((4, order.stages, order.microbatches), -1, dtype=np.int64)
    table[order.kind, order.stage, order.microbatch] = np.arange(order.actions)
    if ends <= 2 * shift:
        return None
    entering, earlier = table[Kind.F, 0, ends - 1], table[Kind.F, 0, ends - 1 - shift]
    now = _state(level, int(level[entering]) - 1, previous, before)
    then = _state(level, int(level[earlier]) - 1, previous, before)
    later = order.microbatch[then] + shift
    inside = later < order.microbatches
    moved = table[order.kind[then], order.stage[then], np.where(inside, later, 0)]
    if not inside.all() or (moved < 0).any() or set(moved.tolist()) != set(now.tolist()):
        return None
    return Steady(now=place[moved], before=place[then], microbatches=each)


def _state(level: np.ndarray, reached: int, previous: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Actions up to a level that later ones wait for, int64."""
    later = level > reached
    needed = np.concatenate([previous[later], before[later]])
    needed = np.unique(needed[needed >= 0])
    state: np.ndarray = needed[level[needed] <= reached]
    return state
