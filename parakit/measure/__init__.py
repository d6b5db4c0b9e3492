"""Real links: benchmark logs read, latency and bandwidth fitted."""

from parakit.measure.fit import LinkFit
from parakit.measure.measurements import Measurements
from parakit.measure.nccl_log import read

__all__ = ["LinkFit", "Measurements", "read"]
