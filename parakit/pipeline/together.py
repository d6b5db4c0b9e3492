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
_SIZES = (2, 4)  # microbatches over devices of a shorter order that is tried


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
    few = np.array([_fewer(name, devices, number, chunks) for number in microbatches.tolist()])
    for number in np.unique(few).tolist():
        index = np.flatnonzero(few == number)
        order = walk(name, devices, number, chunks)
        ends[index] = order.ends(durations.take(index), microbatches[index] - number)
    return ends


def _fewer(name: str, devices: int, microbatches: int, chunks: int) -> int:
    """A smaller number of microbatches of an order that only has fewer rounds; all of them where there is none."""
    each = _round(name, devices, microbatches)
    for times in _SIZES:
        rounds = (microbatches - times * devices - 4) // each
        few = microbatches - max(rounds, 0) * each
        if few == microbatches:
            break
        if _round(name, devices, few) == each and walk(name, devices, few, chunks).steady is not None:
            return few
    return microbatches


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
    """One round of an order: what the rest depends on after it, and before it."""

    now: np.ndarray  # int64 (actions of the state,)
    before: np.ndarray  # int64, the same shape: the same actions one round earlier
    levels: tuple[int, int]  # of the walk, first and last + 1 of the round
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

    def ends(self, durations: Durations, more: np.ndarray) -> np.ndarray:
        """When each device ends with so many microbatches more than this order has, float64 (columns, devices).

        The round is gone through again and again, each time from what the last one left, until it has
        been done often enough or adds the same to all that the rest depends on: an order's times are
        maxima of sums, so from then on each further round adds that too, and what is still different
        by rounding cannot grow.

        Args:
            durations: of each column.
            more: microbatches of each column, int64 (columns,): a multiple of a round's, 0 without one.
        """
        ends = np.zeros((len(more), len(self.last)))
        most = max(_MOST_AT_ONCE // self.took.shape[1], 1)
        for low in range(0, len(more), most):
            some = slice(low, low + most)
            ends[some] = self._ends(durations.take(some), more[some])
        return ends

    def _ends(self, durations: Durations, more: np.ndarray) -> np.ndarray:
        times, late = _tables(durations)
        end = np.zeros((self.took.shape[1] + 1, len(more)))  # the last is nothing and ends at 0
        extra = np.zeros(len(more))
        middle = 0
        if self.steady is not None and more.any():
            middle = self.steady.levels[1]
            self._go(end, times, late, 0, middle)
            extra = self._rounds(end, times, late, more // self.steady.microbatches)
        self._go(end, times, late, middle, len(self.levels))
        ends: np.ndarray = (end[self.last] + extra).T
        return ends

    def _rounds(self, end: np.ndarray, times: np.ndarray, late: np.ndarray, rounds: np.ndarray) -> np.ndarray:
        """Leaves each column as after its last round that was gone through; what further ones add, (columns,)."""
        steady = self.steady
        assert steady is not None
        extra = np.zeros(len(rounds))
        left = np.flatnonzero(rounds > 0)
        # The columns that are still gone through, apart; those that are done go along until half are.
        # `take` keeps rows together in memory; indexing columns does not.
        part, part_times, part_late = (one.take(left, axis=1) for one in (end, times, late))
        done = 0
        goes = np.ones(len(left), dtype=bool)
        while goes.any():
            state = part[steady.now]
            added = state - part[steady.before]
            each = added.mean(axis=0)
            repeats = np.ptp(added, axis=0) <= _STEADY * each
            stops = np.flatnonzero(goes & (repeats | (rounds[left] == done)))
            if len(stops):
                # All that the rest of the order depends on.
                end[steady.now[:, None], left[stops]] = state[:, stops]
                extra[left[stops]] = np.where(repeats[stops], (rounds[left[stops]] - done) * each[stops], 0.0)
                goes[stops] = False
                if goes.sum() <= len(goes) // 2:
                    kept = np.flatnonzero(goes)
                    part, part_times, part_late, state = (
                        one.take(kept, axis=1) for one in (part, part_times, part_late, state)
                    )
                    left, goes = left[kept], goes[kept]
            part[steady.before] = state
            self._go(part, part_times, part_late, *steady.levels)
            done += 1
        return extra

    def _go(self, end: np.ndarray, times: np.ndarray, late: np.ndarray, first: int, last: int) -> None:
        """Fills in when the actions of some levels end."""
        own, *needs = self.after
        for low, high in self.levels[first:last]:
            here = end.take(own[low:high], axis=0)
            for need, over in zip(needs if self.pairs else needs[:1], self.over, strict=False):
                there = end.take(need[low:high], axis=0)
                there += late.take(over[low:high], axis=0)
                np.maximum(here, there, out=here)
            here += times.take(self.took[0, low:high], axis=0)
            if self.pairs:
                here += times.take(self.took[1, low:high], axis=0)
            end[low:high] = here


def _tables(durations: Durations) -> tuple[np.ndarray, np.ndarray]:
    """Duration of each kind and stage, and of each boundary, a row each; the last of each is nothing."""
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
    return times, late


@lru_cache(maxsize=512)
def walk(name: str, devices: int, microbatches: int, chunks: int) -> Walk:
    """Of a named schedule; the arguments must be ones that it works with."""
    order = schedule(name, devices=devices, microbatches=microbatches, chunks=chunks)
    return walk_of(order, _round(name, devices, microbatches), halves=name == "dualpipe")


def walk_of(order: Schedule, each: int, *, halves: bool = False) -> Walk:
    """Of a legal order that repeats itself after `each` microbatches; `halves`: half of them from either end."""
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
        steady=_steady(order, each, halves, level, previous, before, place),
    )


def _steady(
    order: Schedule,
    each: int,
    halves: bool,
    level: np.ndarray,
    previous: np.ndarray,
    before: np.ndarray,
    place: np.ndarray,
) -> Steady | None:
    """The state right before the last microbatch enters, if the order has come round to it once before."""
    # Of two halves, each numbered by itself, the first enters at stage 0.
    ends, shift = (order.microbatches // 2, each // 2) if halves else (order.microbatches, each)
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
    rounds = (int(level[earlier]), int(level[entering]))
    used = np.unique(level)  # levels that have actions: those of a walk
    first, last = np.searchsorted(used, rounds).tolist()
    return Steady(now=place[moved], before=place[then], levels=(first, last), microbatches=each)


def _state(level: np.ndarray, reached: int, previous: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Actions up to a level that later ones wait for, int64."""
    later = level > reached
    needed = np.concatenate([previous[later], before[later]])
    needed = np.unique(needed[needed >= 0])
    state: np.ndarray = needed[level[needed] <= reached]
    return state
