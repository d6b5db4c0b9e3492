"""A sequence whose items are made when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Lazily(Sequence[T], Generic[T]):
    """Thousands of items that cost nothing until somebody reads them."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> list[T]: ...

    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            return [self._make(one) for one in range(*at.indices(self._length))]
        if not -self._length <= at < self._length:
            raise IndexError(f"there are {self._length}, counted from 0: there is no {at}")
        return self._make(at % self._length)

    def __repr__(self) -> str:
        return f"<{self._length:,} of them>"
