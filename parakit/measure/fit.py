"""Latency and bandwidth from measured times, robust against runs that stand out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.traffic import Collective
from parakit.units import bytes_text, seconds_text

_LOOKS = 30  # of the robust fit; it settles in a few
_HUBER = 1.345  # standard deviations beyond which a run counts less (Huber 1964)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkFit:
    """A link as measured. What the runs do not determine is nan, and a warning says so."""

    latency: float  # seconds of a hop
    bandwidth: float  # bytes/s
    latency_error: float  # standard errors
    bandwidth_error: float
    typical_error: float  # median |measured / fit - 1|
    warnings: tuple[str, ...] = ()

    def seconds(self, hops: float, sent: float) -> float:
        """What the fit says of so many hops and bytes sent by a device."""
        latency = 0.0 if np.isnan(self.latency) else self.latency
        moved = 0.0 if np.isnan(self.bandwidth) else sent / self.bandwidth
        return hops * latency + moved

    def __str__(self) -> str:
        latency = (
            "latency not determined"
            if np.isnan(self.latency)
            else f"latency {seconds_text(self.latency)} a hop (± {seconds_text(self.latency_error)})"
        )
        bandwidth = (
            "bandwidth not determined"
            if np.isnan(self.bandwidth)
            else f"bandwidth {bytes_text(self.bandwidth)}/s (± {bytes_text(self.bandwidth_error)}/s)"
        )
        return f"{latency}, {bandwidth}; half of the runs lie within {self.typical_error:.0%} of it"


def hops_of(collective: str, ranks: int) -> int:
    """Steps of a ring: 2 (n-1) for an all-reduce, 1 for a send, n-1 for the others."""
    if collective == Collective.SEND:
        return 1
    return (2 if collective == Collective.ALL_REDUCE else 1) * (ranks - 1)


def fit_link(hops: np.ndarray, sent: np.ndarray, seconds: np.ndarray) -> LinkFit:
    """Least squares of the logarithms of times, in which runs that stand out count less.

    Args:
        hops: of each run.
        sent: bytes that each device sent.
        seconds: measured.

    Raises:
        ValueError: fewer than two different sizes.
    """
    usable = (seconds > 0) & (hops > 0)
    hops, sent, seconds = hops[usable], sent[usable], seconds[usable]
    if len(np.unique(sent)) < 2:
        raise ValueError(
            f"{len(np.unique(sent))} different sizes were measured: latency and bandwidth take at least two"
        )
    terms = np.stack([hops, sent], axis=1).astype(np.float64)
    # Start where the smallest and the largest runs are all latency and all sending.
    guess = np.array([seconds.min() / hops.max(), seconds.max() / sent.max()])
    weights = np.ones(len(seconds))
    found = _least_squares(terms, seconds, weights, guess)
    for _ in range(_LOOKS):
        before, off = found, np.abs(np.log(seconds / (terms @ found)))
        spread = 1.4826 * np.median(off)
        if spread <= 1e-12:
            break
        weights = np.minimum(1.0, _HUBER * spread / np.maximum(off, 1e-300))
        found = _least_squares(terms, seconds, weights, found)
        if np.allclose(found, before, rtol=1e-10, atol=0):
            break
    return _told(terms, seconds, weights, found)


def _least_squares(
    terms: np.ndarray, seconds: np.ndarray, weights: np.ndarray, found: np.ndarray
) -> np.ndarray:
    """Both numbers, above 0, with the least weighted squares of log(measured / fit).

    Logarithms, so that twice and half count alike over a range of sizes of many powers of ten.
    Gauss-Newton steps in the numbers' logarithms, halved until they help.
    """
    for _ in range(200):
        each = terms * found
        fitted = each.sum(axis=1)
        slope, off = each / fitted[:, None], np.log(seconds / fitted)
        root = np.sqrt(weights)
        step = np.linalg.lstsq(slope * root[:, None], off * root, rcond=1e-9)[0]
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        now = float((weights * off**2).sum())
        for _ in range(30):
            tried = found * np.exp(step)
            if float((weights * np.log(seconds / (terms @ tried)) ** 2).sum()) <= now:
                break
            step /= 2
        found = tried
        if float(np.abs(step).max()) < 1e-12:
            break
    return found


def _told(terms: np.ndarray, seconds: np.ndarray, weights: np.ndarray, found: np.ndarray) -> LinkFit:
    """The fit, with what the sizes leave open as nan."""
    each = terms * found
    share = each / each.sum(axis=1)[:, None]
    off = np.log(seconds / each.sum(axis=1))
    scaled = share * np.sqrt(weights)[:, None]
    free = max(len(seconds) - 2, 1)
    variance = np.linalg.pinv(scaled.T @ scaled) * float((weights * off**2).sum()) / free
    relative = np.sqrt(np.maximum(np.diag(variance), 0))  # standard errors of the logarithms
    values, warnings = found.tolist(), []
    for at, (name, other, way) in enumerate(
        (("latency", "sending", "smaller"), ("bandwidth", "latency", "larger"))
    ):
        if share[:, at].max() < 0.1 or relative[at] > 0.5:
            warnings.append(
                f"{name} is not determined: in all of these runs {other} takes nearly all of the time; measure "
                f"{way} sizes"
            )
            values[at] = float("nan")
    latency, inverse = values
    return LinkFit(
        latency=latency,
        bandwidth=1 / inverse,
        latency_error=float(relative[0] * latency),
        bandwidth_error=float(relative[1] / inverse),
        typical_error=float(np.median(np.abs(np.expm1(off)))),
        warnings=tuple(warnings),
    )
