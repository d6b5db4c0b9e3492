"""What each strategy sends in one step: with which collective, how many bytes, how often, when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from parakit.checks import is_real, shown
from parakit.model import Model
from parakit.names import stage_letters
from parakit.pipeline.layout import Layout, layout
from parakit.plan import Plan, PlanError, Precision, Recompute
from parakit.states import MODEL_STATES, stage_blocks, stage_parameters
from parakit.units import aligned, bytes_text
from parakit.weights import first_weights, last_weights, layer_weights, whole_on_tensor_ranks

Number = Any  # a number, or an array with one entry a plan


class Strategy(StrEnum):
    """Which split makes the transfer necessary."""

    DATA = "data"
    TENSOR = "tensor"
    PIPELINE = "pipeline"
    EXPERT = "expert"


class Collective(StrEnum):
    """How it is sent; the bytes are those of ring algorithms."""

    ALL_REDUCE = "all-reduce"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_GATHER = "all-gather"
    ALL_TO_ALL = "all-to-all"
    SEND = "send"


class When(StrEnum):
    """Part of the step."""

    FORWARD = "forward"
    BACKWARD = "backward"
    UPDATE = "update"


def sent(collective: Collective | str, size: Number, ranks: Number) -> Number:
    """Bytes that each device of a group sends for one collective.

    Args:
        collective: which.
        size: bytes of the whole buffer S: what one device has before an all-reduce, a
            reduce-scatter or an all-to-all, and after an all-gather.
        ranks: devices in the group, n.

    Returns:
        2 (n-1)/n S for an all-reduce, S for a send, (n-1)/n S for the others.

    Example:
        >>> sent("all-reduce", 1e9, 8) == sent("reduce-scatter", 1e9, 8) + sent("all-gather", 1e9, 8)
        True

    Source: Thakur, Rabenseifner and Gropp 2005; nccl-tests, PERFORMANCE.md.
    """
    collective = Collective(collective)
    if collective == Collective.SEND:
        return size
    times = 2 if collective == Collective.ALL_REDUCE else 1
    return times * (ranks - 1) / ranks * size


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """One kind of transfer of a step, by the devices of one pipeline rank."""

    strategy: Strategy
    what: str
    collective: Collective
    group: tuple[int, ...]  # ranks that take part: one group of those that do the same
    bytes: float  # sent by each device, each time
    count: int  # times a step
    when: When
    overlaps: bool  # whether it can run beside computation
    rank: int  # pipeline rank whose devices send it
    size: float  # bytes of the whole buffer, padding included

    @property
    def total(self) -> float:
        """Bytes that each device sends for this in one step."""
        return self.bytes * self.count


class Traffic(list[Transfer]):
    """Every transfer of one step. A list, with totals and a table."""

    def total(self, strategy: Strategy | str | None = None, rank: int | None = None) -> float:
        """Bytes that one device sends in a step.

        Args:
            strategy: count only this one.
            rank: of the devices of this pipeline rank; None means of those that send most.
        """
        totals: dict[int, float] = {}
        for one in self:
            if strategy is None or one.strategy == strategy:
                totals[one.rank] = totals.get(one.rank, 0.0) + one.total
        return max(totals.values(), default=0.0) if rank is None else totals.get(rank, 0.0)

    def table(self) -> str:
        """The transfers as aligned text; pipeline ranks that send the same share a line."""
        lines: dict[tuple[str, ...], list[int]] = {}
        for one in self:
            line = (
                one.strategy.value,
                one.what,
                one.collective.value,
                f"{len(one.group)}",
                bytes_text(one.bytes),
                f"{one.count:,}",
                bytes_text(one.total),
                one.when.value,
                "yes" if one.overlaps else "no",
            )
            lines.setdefault(line, []).append(one.rank)
        head = ("strategy", "what", "collective", "devices", "each", "times", "a step", "when", "can overlap")
        rows: list[tuple[str, ...]] = [("pipeline rank", *head)]
        rows += [(_ranks_text(ranks), *line) for line, ranks in lines.items()]
        return aligned(rows, left=set(range(len(rows[0]))) - {4, 5, 6, 7})


def traffic(model: Model | float, plan: Plan) -> Traffic:
    """Every transfer of one step, for each pipeline rank.

    Data parallel: one all-reduce of the gradients (ZeRO 0); a reduce-scatter of gradients and an
    all-gather of parameters (ZeRO 1); the same with a reduce-scatter for each microbatch (ZeRO 2);
    for each microbatch two all-gathers of parameters and a reduce-scatter (ZeRO 3). Flat buffers
    are padded to a multiple of the ranks. Experts' gradients go over their own, fewer replicas.

    Tensor parallel: after attention and after the mlp an all-reduce forward, and as many backward;
    full recomputation repeats those of forward. With sequence parallelism each is an all-gather and a
    reduce-scatter, and backward gathers the two inputs again that were kept as shards. Beside the
    blocks: the split embedding and head, three small ones for the split loss, and gradients of
    what several tensor ranks hold.

    Pipeline: for each boundary and microbatch an activation forward and its gradient backward;
    a tied embedding's gradients are added between the two ends. With dualpipe every stage is on two
    devices, whose gradients are added.

    Experts: tokens go to their experts and back, forward and backward, by all-to-all.

    Args:
        model: a `Model`, or a plain number of parameters where only data parallelism is used.
        plan: how it is split.

    Raises:
        PlanError: the plan cannot run with this model.
        ValueError: a plain number is given with tp or pp, whose traffic needs widths.

    Example:
        >>> plain, sharded = (traffic(1_000_000_000, Plan(dp=8, zero=zero)).total() for zero in (0, 3))
        >>> plain / 1e9, sharded / plain
        (3.5, 1.5)

    Source: Rajbhandari et al. 2020 (ZeRO), section 7; Shoeybi et al. 2019; Korthikanti et al. 2022,
    section 4.2.2; Narayanan et al. 2021, section 3.2; Lepikhin et al. 2020 (all-to-all of experts).
    """
    if problems := plan.problems(model if isinstance(model, Model) else None):
        raise PlanError(problems)
    if not isinstance(model, Model):
        parameters = np.zeros((1, 2))
        parameters[0, 0] = _plain(model, plan)
        return Traffic(_data(parameters, plan, plan.microbatches))
    spread = layout(plan.schedule, plan.pp, plan.chunks_each)
    order, times = spread.stages, round(plan.microbatches * spread.share)
    held = stage_parameters(model, plan)[:, :, 0][order].sum(axis=1)
    found = Traffic(_data(held, plan, times))
    counts = stage_blocks(model, plan.layers_of_stages(model))[order].sum(axis=1).astype(np.int64)
    if plan.tp > 1:
        for rank in range(plan.pp):
            found += _tensor(model, plan, rank, int(counts[rank, 0]), int(counts[rank, 1]), order, times)
    if plan.ep > 1:
        for rank in range(plan.pp):
            found += _expert(model, plan, rank, int(counts[rank, 1]), times)
    if plan.pp > 1:
        found += _pipeline(model, plan, spread)
        found += _twice_held(plan, spread, held)
    return found


def _data(parameters: np.ndarray, plan: Plan, times: int) -> Iterator[Transfer]:
    """`parameters` on one device of each pipeline rank, (pp, 2: common, experts), used `times` times."""
    for rank, (common, experts) in enumerate(parameters.tolist()):
        replicas = plan.ranks[rank, :, 0]
        yield from _replicas(common, "", replicas, rank, plan, times)
        yield from _replicas(experts, "experts' ", replicas[:: plan.ep], rank, plan, times)


def _replicas(
    parameters: float, whose: str, group: np.ndarray, rank: int, plan: Plan, times: int
) -> Iterator[Transfer]:
    """What the devices that hold the same parameters send each other."""
    ranks = len(group)
    if not parameters or ranks == 1:
        return
    recipe = Precision(plan.precision).bytes_per_parameter
    weight, gradient = (recipe[MODEL_STATES.index(name)] for name in ("parameters", "gradients"))
    trained = padded(parameters * plan.trainable, ranks)

    def made(what: str, how: Collective, size: float, when: When, count: int) -> Transfer:
        return _transfer(
            strategy=Strategy.DATA,
            what=f"{whose}{what}",
            collective=how,
            group=group,
            size=size,
            count=count,
            when=when,
            overlaps=True,
            rank=rank,
        )

    if plan.zero == 0:
        yield made("gradients", Collective.ALL_REDUCE, trained * gradient, When.BACKWARD, 1)
        return
    if plan.zero == 3:
        size = padded(parameters, ranks) * weight
        for when in (When.FORWARD, When.BACKWARD):
            yield made("parameters", Collective.ALL_GATHER, size, when, times)
    often = 1 if plan.zero == 1 else times
    yield made("gradients", Collective.REDUCE_SCATTER, trained * gradient, When.BACKWARD, often)
    if plan.zero < 3:
        yield made("parameters", Collective.ALL_GATHER, trained * weight, When.UPDATE, 1)


def _tensor(
    model: Model, plan: Plan, rank: int, dense: int, sparse: int, order: np.ndarray, times: int
) -> Iterator[Transfer]:
    element = Precision(plan.precision).element
    tokens = plan.sequence * plan.microbatch
    wide = tokens * model.hidden * element
    first, last = bool((order[rank] == 0).any()), bool((order[rank] == plan.stages - 1).any())
    blocks = dense + sparse
    each = 1 if model.parallel else 2
    gather, scatter, reduce = Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_REDUCE
    group = plan.ranks[rank, 0, :]

    def made(
        what: str, how: Collective, when: When, count: int, size: float = wide, overlaps: bool = False
    ) -> Transfer:
        return _transfer(
            strategy=Strategy.TENSOR,
            what=what,
            collective=how,
            group=group,
            size=size,
            count=count,
            when=when,
            overlaps=overlaps,
            rank=rank,
        )

    passes = [("results of blocks", When.FORWARD), ("gradients in blocks", When.BACKWARD)]
    if plan.recompute == Recompute.FULL:
        passes.append(("results of blocks, computed again", When.BACKWARD))
    for what, when in passes:
        # What is added for the inputs of a matrix can hide behind the gradient of its weights.
        hides = what == "gradients in blocks"
        if plan.sequence_parallel:
            yield made(what, gather, when, each * blocks * times)
            yield made(what, scatter, when, each * blocks * times, overlaps=hides)
        else:
            yield made(what, reduce, when, each * blocks * times, overlaps=hides)
    if plan.sequence_parallel:
        what = "inputs of blocks kept as shards"
        yield made(what, gather, When.BACKWARD, each * blocks * times, overlaps=True)
    if model.vocabulary and first:
        yield made("embedded tokens", scatter if plan.sequence_parallel else reduce, When.FORWARD, times)
        if plan.sequence_parallel:
            yield made("gradients of embedded tokens", gather, When.BACKWARD, times)
    if model.vocabulary and last:
        wide_head = wide // model.hidden * model.embedding_width
        if plan.sequence_parallel:
            yield made("head input", gather, When.FORWARD, times, size=wide_head)
            yield made("head input kept as shards", gather, When.BACKWARD, times, wide_head, overlaps=True)
        how = scatter if plan.sequence_parallel else reduce
        yield made("gradient of the head's input", how, When.BACKWARD, times, wide_head, overlaps=True)
        yield made("largest logit, its label's, sum", reduce, When.FORWARD, 3 * times, size=4 * tokens)
    gradient = Precision(plan.precision).bytes_per_parameter[1] * plan.trainable
    if plan.sequence_parallel:
        size = padded(_whole_parameters(model, dense, sparse, first, last), plan.tp) * gradient
        if size:
            yield made("gradients of what each tensor rank holds", reduce, When.UPDATE, 1, size=size)
    if model.latent is None and plan.tp > model.kv_heads and blocks:
        repeats = plan.tp // model.kv_heads
        width = model.head_dim * (model.hidden + (1 if model.attention_bias else 0))
        yield _transfer(
            strategy=Strategy.TENSOR,
            what="gradients of repeated key-value heads",
            collective=reduce,
            group=group[:repeats],
            size=padded(2 * blocks * width, repeats) * gradient,
            count=1,
            when=When.UPDATE,
            overlaps=False,
            rank=rank,
        )


def _whole_parameters(model: Model, dense: int, sparse: int, first: bool, last: bool) -> int:
    """Parameters of one pipeline rank that every tensor rank holds whole and sees a part of."""
    groups = [(layer_weights(model, sparse=False), dense), (layer_weights(model, sparse=True), sparse)]
    groups += [(first_weights(model), int(first)), (last_weights(model), int(last))]
    return sum(times * whole_on_tensor_ranks(weights) for weights, times in groups)


def _expert(model: Model, plan: Plan, rank: int, sparse: int, times: int) -> Iterator[Transfer]:
    if not sparse or model.experts is None:
        return
    shards = plan.tp if plan.sequence_parallel else 1
    copies = plan.sequence * plan.microbatch * model.experts.per_token / shards
    passes = [(When.FORWARD, ""), (When.BACKWARD, "")]
    if plan.recompute == Recompute.FULL:
        passes.append((When.BACKWARD, ", computed again"))
    for when, again in passes:
        gradients = "gradients of " if when == When.BACKWARD and not again else ""
        for what in ("tokens to their experts", "results of experts"):
            yield _transfer(
                strategy=Strategy.EXPERT,
                what=f"{gradients}{what}{again}",
                collective=Collective.ALL_TO_ALL,
                group=plan.ranks[rank, : plan.ep, 0],
                size=copies * model.hidden * Precision(plan.precision).element,
                count=sparse * times,
                when=when,
                overlaps=False,
                rank=rank,
            )


def _pipeline(model: Model, plan: Plan, spread: Layout) -> Iterator[Transfer]:
    shards = plan.tp if plan.sequence_parallel else 1
    size = plan.sequence * plan.microbatch * model.hidden * Precision(plan.precision).element / shards
    ends = plan.ranks[:, 0, 0]
    for one in spread.sends:
        yield _transfer(
            strategy=Strategy.PIPELINE,
            what="activations" if one.forward else "gradients of activations",
            collective=Collective.SEND,
            group=ends[[one.sender, one.receiver]],
            size=size,
            count=round(one.boundaries * plan.microbatches),
            when=When.FORWARD if one.forward else When.BACKWARD,
            overlaps=True,
            rank=one.sender,
        )
    if model.tied and model.vocabulary and spread.ends_apart:
        gradient = Precision(plan.precision).bytes_per_parameter[1] * plan.trainable
        table = -(-model.vocabulary // plan.tp) * model.embedding_width
        both = [spread.holders(0)[0], spread.holders(plan.stages - 1)[0]]
        for rank in both:
            yield _transfer(
                strategy=Strategy.PIPELINE,
                what="gradients of the tied embedding",
                collective=Collective.ALL_REDUCE,
                group=ends[both],
                size=padded(table, 2) * gradient,
                count=1,
                when=When.UPDATE,
                overlaps=False,
                rank=rank,
            )


def _twice_held(plan: Plan, spread: Layout, held: np.ndarray) -> Iterator[Transfer]:
    """Where each stage is on two devices, their gradients are added."""
    if spread.share == 1:
        return
    ends = plan.ranks[:, 0, 0]
    recipe = Precision(plan.precision).bytes_per_parameter
    gradient = recipe[MODEL_STATES.index("gradients")] * plan.trainable
    # What ZeRO has reduce-scattered is added shard by shard; experts have fewer replicas.
    shards = np.array([plan.dp, plan.dp // plan.ep]) if plan.zero else np.ones(2)
    for rank, stages in enumerate(spread.stages.tolist()):
        other = next(one for one in spread.holders(stages[0]) if one != rank)
        yield _transfer(
            strategy=Strategy.PIPELINE,
            what="gradients of stages held twice",
            collective=Collective.ALL_REDUCE,
            group=ends[[rank, other]],
            size=padded(float((held[rank] / shards).sum()), 2) * gradient,
            count=1,
            when=When.UPDATE,
            overlaps=True,
            rank=rank,
        )


def _transfer(
    *,
    strategy: Strategy,
    what: str,
    collective: Collective,
    group: np.ndarray,
    size: float,
    count: int,
    when: When,
    overlaps: bool,
    rank: int,
) -> Transfer:
    return Transfer(
        strategy=strategy,
        what=what,
        collective=collective,
        group=tuple(group.tolist()),
        bytes=float(sent(collective, size, len(group))),
        count=count,
        when=when,
        overlaps=overlaps,
        rank=rank,
        size=float(size),
    )


def padded(number: Number, ranks: Number) -> Number:
    """A number of elements, as the next multiple of the ranks; arrays alike."""
    return np.ceil(np.ceil(number) / ranks) * ranks


def _plain(parameters: float, plan: Plan) -> float:
    if not is_real(parameters) or not 1 <= parameters <= 1e18 or parameters != int(parameters):
        raise ValueError(
            f"model is {shown(parameters)}: it must be a pk.Model or a whole number of parameters from 1 to 1e18"
        )
    if plan.tp > 1 or plan.pp > 1:
        raise ValueError(
            f"tp={plan.tp} and pp={plan.pp} send activations, whose width a plain number of parameters does "
            f"not tell: give a pk.Model, or tp=1 and pp=1"
        )
    return float(parameters)


def _ranks_text(ranks: list[int]) -> str:
    letters = [stage_letters(rank) for rank in ranks]
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"{letters[0]} to {letters[-1]}"
    return ", ".join(letters)
