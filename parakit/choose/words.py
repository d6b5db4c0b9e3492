"""Plans and the difference of two steps in words."""

from __future__ import annotations

from parakit.pipeline import takes_chunks
from parakit.plan import Plan
from parakit.steptime import PART_NAMES, StepTime
from parakit.units import percent, seconds_text


def plan_words(plan: Plan) -> str:
    """A plan by what is not as usual.

    Example:
        >>> plan_words(Plan(dp=8, tp=2, zero=1, microbatch=4, recompute="full"))
        'dp=8 tp=2 pp=1 zero=1 microbatch=4 recompute=full'
    """
    said = [f"dp={plan.dp} tp={plan.tp} pp={plan.pp}"]
    if plan.ep > 1:
        said.append(f"ep={plan.ep}")
    if plan.dp > 1 or plan.zero:
        said.append(f"zero={plan.zero}")
    said.append(f"microbatch={plan.microbatch}")
    if plan.pp > 1:
        chunks = f" × {plan.chunks_each}" if takes_chunks(plan.schedule) else ""
        said.append(f"{plan.schedule}{chunks}")
    if plan.recompute != "none":
        said.append(f"recompute={plan.recompute}")
    if plan.sequence_parallel:
        said.append("sequence parallel")
    if plan.attention != "fused":
        said.append(f"{plan.attention} attention")
    return " ".join(said)


def difference(one: StepTime, other: StepTime, names: tuple[str, str] | None = None) -> str:
    """Which part makes the difference between two steps, in a sentence.

    Args:
        one: a step.
        other: another.
        names: what to call them; None calls them by their plans.
    """
    called = names or (plan_words(one.plan), plan_words(other.plan))
    (fast, quick), (slow, late) = sorted(
        zip((one, other), called, strict=True), key=lambda both: both[0].total
    )
    more = slow.total - fast.total
    if more <= 1e-9 * slow.total:
        return f"{called[0]} and {called[1]} take equally long, {seconds_text(one.total)}"
    parts = {name: slow.parts[name] - fast.parts[name] for name in fast.parts}
    most = max(parts, key=lambda name: parts[name])
    said = (
        f"{late} takes {seconds_text(more)} ({percent(more / fast.total)}) longer than {quick}: {PART_NAMES[most]} makes the difference, {seconds_text(slow.parts[most])} "
        f"instead of {seconds_text(fast.parts[most])}"
    )
    least = min(parts, key=lambda name: parts[name])
    if parts[least] < -0.1 * more:
        said += (
            f"; {PART_NAMES[least]} is shorter, {seconds_text(slow.parts[least])} instead of "
            f"{seconds_text(fast.parts[least])}, and does not make up for it"
        )
    return said
