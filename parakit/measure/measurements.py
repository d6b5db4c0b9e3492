"""Measured runs of collectives, as equal-length arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.checks import unknown
from parakit.measure.fit import LinkFit, fit_link, hops_of
from parakit.traffic import Collective, sent
from parakit.units import aligned, bytes_text, seconds_text


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Measurements:
    """Runs of collectives. Arrays have one entry a run."""

    collective: np.ndarray  # str, values of Collective
    ranks: np.ndarray  # int64, devices that took part
    bytes: np.ndarray  # int64, the whole buffer S, as nccl-tests counts it
    seconds: np.ndarray  # float64
    in_place: np.ndarray  # bool
    warnings: tuple[str, ...] = ()
    source: str = ""

    @property
    def sent(self) -> np.ndarray:
        """Bytes that each device sends in a ring, float64."""
        return np.array(
            [sent(how, size, n) for how, size, n in zip(self.collective, self.bytes, self.ranks, strict=True)]
        )

    @property
    def hops(self) -> np.ndarray:
        """Steps of the ring, int64."""
        pairs = zip(self.collective, self.ranks.tolist(), strict=True)
        return np.array([hops_of(how, ranks) for how, ranks in pairs])

    def only(self, collective: Collective | str) -> Measurements:
        """The runs of one collective.

        Raises:
            ValueError: there are none.
        """
        chosen = self.collective == str(collective)
        if not chosen.any():
            raise ValueError(
                unknown("measured collective", collective, sorted(set(self.collective.tolist())))
            )
        return Measurements(
            collective=self.collective[chosen],
            ranks=self.ranks[chosen],
            bytes=self.bytes[chosen],
            seconds=self.seconds[chosen],
            in_place=self.in_place[chosen],
            warnings=self.warnings,
            source=self.source,
        )

    def fit(self, collective: Collective | str | None = None) -> LinkFit:
        """Latency and bandwidth of the link: seconds = hops × latency + sent / bandwidth.

        Args:
            collective: of these runs alone; None means all together, since the same link serves all.

        Raises:
            ValueError: there are too few different sizes, or no such collective.

        Source: Hockney 1994; Thakur, Rabenseifner and Gropp 2005 for hops and sent of a ring.
        """
        runs = self if collective is None else self.only(collective)
        return fit_link(runs.hops, runs.sent, runs.seconds)

    def table(self) -> str:
        """The runs as aligned text, with what a fit of them says."""
        fitted = self.fit()
        rows = [("collective", "devices", "bytes", "measured", "fit")]
        for at in range(len(self.bytes)):
            rows.append(
                (
                    str(self.collective[at]),
                    f"{self.ranks[at]}",
                    bytes_text(float(self.bytes[at])),
                    seconds_text(float(self.seconds[at])),
                    seconds_text(float(fitted.seconds(self.hops[at], self.sent[at]))),
                )
            )
        return aligned(rows, left={0})
