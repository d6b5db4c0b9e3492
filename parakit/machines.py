"""Machines that people train on, as arguments for `Cluster(...)`.

Rates are dense peaks as their makers publish them. An accelerator's "80 GB" are 80 × 2**30 bytes.
Which part of a rate is reached was fitted once, on A100s, and is carried over to the others until
somebody measures them (`Cluster.with_links`); each says so. Latencies of NVLink and of InfiniBand
are those that NCCL's own cost model counts for a hop of a ring in its LL128 protocol.

Sources: NVIDIA's data sheets and white papers of V100, DGX-1, T4, A100, H100, H200 and DGX B200;
Google Cloud's TPU v4 and v5p pages and Austin et al. 2025 (How to scale your model, chapter 2) for
the links of one ring; Apple's newsroom, June 2022, for M2; NCCL, src/graph/tuning.cc.
"""

from __future__ import annotations

from typing import Any

from parakit.links import Link

# Fitted on Korthikanti et al. 2022, table 5: tests/benchmarks/fit_step_time.py.
MATMUL = 0.834
MEMORY = 0.771
INSIDE = 0.458
BETWEEN = 0.988

_GIB = 2**30
_RESERVE = 2 * _GIB  # context, communication buffers, fragmentation: about what PyTorch jobs show idle
_ETHERNET = 0.94  # payload of TCP in frames of 1,500 bytes: 1,448 of 1,538
_FITTED = "reached share fitted on A100 (Korthikanti et al. 2022)"
_CARRIED = "reached share carried over from the A100 fit"


def _nvidia(
    *,
    memory: int,
    flops: dict[str, float],
    memory_bandwidth: float,
    nvlink: float,
    port: float,
    source: str,
    share: str = _CARRIED,
) -> dict[str, Any]:
    return {
        "devices": 8,
        "devices_per_node": 8,
        "memory": float(memory * _GIB),
        "reserve": float(_RESERVE),
        "flops": flops,
        "memory_bandwidth": memory_bandwidth,
        "inside": Link(
            latency=1.9e-6, bandwidth=nvlink, fraction=INSIDE, source=f"NVLink, {source}; {share}"
        ),
        "between": Link(
            latency=4e-6, bandwidth=port, fraction=BETWEEN, source=f"a port a device, {source}; {share}"
        ),
        "source": source,
    }


def _tpu(
    *, slice_: int, memory: int, flops: float, memory_bandwidth: float, ring: float, source: str
) -> dict[str, Any]:
    return {
        "devices": 64,
        "devices_per_node": slice_,  # the torus joins whole slices: a node as far as links go
        "memory": float(memory * _GIB),
        "reserve": float(_GIB),
        "flops": {"16-bit": flops},
        "memory_bandwidth": memory_bandwidth,
        "inside": Link(latency=1e-6, bandwidth=ring, source=f"one ring of the torus, both ways, {source}"),
        "between": Link(latency=50e-6, bandwidth=6.25e9, source=f"data-center network, {source}"),
        "source": source,
    }


def _lab(port: float, latency: float, said: str) -> dict[str, Any]:
    link = Link(latency=latency, bandwidth=port, fraction=_ETHERNET, source=f"{said}, TCP")
    return {
        "devices": 8,
        "devices_per_node": 1,
        "memory": float(16 * _GIB),
        "reserve": float(_GIB),
        "flops": {"16-bit": 65e12, "fp32": 8.1e12},
        "memory_bandwidth": 320e9,
        "inside": link,
        "between": link,
        "source": "NVIDIA T4 data sheet",
    }


MACHINES: dict[str, dict[str, Any]] = {
    "v100-32gb": _nvidia(
        memory=32,
        flops={"16-bit": 125e12, "fp32": 15.7e12, "fp64": 7.8e12},
        memory_bandwidth=900e9,
        nvlink=150e9,
        port=6.25e9,  # four ports of 100 Gbit/s for eight devices
        source="NVIDIA V100 SXM2 and DGX-1 data sheets",
    ),
    "a100-40gb": _nvidia(
        memory=40,
        flops={"16-bit": 312e12, "fp32": 19.5e12, "fp64": 19.5e12},
        memory_bandwidth=1555e9,
        nvlink=300e9,
        port=25e9,
        source="NVIDIA A100 data sheet",
        share=_FITTED,
    ),
    "a100-80gb": _nvidia(
        memory=80,
        flops={"16-bit": 312e12, "fp32": 19.5e12, "fp64": 19.5e12},
        memory_bandwidth=2039e9,
        nvlink=300e9,
        port=25e9,
        source="NVIDIA A100 data sheet",
        share=_FITTED,
    ),
    "h100-sxm": _nvidia(
        memory=80,
        flops={"16-bit": 989e12, "fp32": 67e12, "fp64": 67e12},
        memory_bandwidth=3.35e12,
        nvlink=450e9,
        port=50e9,
        source="NVIDIA H100 SXM data sheet",
    ),
    "h200": _nvidia(
        memory=141,
        flops={"16-bit": 989e12, "fp32": 67e12, "fp64": 67e12},
        memory_bandwidth=4.8e12,
        nvlink=450e9,
        port=50e9,
        source="NVIDIA H200 data sheet",
    ),
    "b200": _nvidia(
        memory=180,
        flops={"16-bit": 2250e12, "fp32": 75e12, "fp64": 37e12},
        memory_bandwidth=8e12,
        nvlink=900e9,
        port=50e9,
        source="NVIDIA DGX B200 data sheet",
    ),
    "tpu-v4": _tpu(
        slice_=4096,
        memory=32,
        flops=275e12,
        memory_bandwidth=1228e9,
        ring=90e9,
        source="Google Cloud, TPU v4",
    ),
    "tpu-v5p": _tpu(
        slice_=8960,
        memory=95,
        flops=459e12,
        memory_bandwidth=2765e9,
        ring=180e9,
        source="Google Cloud, TPU v5p",
    ),
    "laptop": {
        "devices": 1,
        "devices_per_node": 1,
        "memory": float(16 * _GIB),
        "reserve": float(4 * _GIB),
        "flops": {"16-bit": 3.6e12, "fp32": 3.6e12},
        "memory_bandwidth": 100e9,
        "inside": Link(latency=200e-6, bandwidth=125e6, fraction=_ETHERNET, source="1 Gbit/s Ethernet, TCP"),
        "between": Link(latency=200e-6, bandwidth=125e6, fraction=_ETHERNET, source="1 Gbit/s Ethernet, TCP"),
        "source": "Apple M2, 16 GB shared with everything else",
    },
    "lab-1gbe": _lab(125e6, 50e-6, "1 Gbit/s Ethernet"),
    "lab-10gbe": _lab(1.25e9, 30e-6, "10 Gbit/s Ethernet"),
}
