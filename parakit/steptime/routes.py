"""Which links a group's traffic crosses, and what a collective over them takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.cluster import Cluster
from parakit.steptime.columns import Columns
from parakit.traffic import Collective, sent


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Route:
    """What the slowest part of a ring through a group gives, one entry a plan."""

    members: np.ndarray  # int64, devices in the group
    crosses: np.ndarray  # bool: it reaches over more than one node
    latency: np.ndarray  # float64, seconds of a hop
    rate: np.ndarray  # float64, bytes/s out of each device

    def seconds(self, collective: Collective, size: np.ndarray) -> np.ndarray:
        """One collective over buffers of `size` bytes, float64 (plans,); 0 in a group of one.

        A ring: n-1 hops, an all-reduce twice as many.

        Source: Thakur, Rabenseifner and Gropp 2005.
        """
        hops = (self.members - 1) * (2 if collective == Collective.ALL_REDUCE else 1)
        moved = sent(collective, size, self.members)
        return np.where(self.members > 1, hops * self.latency + moved / self.rate, 0.0)


def tensor_route(columns: Columns, cluster: Cluster) -> Route:
    """Of tensor ranks, which are neighbours."""
    return _ring(columns, cluster, stride=np.ones_like(columns.tp), members=columns.tp)


def neighbours_route(columns: Columns, cluster: Cluster, members: np.ndarray) -> Route:
    """Of some tensor ranks side by side."""
    return _ring(columns, cluster, stride=np.ones_like(members), members=members)


def data_route(columns: Columns, cluster: Cluster) -> Route:
    """Of replicas, which stand tp apart."""
    return _ring(columns, cluster, stride=columns.tp, members=columns.dp)


def experts_data_route(columns: Columns, cluster: Cluster) -> Route:
    """Of the replicas of the same experts, which stand tp × ep apart."""
    return _ring(columns, cluster, stride=columns.tp * columns.ep, members=columns.dp // columns.ep)


def all_to_all_seconds(columns: Columns, cluster: Cluster, size: np.ndarray) -> np.ndarray:
    """Tokens to their experts, float64 (plans,): over both kinds of link at once.

    Args:
        columns: the plans.
        cluster: what they run on.
        size: bytes of each device's tokens, those that stay with it included.
    """
    ring = _ring(columns, cluster, stride=columns.tp, members=columns.ep)
    near = np.where(ring.crosses, _neighbours(columns.tp, columns.ep, cluster), columns.ep)
    inside = (near - 1) / columns.ep * size / cluster.inside.rate
    between = (columns.ep - near) / columns.ep * size / cluster.between.rate
    took = (columns.ep - 1) * ring.latency + np.maximum(inside, between)
    return np.where(columns.ep > 1, took, 0.0)


def send_seconds(
    columns: Columns, cluster: Cluster, size: np.ndarray, senders: np.ndarray, receivers: np.ndarray
) -> np.ndarray:
    """From pipeline ranks to others, float64 (plans, sends); 0 where they are the same.

    Args:
        columns: the plans.
        cluster: what they run on.
        size: bytes that each device sends, float64 (plans,).
        senders: pipeline ranks, int64 (sends,).
        receivers: the same.
    """
    block = (columns.dp * columns.tp)[:, None]
    low, high = np.minimum(senders, receivers), np.maximum(senders, receivers)
    node = cluster.devices_per_node
    crosses = low * block // node != (high * block + block - 1) // node
    latency = np.where(crosses, cluster.between.latency, cluster.inside.latency)
    rate = np.where(crosses, cluster.between.rate, cluster.inside.rate)
    return np.where(senders == receivers, 0.0, latency + size[:, None] / rate)


def _ring(columns: Columns, cluster: Cluster, stride: np.ndarray, members: np.ndarray) -> Route:
    block = stride * members
    whole = columns.dp * columns.tp * columns.pp
    crosses = (whole > cluster.devices_per_node) & (cluster.devices_per_node % block != 0) & (members > 1)
    near = _neighbours(stride, members, cluster)
    # Each device has a port of its own: those of a node share a ring's way out.
    out = near * cluster.between.rate
    between = np.where(near > 1, np.minimum(cluster.inside.rate, out), out)
    return Route(
        members=members,
        crosses=crosses,
        latency=np.where(crosses, cluster.between.latency, cluster.inside.latency),
        rate=np.where(crosses, between, cluster.inside.rate),
    )


def _neighbours(stride: np.ndarray, members: np.ndarray, cluster: Cluster) -> np.ndarray:
    """Members of a crossing group on the node that has the fewest of them."""
    fewest: np.ndarray = np.maximum(np.gcd(stride * members, cluster.devices_per_node) // stride, 1)
    return fewest
