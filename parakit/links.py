"""Links between devices: how long a transfer takes, from latency and bandwidth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from parakit.checks import is_real, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """What one device sends over to others: seconds = hops × latency + bytes / rate.

    Args:
        latency: seconds of one hop, whatever its size.
        bandwidth: bytes/s in one direction, as published or as measured; may be infinite.
        fraction: of it that collectives reach; 1 where the bandwidth is a measured one.
        source: where the numbers are from.
        measured: whether they are a fit of measured runs.

    Raises:
        ValueError: a number is out of its range.

    Example:
        >>> Link(latency=50e-6, bandwidth=125e6).seconds(1_000_000)
        0.00805

    Source: Hockney 1994; Thakur, Rabenseifner and Gropp 2005, section 2.
    """

    latency: float
    bandwidth: float
    fraction: float = 1.0
    source: str = ""
    measured: bool = False

    def __post_init__(self) -> None:
        if not is_real(self.latency) or not 0 <= self.latency < float("inf"):
            raise ValueError(
                f"latency is {shown(self.latency)}: it must be a finite number of seconds of at least 0, "
                f"such as 5e-6"
            )
        if not is_real(self.bandwidth) or not self.bandwidth > 0:
            raise ValueError(
                f"bandwidth is {shown(self.bandwidth)}: it must be a positive number of bytes/s, such as "
                f"25e9 for a link of 200 Gbit/s"
            )
        if not is_real(self.fraction) or not 0 < self.fraction <= 1:
            raise ValueError(f"fraction is {shown(self.fraction)}: it must be a share above 0 and up to 1")

    @property
    def rate(self) -> float:
        """Bytes/s that collectives reach."""
        return self.bandwidth * self.fraction

    def seconds(self, sent: float, hops: int = 1) -> float:
        """Time for `sent` bytes from each device in `hops` steps."""
        return hops * self.latency + sent / self.rate


@runtime_checkable
class Fit(Protocol):
    """Latency (s per hop) and bandwidth (bytes/s) of the link that a run was measured on."""

    @property
    def latency(self) -> float:
        """Seconds of one hop."""

    @property
    def bandwidth(self) -> float:
        """Bytes/s."""


@runtime_checkable
class Measured(Protocol):
    """Measured runs that can be fitted, such as `pk.measure.read` gives."""

    @property
    def ranks(self) -> Iterable[int]:
        """Devices of each run."""

    def fit(self) -> Fit:
        """Latency and bandwidth of their link."""


def fitted(runs: Measured | Link, like: Link, members: int) -> Link:
    """The link that runs were measured on.

    Args:
        runs: measured runs, or a link that is taken as it is.
        like: the link it replaces; its latency is kept where the fit has none.
        members: devices of one node that sent over their own ports at once, which a ring shares.
    """
    if isinstance(runs, Link):
        return replace(runs, measured=True, source=runs.source or "given as measured")
    fit = runs.fit()
    if not fit.bandwidth > 0:
        raise ValueError("these runs do not determine a bandwidth: measure larger sizes")
    ranks = max(runs.ranks)
    latency, kept = (fit.latency, "") if fit.latency >= 0 else (like.latency, ", latency kept")
    return Link(
        latency=latency,
        bandwidth=fit.bandwidth / members,
        source=f"fit of runs measured with {ranks} ranks{kept}",
        measured=True,
    )
