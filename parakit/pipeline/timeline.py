"""A schedule with its times, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from parakit.checks import whole
from parakit.pipeline.order import Kind, Schedule


class TimeUnit(StrEnum):
    """What times count: slots of a forward in a simulation, seconds in a real run."""

    SLOT = "slot"
    SECOND = "second"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Timeline:
    """When each action of a schedule runs. Arrays have one entry an action, in start order."""

    schedule: Schedule
    device: np.ndarray  # int32
    stage: np.ndarray  # int32
    kind: np.ndarray  # uint8, values of Kind
    microbatch: np.ndarray  # int32
    start: np.ndarray  # float64, in the unit of the durations
    end: np.ndarray  # float64
    # What each action waited for last, int64: the action, by its place here, after whose end it
    # could start; its own device's previous one where only that was to be waited for; -1: nothing.
    waits: np.ndarray
    overlapped: np.ndarray  # bool: it shares its time with the other of its pair
    unit: TimeUnit = TimeUnit.SLOT

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.schedule.devices

    @property
    def span(self) -> float:
        """From the first start to the last end."""
        return float(self.end.max() - self.start.min())

    @property
    def busy(self) -> np.ndarray:
        """Time each device computes, float64 (devices,); an overlapped pair counts once."""
        took = self.end - self.start
        took = np.where(self.overlapped & (self.kind != Kind.F), 0.0, took)
        return np.bincount(self.device, weights=took, minlength=self.devices)

    @property
    def idle(self) -> np.ndarray:
        """Time each device waits over the whole span, float64 (devices,)."""
        return self.span - self.busy

    @property
    def idle_share(self) -> float:
        """Idle time over all time of all devices: (p-1)/(m+p-1) for gpipe and 1f1b.

        Source: Huang et al. 2019 (GPipe), section 2.
        """
        total = self.devices * self.span
        return float(self.idle.sum() / total) if total else 0.0

    @property
    def idle_over_ideal(self) -> float:
        """Idle time over busy time: (p-1)/m for gpipe and 1f1b. Not the same as `idle_share`.

        Source: Narayanan et al. 2021, section 2.2.1.
        """
        busy = self.busy.sum()
        return float(self.idle.sum() / busy) if busy else 0.0

    @property
    def idle_in_window(self) -> np.ndarray:
        """Idle time between each device's own first start and last end, float64 (devices,).

        Source: Qi et al. 2023 (Zero Bubble), which count this alone.
        """
        first, last = self._window()
        idle: np.ndarray = last - first - self.busy
        return idle

    @property
    def idle_parts(self) -> dict[str, np.ndarray]:
        """Where `idle` lies, float64 (devices,) each.

        fill: before a device's own first action. wait: between its own first and last, the same
        as `idle_in_window`. drain: after its own last.
        """
        first, last = self._window()
        return {
            "fill": first - self.start.min(),
            "wait": last - first - self.busy,
            "drain": self.end.max() - last,
        }

    def _window(self) -> tuple[np.ndarray, np.ndarray]:
        """Each device's own first start and last end; a device that does nothing waits all through."""
        first = np.full(self.devices, self.end.max())
        last = np.full(self.devices, -np.inf)
        np.minimum.at(first, self.device, self.start)
        np.maximum.at(last, self.device, self.end)
        return first, np.maximum(first, last)

    @property
    def critical_path(self) -> np.ndarray:
        """The actions that decide the span, int64, in the order of time, by their place here.

        From the one that ends last back over what each waited for: none of them can become longer,
        nor what is sent between them take longer, without the step becoming longer.
        """
        at = int(np.flatnonzero(self.end == self.end.max())[0])
        waits = self.waits
        path = []
        while at >= 0:
            path.append(at)
            at = int(waits[at])
        return np.array(path[::-1], dtype=np.int64)

    def to_csv(self) -> str:
        """A line an action in the order of time: device, stage, kind, microbatch, start, end, overlapped.

        Devices, stages and microbatches count from 0; the first line names the columns.
        """
        from parakit.pipeline.trace import to_csv  # it needs this module

        return to_csv(self)

    def to_trace(self) -> dict[str, Any]:
        """The timeline in the Trace Event form that Perfetto and chrome://tracing open.

        One track a device, a slice an action named as in a schedule's text, colours by kind, an
        arrow for each transfer between devices. A slot is shown as a millisecond.
        `json.dumps` makes the file; `read_trace` reads it back.

        Source: Duca and Sinclair, Trace Event Format.
        """
        from parakit.pipeline.trace import to_trace  # it needs this module

        return to_trace(self)

    @property
    def in_flight(self) -> np.ndarray:
        """Most (stage, microbatch) pairs each device holds at once, int64 (devices,).

        A pair is held from the start of its F to the end of its last backward action, half open;
        forward only, during its F alone.
        """
        _, where, level = self._levels()
        most = np.zeros(self.devices, dtype=np.int64)
        np.maximum.at(most, where, level)
        return most

    @property
    def in_flight_share(self) -> np.ndarray:
        """`in_flight` over the stages a device computes: microbatches of its share of the model, float64."""
        return self.in_flight / self.schedule.stages_each

    def in_flight_over_time(self, device: int) -> tuple[np.ndarray, np.ndarray]:
        """How many (stage, microbatch) pairs a device holds when.

        Args:
            device: counted from 0.

        Returns:
            Times at which the number changes, float64 (changes,), and the number from then on,
            int64 (changes,).

        Raises:
            ValueError: there is no such device.
        """
        device = whole("device", device, least=0, most=self.devices - 1)
        time, where, level = self._levels()
        mine = where == device
        time, level = time[mine], level[mine]
        last = np.append(np.diff(time) > 0, True)  # of several changes at one moment
        return time[last], level[last]

    def _levels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every change of what is held: its time, its device, and the number held from then on."""
        pair = self.stage.astype(np.int64) * self.schedule.microbatches + self.microbatch
        pairs = self.schedule.stages * self.schedule.microbatches
        taken, given = np.zeros(pairs), np.full(pairs, -np.inf)
        holder = np.zeros(pairs, dtype=np.int64)
        forward = self.kind == Kind.F
        taken[pair[forward]] = self.start[forward]
        holder[pair[forward]] = self.device[forward]
        np.maximum.at(given, pair, self.end)
        held = given > taken  # a pair of no length is never held
        taken, given, holder = taken[held], given[held], holder[held]
        time = np.concatenate([taken, given])
        change = np.repeat([1, -1], len(taken))
        where = np.concatenate([holder, holder])
        order = np.lexsort((change, time, where))  # at one moment, what ends goes first
        # Every device's changes sum to nothing: no reset between devices.
        return time[order], where[order], np.cumsum(change[order])
