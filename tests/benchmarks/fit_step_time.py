"""Fits the four shares of published rates that parakit carries, and says how well they hold elsewhere.

    uv run --with scipy python tests/benchmarks/fit_step_time.py

Fitted: which part of an A100's FLOP/s matrix products reach, of its memory bandwidth, of NVLink and of
a port, on the eight step times of Korthikanti et al. 2022, each bounded by the published rate. Held
out: each of that table's models in turn, and the ten rows of Narayanan et al. 2021, whose software is a
generation older.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import oracles

import parakit as pk

NAMES = ("matmul", "memory", "inside", "between")


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One measured step."""

    name: str
    model: pk.Model
    plan: pk.Plan
    seconds: float

    def error(self, shares: np.ndarray | None = None) -> float:
        """Computed over measured, less one; `shares` in place of the kit's own."""
        took = pk.step_time(self.model, self.plan, cluster(self.plan.devices, shares)).total
        return took / self.seconds - 1


def cluster(devices: int, shares: np.ndarray | None = None) -> pk.Cluster:
    """A100s whose reached shares are those given."""
    one = pk.Cluster.preset("a100-80gb", devices=devices)
    if shares is None:
        return one
    matmul, memory, inside, between = shares.tolist()
    return replace(
        one,
        efficiency=replace(one.efficiency, matmul=matmul, memory=memory),
        inside=replace(one.inside, fraction=inside),
        between=replace(one.between, fraction=between),
    )


def korthikanti() -> list[Case]:
    """Eight steps: four models, each with full and with selective recomputation."""
    cases = []
    for row in oracles.read("korthikanti.json")["rows"]:
        for recompute, measured in (
            ("full", row["step_s_full_recompute"]),
            ("selective", row["step_s_selective_and_sequence_parallel"]),
        ):
            plan = _plan(row, row["interleave"], recompute, sequence_parallel=recompute == "selective")
            cases.append(
                Case(name=f"{row['model']} {recompute}", model=_model(row), plan=plan, seconds=measured)
            )
    return cases


def narayanan() -> list[Case]:
    """Ten steps: weak scaling from 1.7 billion to a trillion parameters."""
    cases = []
    for row in oracles.read("narayanan.json")["rows"]:
        layers, hidden = row["layers"], row["hidden"]
        work = 96 * row["batch"] * 2048 * layers * hidden**2
        work *= 1 + 2048 / (6 * hidden) + 51200 / (16 * layers * hidden)
        cases.append(
            Case(
                name=f"{row['billions']}B",
                model=_model(row),
                plan=_plan(row, row["chunks"], "full"),
                seconds=work / (row["devices"] * row["teraflops"] * 1e12),
            )
        )
    return cases


def _model(row: dict) -> pk.Model:
    return pk.Model(
        layers=row["layers"], hidden=row["hidden"], heads=row["heads"], vocabulary=51200, positions=2048
    )


def _plan(row: dict, chunks: int, recompute: str, *, sequence_parallel: bool = False) -> pk.Plan:
    return pk.Plan(
        dp=row["devices"] // (row["tp"] * row["pp"]),
        tp=row["tp"],
        pp=row["pp"],
        batch=row["batch"],
        microbatch=row["microbatch"],
        schedule="interleaved-1f1b" if chunks > 1 else "1f1b",
        chunks=chunks if chunks > 1 else None,
        recompute=recompute,
        sequence_parallel=sequence_parallel,
        attention="plain",
        precision="mixed-18",
    )


def fit(cases: list[Case], solve: Callable) -> np.ndarray:
    """Shares of the published rates with the least squares of relative errors."""
    found = solve(
        lambda shares: [np.log1p(one.error(shares)) for one in cases],
        [0.85, 0.75, 0.5, 0.9],
        bounds=([0.2, 0.2, 0.02, 0.02], [1, 1, 1, 1]),
        diff_step=1e-3,
    )
    return found.x


def main() -> None:
    """Prints the fit, its errors, and those of what was held out."""
    from scipy.optimize import least_squares

    cases = korthikanti()
    shares = fit(cases, least_squares)
    print("shares:", ", ".join(f"{name} {share:.3f}" for name, share in zip(NAMES, shares, strict=True)))
    errors = np.array([one.error(shares) for one in cases])
    for one, error in zip(cases, errors, strict=True):
        print(f"  {one.name:16} measured {one.seconds:6.2f} s  {error:+.2%}")
    print(f"  mean |error| {np.abs(errors).mean():.2%}, worst {np.abs(errors).max():.2%}")
    print("each model held out in turn:")
    for first in range(0, len(cases), 2):
        held = cases[first : first + 2]
        others = fit([one for one in cases if one not in held], least_squares)
        said = ", ".join(f"{one.name} {one.error(others):+.2%}" for one in held)
        print(f"  {said}  (shares {', '.join(f'{share:.3f}' for share in others)})")
    print("Narayanan et al. 2021, held out:")
    errors = np.array([one.error(shares) for one in narayanan()])
    for one, error in zip(narayanan(), errors, strict=True):
        print(f"  {one.name:8} measured {one.seconds:6.2f} s  {error:+.2%}")
    print(
        f"  mean |error| {np.abs(errors).mean():.2%}, mean {errors.mean():+.2%}, "
        f"standard deviation {errors.std():.2%}"
    )


if __name__ == "__main__":
    main()
