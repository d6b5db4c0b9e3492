"""Practice questions by family; each draws its numbers from a seed and its answer from the core."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from parakit.checks import unknown, whole
from parakit.learn.question import Mistake, Question
from parakit.pipeline import schedule, simulate

_LARGEST_SEED = 2**63


def families() -> tuple[str, ...]:
    """Names of the question families."""
    return tuple(_FAMILIES)


def practice(*, seed: int = 0, family: str | None = None, objective: str | None = None) -> Question:
    """One question, the same for the same seed.

    Args:
        seed: which of the family's questions.
        family: one of `families()`; None lets the seed choose.
        objective: choose among this objective's families only: O1, O2 or O3.

    Raises:
        ValueError: a name is unknown, or no family serves the objective.

    Example:
        >>> practice(seed=3, family="idle-slots").unit
        'slots'
    """
    seed = whole("seed", seed, least=0, most=_LARGEST_SEED)
    if family is not None and family not in _FAMILIES:
        raise ValueError(unknown("question family", family, _FAMILIES))
    if objective is not None and objective != "O3":
        raise ValueError(unknown("objective with questions so far", objective, ["O3"]))
    # Python seeds a text by its SHA-512: the same numbers on every machine and version.
    name = family or random.Random(f"family {seed}").choice(families())
    return _FAMILIES[name](random.Random(f"{name} {seed}"), f"{name}-{seed}")


def _draw(rng: random.Random) -> tuple[int, int]:
    """A number of stages, and of microbatches that makes the ratios differ."""
    stages = rng.randint(2, 8)
    return stages, rng.choice([m for m in (2, 3, 4, 6, 8, 12, 16, 24) if m != stages])


def _idle_share(rng: random.Random, id: str) -> Question:
    p, m = _draw(rng)
    name = rng.choice(["gpipe", "1f1b"])
    timeline = simulate(schedule(name, devices=p, microbatches=m))
    answer = Fraction(round(timeline.idle.sum()), round(p * timeline.span))
    return Question(
        id=id,
        text=(
            f"A {name} pipeline has {p} equal stages and {m} microbatches. Which share of all stage time is idle?"
        ),
        answer=answer,
        unit="",
        hints=(
            "Count in units of one microbatch on one stage, forward and backward together.",
            f"Filling and draining together cost each stage {p} - 1 of these units.",
            "The whole is idle time and busy time together.",
        ),
        working=(
            f"Each stage works on {m} microbatches: {m} busy units.",
            f"It also waits {p} - 1 = {p - 1} units while the pipeline fills and drains.",
            f"Idle share = {p - 1}/({m} + {p} - 1) = {Fraction(p - 1, m + p - 1)} = {(p - 1) / (m + p - 1):.1%}.",
        ),
        mistakes=(
            Mistake(
                name="idle over ideal",
                answer=Fraction(p - 1, m),
                why=f"That is idle over busy time, {p - 1}/{m}. The share asked for is of all time: idle and busy together.",
            ),
            Mistake(
                name="busy share",
                answer=Fraction(m, m + p - 1),
                why="That is the share of time in which stages work. Take it from the whole.",
            ),
            Mistake(
                name="all stages wait",
                answer=Fraction(p, m + p),
                why=f"The pipeline fills in {p} - 1 units, not {p}: the first stage starts at once.",
            ),
        ),
    )


def _idle_slots(rng: random.Random, id: str) -> Question:
    p, m = _draw(rng)
    timeline = simulate(schedule("gpipe", devices=p, microbatches=m, forward_only=True))
    return Question(
        id=id,
        text=(
            f"Forward only: {p} stages, {m} microbatches, each cell one slot. "
            f"How many stage-slots of the grid are idle?"
        ),
        answer=Fraction(round(timeline.idle.sum())),
        unit="slots",
        hints=(
            "Stage A is idle at the end, the last stage at the beginning.",
            "Each row has the same number of idle slots.",
        ),
        working=(
            f"The grid is {m} + {p} - 1 = {m + p - 1} slots long, and each row has {m} busy ones.",
            f"So each row has {p - 1} idle slots.",
            f"{p} rows × {p - 1} = {p * (p - 1)} idle slots, whatever the number of microbatches.",
        ),
        mistakes=(
            Mistake(
                name="one row",
                answer=Fraction(p - 1),
                why="That is one row's idle slots. Count them in every row.",
            ),
            Mistake(
                name="one triangle",
                answer=Fraction(p * (p - 1), 2),
                why="That is filling or draining alone: there is a triangle at each end.",
            ),
            Mistake(
                name="whole grid",
                answer=Fraction(p * (m + p - 1)),
                why="That is the whole grid. Take the busy slots away.",
            ),
        ),
    )


def _microbatches_for_share(rng: random.Random, id: str) -> Question:
    p = rng.randint(2, 8)
    limit = rng.choice([Fraction(1, 20), Fraction(1, 10), Fraction(1, 8), Fraction(1, 5)])
    # Idle share (p-1)/(m+p-1) <= limit  <=>  m >= (p-1)/limit - (p-1).
    exact = (p - 1) / limit - (p - 1)
    answer = -(-exact.numerator // exact.denominator)
    return Question(
        id=id,
        text=(
            f"A pipeline has {p} equal stages. How many microbatches does it need at least, "
            f"so that at most {float(limit):.1%} of all stage time is idle?"
        ),
        answer=Fraction(answer),
        unit="microbatches",
        hints=(
            "Write the idle share with p and m, and set it equal to the limit.",
            "Solve for m, and round up: a microbatch is whole.",
        ),
        working=(
            f"Idle share = {p - 1}/(m + {p - 1}) must be at most {limit}.",
            f"So m + {p - 1} is at least {p - 1} ÷ {limit} = {(p - 1) / limit}.",
            f"m is at least {exact}, so {answer} microbatches.",
        ),
        mistakes=(
            Mistake(
                name="idle over ideal",
                answer=Fraction(-(-((p - 1) / limit).numerator // ((p - 1) / limit).denominator)),
                why=f"With that m, (p-1)/m meets the limit: idle over busy time. The idle share is {p - 1}/(m + {p - 1}).",
            ),
        ),
    )


_FAMILIES: dict[str, Callable[[random.Random, str], Question]] = {
    "idle-share": _idle_share,
    "idle-slots": _idle_slots,
    "microbatches-for-share": _microbatches_for_share,
}
