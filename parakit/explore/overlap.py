"""The overlap explorer: when times add, and when the longer one counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from parakit.draw import streams
from parakit.explore.explorer import Answer, Explorer, choice_slider, slider, switch
from parakit.links import Link
from parakit.steptime.streams import overlap as overlapped
from parakit.units import percent, seconds_text

_SIZES = (0, 1, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000)  # MB
_BANDWIDTHS = (0.1, 0.12, 0.5, 1, 1.2, 5, 10, 12.5, 25, 50, 100, 137, 200, 400)  # GB/s
_LATENCIES = (0, 1, 5, 10, 50, 100, 500, 1000, 5000)  # µs
_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)

_DEFAULTS = {
    "compute": 200.0,
    "size": 2500,
    "bandwidth": 25,
    "latency": 50,
    "buckets": 8,
    "overlap": True,
}


def overlap(
    *,
    compute: float = 200.0,
    size: float = 2500,
    bandwidth: float = 25,
    latency: float = 50,
    buckets: int = 8,
    overlap: bool = True,
) -> Explorer:
    """An explorer of computing and sending beside each other; `.result` has total, hidden and exposed seconds.

    Args:
        compute: milliseconds of the backward pass.
        size: MB (1e6 bytes) that a device sends.
        bandwidth: GB/s (1e9 bytes) of the link.
        latency: microseconds of each bucket.
        buckets: pieces that gradients are sent in.
        overlap: send a bucket as soon as it is there; False: send after all is computed.
    """
    start = {
        "compute": compute,
        "size": size,
        "bandwidth": bandwidth,
        "latency": latency,
        "buckets": buckets,
        "overlap": overlap,
    }
    return Explorer("overlap", controls=_controls, defaults=_DEFAULTS, start=start, answer=_answer)


def _controls(start: Mapping[str, Any]) -> dict[str, widgets.Widget]:
    return {
        "compute": slider(
            "computing (ms)", float(start["compute"]), 0.0, 1000.0, 10.0, "of one backward pass"
        ),
        "size": choice_slider("bytes sent (MB)", start["size"], _SIZES, "1 MB is 1e6 bytes"),
        "bandwidth": choice_slider(
            "bandwidth (GB/s)", start["bandwidth"], _BANDWIDTHS, "1 Gbit/s is 0.125 GB/s"
        ),
        "latency": choice_slider("latency (µs)", start["latency"], _LATENCIES, "of each bucket"),
        "buckets": choice_slider("buckets", start["buckets"], _BUCKETS, "pieces, sent one after the other"),
        "overlap": switch("overlap", start["overlap"], "send a bucket as soon as its gradients are there"),
    }


def _answer(values: Mapping[str, Any]) -> Answer:
    link = Link(latency=values["latency"] * 1e-6, bandwidth=values["bandwidth"] * 1e9)
    both = overlapped(
        values["compute"] * 1e-3,
        values["size"] * 1e6,
        link,
        buckets=values["buckets"],
        overlap=values["overlap"],
    )
    sent = both.hidden + both.exposed
    said = f"The pass takes {seconds_text(both.total)}"
    if not sent:
        said += ": there is nothing to send."
    else:
        said += (
            f": of {seconds_text(sent)} of sending {percent(both.hidden / sent)} is hidden and "
            f"{seconds_text(both.exposed)} exposed."
        )
        if values["overlap"] and both.exposed > 1.05 * sent / values["buckets"]:
            said += " There is more to send than computing can hide."
    return Answer(result=both, sentence=said, picture=streams(both))
