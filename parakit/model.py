"""What is trained: a transformer's layers and widths, and how many parameters they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from typing import Any

from parakit import hf_config, presets
from parakit.checks import shown, unknown, whole

GROUPS = ("embedding", "position", "attention", "mlp", "norm", "head", "other")


class Norm(StrEnum):
    """How a block normalises: LayerNorm has a scale and a shift, RMSNorm a scale alone."""

    LAYER = "layer"
    RMS = "rms"


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A decoder-only transformer, described by the sizes that decide its parameters.

    As written, the constructor is a GPT block: biases everywhere, LayerNorm, mlp = 4 × hidden.

    Args:
        layers: number of transformer blocks.
        hidden: width of the residual stream.
        heads: attention (query) heads.
        kv_heads: key and value heads; None means as many as `heads`.
        head_dim: width of one head; None means hidden / heads.
        mlp: inner width of the mlp; None means 4 × hidden.
        gated: the mlp has a gate beside its up projection (SwiGLU and its relatives).
        vocabulary: rows of the token embedding. 0 means the blocks alone: no embedding,
            positions, final norm or head.
        positions: rows of a learned position embedding; 0 for rotary or none.
        tied: the head reuses the token embedding, so it is counted once.
        bias: linear layers have biases.
        attention_bias, mlp_bias: the same for one part only; None means as `bias`.
        norm: "layer" or "rms".
        final_norm: a norm stands before the head.
        dropout: masks are kept for backward while training.
        name: what pictures and tables call it; it does not count in comparisons.

    Raises:
        ValueError: a size is not a whole number in its range, or sizes do not go together.

    Example:
        >>> gpt2 = Model(layers=12, hidden=768, heads=12, vocabulary=50257, positions=1024)
        >>> f"{gpt2.parameters:,}"
        '124,439,808'

    Source: Radford et al. 2019 (GPT-2); Touvron et al. 2023 (Llama) for gated, rms and kv_heads.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int = None  # type: ignore[assignment]  # None is resolved below: always an int after
    head_dim: int = None  # type: ignore[assignment]
    mlp: int = None  # type: ignore[assignment]
    gated: bool = False
    vocabulary: int = 0
    positions: int = 0
    tied: bool = True
    bias: bool = True
    attention_bias: bool = None  # type: ignore[assignment]
    mlp_bias: bool = None  # type: ignore[assignment]
    norm: Norm | str = Norm.LAYER
    final_norm: bool = True
    dropout: bool = True
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        def settle(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        for name in ("layers", "hidden", "heads"):
            settle(name, whole(name, getattr(self, name), most=hf_config.LARGEST[name]))
        for name in ("vocabulary", "positions"):
            settle(name, whole(name, getattr(self, name), least=0, most=hf_config.LARGEST[name]))
        if self.kv_heads is None:
            settle("kv_heads", self.heads)
        if self.head_dim is None:
            if self.hidden % self.heads:
                raise ValueError(
                    f"hidden {self.hidden} does not split over {self.heads} heads: "
                    f"hidden must be a multiple of heads, or give head_dim"
                )
            settle("head_dim", self.hidden // self.heads)
        if self.mlp is None:
            settle("mlp", 4 * self.hidden)
        for name in ("kv_heads", "head_dim", "mlp"):
            settle(name, whole(name, getattr(self, name), most=hf_config.LARGEST[name]))
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads do not share {self.kv_heads} key-value heads evenly: "
                f"heads must be a multiple of kv_heads"
            )
        for name in ("attention_bias", "mlp_bias"):
            if getattr(self, name) is None:
                settle(name, self.bias)
        for name in ("gated", "tied", "bias", "attention_bias", "mlp_bias", "final_norm", "dropout"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is {shown(getattr(self, name))}: it must be True or False")
        try:
            settle("norm", Norm(self.norm))
        except ValueError:
            raise ValueError(unknown("norm", self.norm, list(Norm))) from None

    @classmethod
    def preset(cls, name: str) -> Model:
        """A model that papers and courses use, by its name in `Model.presets()`.

        Raises:
            ValueError: the name is not known; the nearest ones are offered.

        Example:
            >>> f"{Model.preset('llama-3-8b').parameters:,}"
            '8,030,261,248'
        """
        if name not in presets.MODELS:
            raise ValueError(unknown("model preset", name, presets.MODELS))
        return cls(name=name, **presets.MODELS[name])

    @classmethod
    def presets(cls) -> tuple[str, ...]:
        """Names that `Model.preset` knows."""
        return tuple(presets.MODELS)

    @classmethod
    def from_config(cls, config: str | PathLike[str] | Mapping[str, Any]) -> Model:
        """The model that a Hugging Face config.json describes.

        Args:
            config: path of the file, of the folder that holds it, or the loaded object.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a config that can be read; every fault is named.

        Example:
            >>> config = dict(model_type="llama", hidden_size=4096, intermediate_size=14336,
            ...               num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
            ...               vocab_size=128256)
            >>> Model.from_config(config).parameters
            8030261248
        """
        return cls(**hf_config.read(config))

    @property
    def parameters_per_layer(self) -> dict[str, int]:
        """Parameters of one block: attention, mlp, norm."""
        return self.layer_parameters(tp=1)

    def layer_parameters(self, *, tp: int = 1) -> dict[str, int]:
        """Parameters of one block that one of `tp` tensor ranks holds: attention, mlp, norm.

        Heads, key-value heads (at least one a device) and the mlp's inner width are split, with
        the biases that belong to them; norms and the biases added after a sum are on every rank.

        Source: Shoeybi et al. 2019, Megatron-LM, section 3.
        """
        query = self.heads // tp * self.head_dim
        key = max(self.kv_heads // tp, 1) * self.head_dim
        inner = self.mlp // tp
        inputs = 2 if self.gated else 1
        attention = self.hidden * (2 * query + 2 * key)
        mlp = self.hidden * inner * (inputs + 1)
        if self.attention_bias:
            attention += query + 2 * key + self.hidden
        if self.mlp_bias:
            mlp += inputs * inner + self.hidden
        return {"attention": attention, "mlp": mlp, "norm": 2 * self._norm_parameters}

    def first_stage_parameters(self, *, tp: int = 1) -> dict[str, int]:
        """Parameters before the blocks that one of `tp` ranks holds: embedding, position.

        The vocabulary's rows are padded to a multiple of `tp` and split.
        """
        positions = self.positions * self.hidden if self.vocabulary else 0
        return {"embedding": -(-self.vocabulary // tp) * self.hidden, "position": positions}

    def last_stage_parameters(self, *, tp: int = 1) -> dict[str, int]:
        """Parameters after the blocks that one of `tp` ranks holds: norm, head.

        The head is counted here even when it is tied: it is the embedding's copy that the last
        stage of a pipeline holds.
        """
        norm = self._norm_parameters if self.vocabulary and self.final_norm else 0
        return {"norm": norm, "head": -(-self.vocabulary // tp) * self.hidden}

    @property
    def parameter_groups(self) -> dict[str, int]:
        """Parameters by part; a tied head counts once, as embedding.

        Example:
            >>> Model(layers=2, hidden=8, heads=2, vocabulary=10).parameter_groups
            {'embedding': 80, 'position': 0, 'attention': 576, 'mlp': 1104, 'norm': 80, 'head': 0, 'other': 0}
        """
        groups = dict.fromkeys(GROUPS, 0)
        for part, parameters in self.parameters_per_layer.items():
            groups[part] += self.layers * parameters
        groups.update(self.first_stage_parameters())
        last = self.last_stage_parameters()
        groups["norm"] += last["norm"]
        groups["head"] = 0 if self.tied else last["head"]
        return groups

    @property
    def parameters(self) -> int:
        """All parameters, a tied head counted once."""
        return sum(self.parameter_groups.values())

    @property
    def _norm_parameters(self) -> int:
        return self.hidden * (2 if self.norm == Norm.LAYER else 1)
