"""How a model is split over devices, and every reason why a plan cannot run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from parakit.checks import is_real, shown, unknown, whole_number_fault
from parakit.model import Model
from parakit.names import count
from parakit.pipeline import chunks_fault, schedules, sizes_fault, usual_chunks
from parakit.pipeline.layout import layout

LARGEST_DEGREE = 1_000_000  # of any one split: past it a number is a mistake


class HasDevices(Protocol):
    """Whatever has a number of devices, such as a cluster."""

    @property
    def devices(self) -> int:
        """Of all nodes together."""


class PlanError(ValueError):
    """A plan that cannot run; `.problems` holds the sentences."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        if len(problems) == 1:
            super().__init__(problems[0])
        else:
            super().__init__("this plan cannot run:" + "".join(f"\n  - {one}" for one in problems))


class Precision(StrEnum):
    """How many bytes a parameter costs in training: precision and optimizer together.

    The numbers are parameters + gradients + optimizer state.

    mixed-16: 2 + 2 + 12, 16-bit parameters and gradients, an fp32 copy and Adam's two moments.
    mixed-18: 2 + 4 + 12, the same with gradients accumulated in fp32.
    fp32, fp64: 4 + 4 + 8 and 8 + 8 + 16, Adam in one precision.
    adam-8bit: 2 + 2 + 6, the moments in a byte each (their block scales, some thousandths, left out).
    sgd-momentum: 2 + 2 + 8, an fp32 copy and a momentum.
    adafactor: 2 + 2 + 4 and a matrix's row and column sums in fp32 instead of its moments.

    Source: Rajbhandari et al. 2020 (ZeRO), section 3.1; Korthikanti et al. 2022 for 18 bytes;
    Dettmers et al. 2022 (8-bit optimizers); Shazeer and Stern 2018 (Adafactor), without momentum.
    """

    MIXED_16 = "mixed-16"
    MIXED_18 = "mixed-18"
    FP32 = "fp32"
    FP64 = "fp64"
    ADAM_8BIT = "adam-8bit"
    SGD_MOMENTUM = "sgd-momentum"
    ADAFACTOR = "adafactor"

    @property
    def bytes_per_parameter(self) -> tuple[int, int, int]:
        """Bytes of the parameter, its gradient and its optimizer state (adafactor: without its sums)."""
        return _RECIPES[self]

    @property
    def bytes_per_sum(self) -> int:
        """Bytes of each row and column sum that the optimizer keeps; 0 where it keeps none."""
        return 4 if self is Precision.ADAFACTOR else 0

    @property
    def keeps_copy(self) -> bool:
        """Whether the optimizer state has an fp32 copy of the parameters, which is what it updates."""
        return self not in (Precision.FP32, Precision.FP64)

    @property
    def element(self) -> int:
        """Bytes of one activation: as of one parameter."""
        return _RECIPES[self][0]


_RECIPES = {
    Precision.MIXED_16: (2, 2, 12),
    Precision.MIXED_18: (2, 4, 12),
    Precision.FP32: (4, 4, 8),
    Precision.FP64: (8, 8, 16),
    Precision.ADAM_8BIT: (2, 2, 6),
    Precision.SGD_MOMENTUM: (2, 2, 8),
    Precision.ADAFACTOR: (2, 2, 4),
}


class Recompute(StrEnum):
    """What is thrown away in forward and computed again in backward."""

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


class Attention(StrEnum):
    """Whether attention keeps its sequence × sequence matrix (plain) or not (fused)."""

    FUSED = "fused"
    PLAIN = "plain"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    r"""How one training step is spread over devices. Making one never raises; `problems` judges it.

    Context parallelism (splitting the sequence over devices) is out of scope for now.

    Args:
        dp: data-parallel degree, replicas that see different examples.
        tp: tensor-parallel degree, devices that share every layer.
        pp: pipeline-parallel degree, stages of consecutive layers.
        ep: expert-parallel degree; divides dp.
        zero: ZeRO stage 0 to 3, how much of the model states is sharded over dp.
        batch: examples of one update; None means dp × microbatch × pp.
        microbatch: examples that one replica's pipeline takes at once.
        sequence: tokens of an example.
        schedule: a name in `pk.schedules()`.
        chunks: stages a device; None means what the schedule usually has.
        stage_layers: layers of each of the pp × chunks stages; None needs an even split.
        sequence_parallel: norms and dropouts are split over tp along the sequence.
        recompute: "none", "selective" or "full".
        attention: "fused" or "plain".
        precision: bytes a parameter, see `Precision`.
        trainable: share of the parameters that are trained, above 0 up to 1; the others have no
            gradients and no optimizer state (adapters such as LoRA: what PEFT prints as trainable%).

    Example:
        >>> plan = Plan(dp=8, tp=2, pp=3, microbatch=2, batch=100)
        >>> plan.devices
        48
        >>> print(*plan.problems(Model.preset("llama-2-13b")), sep="\n")
        batch 100 does not split over dp=8: batch must be a multiple of dp × microbatch = 16 (nearest: 96 or 112)
        40 layers do not divide into pp=3 stages of equal depth; choose pp from 1, 2, 4, 5, 8, 10, 20, 40, or give stage_layers=(14, 13, 13)
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    ep: int = 1
    zero: int = 0
    batch: int | None = None
    microbatch: int = 1
    sequence: int = 2048
    schedule: str = "1f1b"
    chunks: int | None = None
    stage_layers: tuple[int, ...] | None = None
    sequence_parallel: bool = False
    recompute: Recompute | str = Recompute.NONE
    attention: Attention | str = Attention.FUSED
    precision: Precision | str = Precision.MIXED_16
    trainable: float = 1.0

    @property
    def devices(self) -> int:
        """All devices: dp × tp × pp."""
        return self.dp * self.tp * self.pp

    @property
    def microbatches(self) -> int:
        """Microbatches of one replica's pipeline in one step."""
        return self.pp if self.batch is None else self.batch // (self.dp * self.microbatch)

    @property
    def chunks_each(self) -> int:
        """Stages a device: `chunks`, or what the schedule usually has."""
        return usual_chunks(self.schedule) if self.chunks is None else self.chunks

    @property
    def stages(self) -> int:
        """Stages of the whole pipeline: pp × chunks."""
        return self.pp * self.chunks_each

    @property
    def ranks(self) -> np.ndarray:
        """Rank of each device, int array (pp, dp, tp): tensor ranks are neighbours.

        Source: Narayanan et al. 2021, Megatron-LM's default order.
        """
        return np.arange(self.devices).reshape(self.pp, self.dp, self.tp)

    def layers_of_stages(self, model: Model) -> tuple[int, ...]:
        """Layers of each stage; `problems(model)` must be empty."""
        if self.stage_layers is not None:
            return tuple(self.stage_layers)
        return (model.layers // self.stages,) * self.stages

    def problems(self, model: Model | None = None, cluster: HasDevices | None = None) -> tuple[str, ...]:
        """Every reason why this plan cannot run, one sentence each; empty when it can.

        Args:
            model: checks also that the model divides as the plan says.
            cluster: checks also that it has the devices.
        """
        faults = tuple(self._faults_of_values())
        if faults:
            return faults  # sums over impossible values would only repeat them
        return (
            *self._faults_on(cluster),
            *self._faults_of_sums(),
            *(self._faults_with(model) if model else ()),
        )

    def _faults_on(self, cluster: HasDevices | None) -> Iterator[str]:
        if cluster is None or self.devices <= cluster.devices:
            return
        fitting = [
            f"{name}={cluster.devices // (self.devices // degree)}"
            for name, degree in (("dp", self.dp), ("pp", self.pp), ("tp", self.tp))
            if 1 <= cluster.devices // (self.devices // degree) < degree
        ]
        yield (
            f"dp={self.dp} × tp={self.tp} × pp={self.pp} needs {self.devices:,} devices, the cluster has "
            f"{cluster.devices:,}; {' or '.join(fitting) + ' would fit' if fitting else 'give it more devices'}"
        )

    def _faults_of_values(self) -> Iterator[str]:
        for name in ("dp", "tp", "pp", "ep", "microbatch", "sequence"):
            value = getattr(self, name)
            most = LARGEST_DEGREE if name not in ("microbatch", "sequence") else 1_000_000_000
            if fault := whole_number_fault(value, most=most):
                yield f"{name} is {shown(value)}: it {fault}"
        if fault := whole_number_fault(self.zero, least=0, most=3):
            yield f"zero is {shown(self.zero)}: it {fault} (0 shards nothing, 3 everything)"
        if self.batch is not None and (fault := whole_number_fault(self.batch, most=10**12)):
            yield f"batch is {shown(self.batch)}: it {fault}, or None for dp × microbatch × pp"
        if self.schedule not in schedules():
            yield unknown("schedule", self.schedule, schedules())
        elif fault := chunks_fault(self.schedule, self.chunks):
            yield fault
        if self.stage_layers is not None:
            if not isinstance(self.stage_layers, (tuple, list)) or not self.stage_layers:
                yield f"stage_layers is {shown(self.stage_layers)}: it must be a tuple of layer counts, or None"
            else:
                for value in self.stage_layers:
                    if fault := whole_number_fault(value):
                        yield f"stage_layers holds {shown(value)}: each {fault}"
                        break
        if not isinstance(self.sequence_parallel, bool):
            yield f"sequence_parallel is {shown(self.sequence_parallel)}: it must be True or False"
        for name, choice in (("recompute", Recompute), ("attention", Attention), ("precision", Precision)):
            value = getattr(self, name)
            if value not in list(choice):
                yield unknown(name, value, list(choice))
        if not is_real(self.trainable) or not 0 < self.trainable <= 1:
            yield f"trainable is {shown(self.trainable)}: it must be a share above 0 and up to 1"

    def _faults_of_sums(self) -> Iterator[str]:
        if self.dp % self.ep:
            yield f"ep={self.ep} does not divide dp={self.dp}: experts are spread over the data-parallel replicas"
        share = self.dp * self.microbatch
        if self.batch is not None and self.batch % share:
            yield (
                f"batch {self.batch} does not split over dp={self.dp}: batch must be a multiple of "
                f"dp × microbatch = {share} (nearest: {_nearest_multiples(self.batch, share)})"
            )
        elif fault := sizes_fault(self.schedule, self.pp, self.microbatches):
            yield fault
        if self.stage_layers is not None and len(self.stage_layers) != self.stages:
            yield (
                f"stage_layers has {count(len(self.stage_layers), 'entry')}: {self._stages_said} needs "
                f"{self.stages}, one a stage"
            )
        if self.sequence_parallel and self.sequence % self.tp:
            yield (
                f"sequence {self.sequence} does not split over tp={self.tp}: sequence parallelism needs a "
                f"multiple (nearest: {_nearest_multiples(self.sequence, self.tp)})"
            )

    def _faults_with(self, model: Model) -> Iterator[str]:
        if self.stage_layers is not None:
            if sum(self.stage_layers) != model.layers:
                yield (
                    f"stage_layers={tuple(self.stage_layers)} adds up to {sum(self.stage_layers)} layers: "
                    f"the model has {model.layers}"
                )
        elif self.stages > model.layers:
            yield (
                f"{self._stages_said} is more stages than the model has layers: "
                f"choose pp up to {max(model.layers // self.chunks_each, 1)}"
            )
        elif model.layers % self.stages:
            even, more = divmod(model.layers, self.stages)
            split = (even + 1,) * more + (even,) * (self.stages - more)
            each = self.chunks_each
            fitting = [
                str(pp) for pp in range(1, min(model.layers, 64) + 1) if model.layers % (pp * each) == 0
            ]
            choose = f"choose pp from {', '.join(fitting)}, or " if fitting else ""
            yield (
                f"{model.layers} layers do not divide into {self._stages_said} stages of equal depth; "
                f"{choose}give stage_layers={split}"
            )
        if model.heads % self.tp:
            yield f"{model.heads} heads do not split over tp={self.tp}; choose tp from {_divisors(model.heads)}"
        elif model.latent is None and model.kv_heads % self.tp and self.tp % model.kv_heads:
            yield (
                f"{model.kv_heads} key-value heads neither split over tp={self.tp} nor repeat evenly; "
                f"choose tp from {_divisors(model.kv_heads)} or a multiple of {model.kv_heads}"
            )
        experts = model.experts
        widths = [("mlp", model.mlp if len(model.sparse_layers) < model.layers else 0)]
        if experts is not None:
            widths += [("experts' mlp", experts.mlp or model.mlp), ("shared experts'", experts.shared)]
        for what, width in widths:
            if width % self.tp:
                yield f"{what} width {width} does not split over tp={self.tp}: it must be a multiple"
        if self.ep > 1 and experts is None:
            yield f"ep={self.ep} spreads experts, and the model has none: use ep=1"
        elif experts is not None and experts.count % self.ep:
            yield (
                f"{experts.count} experts do not spread over ep={self.ep}; "
                f"choose ep from {_divisors(experts.count)}"
            )

    @property
    def one_stage_each(self) -> bool:
        """Whether a pipeline rank is as good as a stage; the plan must be one that can run."""
        return layout(self.schedule, self.pp, self.chunks_each).one_stage_each

    @property
    def _stages_said(self) -> str:
        each = self.chunks_each
        return f"pp={self.pp}" if each == 1 else f"pp × chunks = {self.pp} × {each} = {self.stages}"


def _nearest_multiples(value: int, of: int) -> str:
    below = value // of * of
    return f"{below} or {below + of}" if below else str(of)


def _divisors(number: int) -> str:
    return ", ".join(str(one) for one in range(1, min(number, 256) + 1) if number % one == 0)
