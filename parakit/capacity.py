"""A device's memory: what there is, what is kept in reserve, and what a plan may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from parakit.checks import is_real, shown
from parakit.units import Unit, capacity_text


@runtime_checkable
class HasMemory(Protocol):
    """Whatever states a device's memory and reserve in bytes, such as a cluster."""

    @property
    def memory(self) -> float:
        """Bytes of one device."""

    @property
    def reserve(self) -> float:
        """Bytes of them that a plan may not fill."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """Bytes of one device, and how many of them context, buffers and fragmentation take.

    Raises:
        ValueError: the memory is not a positive number, or the reserve does not leave any of it.
    """

    memory: float
    reserve: float = 0.0

    def __post_init__(self) -> None:
        if not is_real(self.memory) or not 0 < self.memory < float("inf"):
            raise ValueError(
                f"capacity is {shown(self.memory)}: it must be a positive number of bytes, such as 80e9"
            )
        if not is_real(self.reserve) or not 0 <= self.reserve < self.memory:
            raise ValueError(
                f"reserve is {shown(self.reserve)}: it must be a number of bytes from 0 up to less than "
                f"the capacity, {self.memory:g}"
            )

    @property
    def usable(self) -> float:
        """Bytes that a plan may fill."""
        return float(self.memory) - float(self.reserve)

    @classmethod
    def of(cls, what: float | HasMemory, reserve: float = 0.0) -> Capacity:
        """A number of bytes, or something that has memory and reserve, such as a cluster."""
        if isinstance(what, Capacity):
            return what
        if isinstance(what, HasMemory):
            return cls(memory=what.memory, reserve=what.reserve)
        return cls(memory=what, reserve=reserve)

    def text(self, unit: Unit) -> str:
        """What is usable, and of what.

        Example:
            >>> Capacity(memory=80e9).text(Unit.GB), Capacity(memory=80e9, reserve=4e9).text(Unit.GB)
            ('80 GB (none in reserve)', '76 GB (80 GB less 4 GB in reserve)')
        """
        if not self.reserve:
            return f"{capacity_text(self.memory, unit)} (none in reserve)"
        return (
            f"{capacity_text(self.usable, unit)} ({capacity_text(self.memory, unit)} less "
            f"{capacity_text(self.reserve, unit)} in reserve)"
        )
