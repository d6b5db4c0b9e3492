"""What a model is trained on: devices, their memory and speed, and the links between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parakit import machines
from parakit.checks import is_real, shown, unknown, whole
from parakit.links import Link, Measured, fitted

Number = Any  # a float, or an array with one entry a plan

LARGEST_CLUSTER = 10_000_000
RATES = {2: "16-bit", 4: "fp32", 8: "fp64"}  # bytes of an element: what its matrix products are called


@dataclass(frozen=True, kw_only=True, slots=True)
class Efficiency:
    """Which part of a device's published rates real work reaches.

    A matrix product takes operations / (matmul × FLOP/s) and besides reads and writes its
    matrices at memory × bandwidth. The smaller the matrices, the larger is the second part: tiny
    shards and tiny microbatches run less efficiently.

    Args:
        matmul: of the FLOP/s, by a matrix product whose memory traffic is set apart.
        memory: of the memory bandwidth.
        fused_attention: of the FLOP/s, by attention kernels that keep no sequence × sequence matrix.
        launch: seconds that an operation takes at least.

    Source: `matmul` and `memory` are fitted on the eight step times that Korthikanti et al. 2022
    measured on A100s (tests/benchmarks/fit_step_time.py); `fused_attention` is the lower end of
    what Dao 2023 (FlashAttention-2) reports for A100s; `launch` is what Gray 2019 (Getting started
    with CUDA graphs) measures for a small kernel in a stream of them.
    """

    matmul: float = machines.MATMUL
    memory: float = machines.MEMORY
    fused_attention: float = 0.5
    launch: float = 3.8e-6

    def __post_init__(self) -> None:
        for name in ("matmul", "memory", "fused_attention"):
            value = getattr(self, name)
            if not is_real(value) or not 0 < value <= 1:
                raise ValueError(
                    f"{name} is {shown(value)}: it must be a share of the published rate above 0 and up to 1"
                )
        if not is_real(self.launch) or not 0 <= self.launch < 1:
            raise ValueError(f"launch is {shown(self.launch)}: it must be a number of seconds from 0 up to 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """Equal devices in nodes of equal size.

    Args:
        devices: of all nodes together.
        devices_per_node: that share the fast link inside a node.
        memory: bytes of one device.
        reserve: bytes of them that context, buffers and fragmentation take.
        flops: FLOP/s of dense matrix products: a number for 16-bit ones, or a mapping with some of
            the keys "16-bit", "fp32" and "fp64".
        memory_bandwidth: bytes/s of a device's own memory.
        inside: link between devices of a node.
        between: link between nodes, of one device: each has a port of its own.
        efficiency: which part of these rates work reaches.
        name: what pictures and tables call it; not compared.
        source: where the numbers are from; not compared.

    Raises:
        ValueError: a number is out of its range.

    Example:
        >>> cluster = Cluster.preset("a100-80gb", devices=64)
        >>> cluster.nodes, cluster.matmul_fraction(2048, 12288, 4 * 12288 // 8) > 0.65
        (8, True)
    """

    devices: int
    devices_per_node: int = 8
    memory: float
    reserve: float = 0.0
    flops: Any  # a number or a mapping as given, pairs of name and FLOP/s after
    memory_bandwidth: float
    inside: Link
    between: Link
    efficiency: Efficiency = Efficiency()
    name: str = field(default="", compare=False)
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in ("devices", "devices_per_node"):
            object.__setattr__(self, name, whole(name, getattr(self, name), most=LARGEST_CLUSTER))
        for name, example in (("memory", "80e9"), ("memory_bandwidth", "2e12")):
            value = getattr(self, name)
            if not is_real(value) or not 0 < value < float("inf"):
                raise ValueError(f"{name} is {shown(value)}: it must be a positive number, such as {example}")
        if not is_real(self.reserve) or not 0 <= self.reserve < self.memory:
            raise ValueError(
                f"reserve is {shown(self.reserve)}: it must be a number of bytes from 0 up to less than the "
                f"memory, {self.memory:g}"
            )
        for name, kind in (("inside", Link), ("between", Link), ("efficiency", Efficiency)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(
                    f"{name} is {shown(getattr(self, name))}: it must be a pk.{kind.__name__}(…)"
                )
        object.__setattr__(self, "flops", _rates(self.flops))

    @classmethod
    def preset(cls, name: str, devices: int | None = None) -> Cluster:
        """A machine that people train on, by its name in `Cluster.presets()`.

        Args:
            name: of the machine.
            devices: how many of its devices; None is one node's, or what a lab has.

        Raises:
            ValueError: the name is not known, or devices is no whole number from 1 to 10 million.

        Example:
            >>> Cluster.preset("a100-80gb", devices=64).memory / 2**30
            80.0
        """
        if name not in machines.MACHINES:
            raise ValueError(unknown("cluster preset", name, machines.MACHINES))
        given = machines.MACHINES[name]
        if devices is not None:
            given = {**given, "devices": whole("devices", devices, most=LARGEST_CLUSTER)}
        return cls(name=name, **given)

    @classmethod
    def presets(cls) -> tuple[str, ...]:
        """Names that `Cluster.preset` knows."""
        return tuple(machines.MACHINES)

    @property
    def nodes(self) -> int:
        """Number of nodes, the last of which may be partly used."""
        return -(-self.devices // self.devices_per_node)

    @property
    def usable(self) -> float:
        """Bytes of one device that a plan may fill."""
        return self.memory - self.reserve

    @property
    def measured(self) -> tuple[str, ...]:
        """Which links are fits of measured runs: of "inside" and "between"."""
        return tuple(name for name in ("inside", "between") if getattr(self, name).measured)

    def rate(self, element: Number) -> Number:
        """FLOP/s of matrix products whose elements have this many bytes, a number or an array of them.

        Raises:
            ValueError: the cluster states none for them.
        """
        if isinstance(element, np.ndarray):
            sizes, which = np.unique(element, return_inverse=True)
            return np.array([self.rate(int(one)) for one in sizes])[which]
        name = RATES.get(int(element), "")
        for known, rate in self.flops:
            if known == name:
                return float(rate)
        known = ", ".join(name for name, _ in self.flops)
        raise ValueError(
            f"{self.name or 'the cluster'} states no FLOP/s for {name} matrix products, only {known}: give "
            f"flops={{{name!r}: …}}, or choose another precision"
        )

    def matmul_seconds(self, rows: Number, inner: Number, columns: Number, element: Number = 2) -> Number:
        """Time of one matrix product (rows × inner) (inner × columns); works on arrays alike.

        Source: the roofline's two terms (Williams, Waterman and Patterson 2009) added, not their
        larger one: the last tiles of a product have nothing to hide behind.
        """
        operations = 2 * rows * inner * columns
        moved = element * (rows * inner + inner * columns + rows * columns)
        return operations / (self.efficiency.matmul * self.rate(element)) + self.memory_seconds(moved)

    def matmul_fraction(self, rows: Number, inner: Number, columns: Number, element: Number = 2) -> Number:
        """Share of the published FLOP/s that a matrix product of these sizes reaches.

        Example:
            >>> cluster = Cluster.preset("a100-80gb")
            >>> [round(cluster.matmul_fraction(n, n, n), 2) for n in (128, 1024, 8192)]
            [0.17, 0.56, 0.79]
        """
        operations = 2 * rows * inner * columns
        return operations / self.rate(element) / self.matmul_seconds(rows, inner, columns, element)

    def memory_seconds(self, moved: Number) -> Number:
        """Time to read and write this many bytes of a device's own memory."""
        return moved / (self.efficiency.memory * self.memory_bandwidth)

    def with_links(
        self,
        measurements: Measured | None = None,
        *,
        inside: Measured | Link | None = None,
        between: Measured | Link | None = None,
    ) -> Cluster:
        """This cluster with its links replaced by fits of measured runs; `measured` tells which.

        Args:
            measurements: runs; those with no more ranks than a node has devices are taken for the
                link inside a node, others for the one between nodes.
            inside: runs, or a `Link`, for the link inside a node whatever their ranks.
            between: the same for the link between nodes.

        Raises:
            ValueError: nothing is given, or the same link twice.

        Example:
            >>> lab = Cluster.preset("lab-1gbe").with_links(between=Link(latency=80e-6, bandwidth=117e6))
            >>> lab.measured, lab.between.rate
            (('between',), 117000000.0)
        """
        given: dict[str, Measured | Link | None] = {"inside": inside, "between": between}
        if measurements is not None:
            link = "inside" if max(measurements.ranks) <= self.devices_per_node > 1 else "between"
            if given[link] is not None:
                raise ValueError(
                    f"measurements of {max(measurements.ranks)} ranks are about the link {link} nodes, and "
                    f"{link}= is given too: give one of them"
                )
            given[link] = measurements
        if not any(one is not None for one in given.values()):
            raise ValueError("with_links was given nothing: give measurements, inside= or between=")
        changes: dict[str, Link] = {}
        for name, runs in given.items():
            if runs is None:
                continue
            if not isinstance(runs, (Link, Measured)):
                raise ValueError(
                    f"{name} is {shown(runs)}: it must be measured runs (pk.measure.read) or a pk.Link(…)"
                )
            members = self.devices_per_node if name == "between" else 1
            changes[name] = fitted(runs, getattr(self, name), members)
        return replace(self, **changes)  # type: ignore[arg-type]  # Links


def _rates(flops: float | Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    if isinstance(flops, tuple):  # settled already, by `replace`
        flops = dict(flops)
    given = dict(flops) if isinstance(flops, Mapping) else {"16-bit": flops}
    for name, rate in given.items():
        if name not in RATES.values():
            raise ValueError(unknown("precision of flops", name, RATES.values()))
        if not is_real(rate) or not 0 < rate < float("inf"):
            raise ValueError(
                f"flops is {shown(rate)} for {name}: it must be a positive number of FLOP/s, such as 312e12"
            )
    if not given:
        raise ValueError("flops is empty: give at least {'16-bit': FLOP/s}")
    return tuple(sorted((name, float(rate)) for name, rate in given.items()))
