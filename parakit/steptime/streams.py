"""Computing and exchanging side by side: what overlaps, what is exposed, and what adding both would say."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from parakit.checks import is_real, shown, whole
from parakit.links import Link
from parakit.steptime.result import COMMUNICATION, PART_NAMES, StepTime

COMPUTING, EXCHANGING = 0, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """Something that one of the two streams does for a while."""

    stream: int  # COMPUTING or EXCHANGING
    part: str  # one of a step's parts
    start: float  # seconds
    end: float
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Streams:
    """What a device computes and exchanges, beside each other."""

    segments: tuple[Segment, ...]
    title: str

    @property
    def total(self) -> float:
        """Seconds until both streams are done."""
        return max((one.end for one in self.segments), default=0.0)

    @property
    def added(self) -> float:
        """Seconds if nothing overlapped: all segments one after the other."""
        return fsum(one.end - one.start for one in self.segments)

    @property
    def hidden(self) -> float:
        """Seconds during which both streams are busy."""
        return max(self.added - self.total, 0.0)

    @property
    def exposed(self) -> float:
        """Seconds of exchange that nothing hides."""
        sent = fsum(one.end - one.start for one in self.segments if one.stream == EXCHANGING)
        return max(sent - self.hidden, 0.0)


def overlap(compute: float, size: float, link: Link, *, buckets: int = 1, overlap: bool = True) -> Streams:
    """A backward pass whose gradients are sent bucket by bucket, as soon as they are there.

    Args:
        compute: seconds of the backward pass; gradients come evenly.
        size: bytes that a device sends, see `parakit.traffic.sent`.
        link: what it sends over.
        buckets: pieces that are sent one after the other; each takes the link's latency.
        overlap: False: nothing is sent before all is computed.

    Returns:
        Streams: `.total`, `.added`, `.hidden`, `.exposed` in seconds.

    Raises:
        ValueError: a number is out of its range.

    Example:
        >>> slow = Link(latency=0, bandwidth=1e9)
        >>> [overlap(1.0, 0.8e9, slow, buckets=n).total for n in (1, 4)]
        [1.8, 1.2]

    Source: Li et al. 2020 (PyTorch Distributed), section 3.2.
    """
    for name, value, unit in (("compute", compute, "seconds"), ("size", size, "bytes")):
        if not is_real(value) or not 0 <= value < float("inf"):
            raise ValueError(f"{name} is {shown(value)}: it must be a number of {unit} of at least 0")
    if not isinstance(link, Link):
        raise ValueError(f"link is {shown(link)}: it must be a pk.Link(…)")
    buckets = whole("buckets", buckets, most=10_000)
    if not isinstance(overlap, bool):
        raise ValueError(f"overlap is {shown(overlap)}: it must be True or False")
    segments, free = [], 0.0
    for bucket in range(buckets):
        low, high = compute * bucket / buckets, compute * (bucket + 1) / buckets
        number = f"bucket {bucket + 1} of {buckets}"
        segments.append(
            Segment(stream=COMPUTING, part="compute", start=low, end=high, words=f"gradients of {number}")
        )
        begin = max(high if overlap else compute, free)
        free = begin + (link.seconds(size / buckets) if size else 0.0)
        if free > begin:
            segments.append(
                Segment(stream=EXCHANGING, part="data", start=begin, end=free, words=f"{number} is sent")
            )
    return Streams(segments=tuple(segments), title="one backward pass and its gradients")


def streams(step: StepTime) -> Streams:
    """A step's parts beside each other, on the rank that ends last; like times are drawn together.

    What is hidden stands beside computing, what is exposed after it.
    """
    segments: list[Segment] = []
    now = 0.0
    for name in ("compute", "recompute"):
        now = _add(segments, COMPUTING, name, now, step.parts[name], PART_NAMES[name])
    beside = 0.0
    for name in COMMUNICATION:
        words = f"{PART_NAMES[name]}, hidden beside computing"
        beside = _add(segments, EXCHANGING, name, beside, step.hidden_parts[name], words)
    now = max(now, beside)  # pipeline transfers can also hide beside waiting
    for name in COMMUNICATION:
        now = _add(segments, EXCHANGING, name, now, step.parts[name], f"{PART_NAMES[name]}, exposed")
    for name in ("waiting", "update"):
        now = _add(segments, COMPUTING, name, now, step.parts[name], PART_NAMES[name])
    return Streams(segments=tuple(segments), title=f"pipeline rank {step.rank}, which ends last")


def _add(segments: list[Segment], stream: int, part: str, start: float, took: float, words: str) -> float:
    if took > 0:
        segments.append(Segment(stream=stream, part=part, start=start, end=start + took, words=words))
    return start + max(took, 0.0)
