"""Many plans' numbers as arrays: what step times are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from parakit.pipeline import splits_backward
from parakit.plan import Attention, Plan, Precision, Recompute

_WHOLE = attrgetter("dp", "tp", "pp", "ep", "zero", "microbatch", "sequence", "microbatches")
_CHOICES = attrgetter("precision", "recompute", "attention", "sequence_parallel", "schedule", "trainable")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Columns:
    """One entry a plan in each array."""

    dp: np.ndarray  # int64, as are all degrees and counts
    tp: np.ndarray
    pp: np.ndarray
    ep: np.ndarray
    zero: np.ndarray
    microbatch: np.ndarray
    sequence: np.ndarray
    microbatches: np.ndarray
    element: np.ndarray  # int64, bytes of an activation
    recipe: np.ndarray  # float64 (plans, 3), bytes of a parameter, its gradient, its optimizer state
    sums: np.ndarray  # float64, bytes of each row and column sum that the optimizer keeps
    copies: np.ndarray  # bool: the optimizer has a copy of the parameters to update
    trainable: np.ndarray  # float64
    selective: np.ndarray  # bool, as are all that follow
    full: np.ndarray
    plain: np.ndarray
    sequence_parallel: np.ndarray
    splits: np.ndarray  # the schedule computes weight gradients apart

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Columns:
        """Of plans that can run."""
        numbers = np.array([_WHOLE(plan) for plan in plans], dtype=np.int64).reshape(-1, 8).T
        kinds: dict[tuple[object, ...], int] = {}
        which = np.array([kinds.setdefault(_CHOICES(plan), len(kinds)) for plan in plans], dtype=np.int64)
        dp, tp, pp, ep, zero, microbatch, sequence, microbatches = numbers

        def each(values: list[object]) -> np.ndarray:
            return np.array(values)[which]

        precision = [Precision(kind[0]) for kind in kinds]  # type: ignore[arg-type]  # a checked name
        return cls(
            dp=dp,
            tp=tp,
            pp=pp,
            ep=ep,
            zero=zero,
            microbatch=microbatch,
            sequence=sequence,
            microbatches=microbatches,
            element=each([one.element for one in precision]),
            recipe=each([one.bytes_per_parameter for one in precision]).astype(np.float64),
            sums=each([float(one.bytes_per_sum) for one in precision]),
            copies=each([one.keeps_copy for one in precision]),
            trainable=each([kind[5] for kind in kinds]),
            selective=each([kind[1] == Recompute.SELECTIVE for kind in kinds]),
            full=each([kind[1] == Recompute.FULL for kind in kinds]),
            plain=each([kind[2] == Attention.PLAIN for kind in kinds]),
            sequence_parallel=each([bool(kind[3]) for kind in kinds]),
            splits=each([splits_backward(str(kind[4])) for kind in kinds]),
        )

    @property
    def shards(self) -> np.ndarray:
        """What sequence parallelism divides tokens by."""
        return np.where(self.sequence_parallel, self.tp, 1)

    def take(self, index: np.ndarray) -> Columns:
        """Some of the plans."""
        return Columns(**{name: getattr(self, name)[index] for name in self.__slots__})
