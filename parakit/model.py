"""What is trained: a transformer's layers and widths, and how many parameters they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from typing import Any

from parakit import hf_config, presets
from parakit.blocks import Experts, Latent
from parakit.checks import shown, unknown, whole
from parakit.flops import Flops, flops
from parakit.weights import Weight, first_weights, last_weights, layer_weights

GROUPS = ("embedding", "position", "attention", "mlp", "norm", "head", "other")


class Norm(StrEnum):
    """How a block normalises: LayerNorm scales and shifts, RMSNorm scales, plain has no parameters."""

    LAYER = "layer"
    RMS = "rms"
    PLAIN = "plain"


class QueryNorm(StrEnum):
    """Whether queries and keys are normalised: not, each head by itself, or over their whole width."""

    NONE = "none"
    HEAD = "head"
    WIDTH = "width"


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A decoder-only transformer, described by what decides its parameters and activations.

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
        attention_bias, output_bias, mlp_bias: the same for queries, keys and values, for the
            output projection, for the mlp; None means as `bias` (`output_bias`: as
            `attention_bias`).
        head_bias: the head has a bias.
        norm: "layer", "rms" or "plain".
        norms: norms of one block.
        qk_norm: "none", "head" or "width", norms of queries and keys.
        parallel: attention and mlp read the same input and their results are added once.
        final_norm: a norm stands before the head.
        embedding_norm: a norm stands after the embedding.
        embedding_width: width of the embedding and the head; None means hidden. Where it differs,
            a projection leads in and one out.
        experts: `Experts` in place of the mlp, in some blocks or all.
        latent: `Latent` attention; then heads × its widths decide, not kv_heads or head_dim.
        dropout: masks are kept for backward while training.
        name: what pictures and tables call it; it does not count in comparisons.
        notes: what was left out or assumed where it was read from a config; not compared either.

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
    output_bias: bool = None  # type: ignore[assignment]
    mlp_bias: bool = None  # type: ignore[assignment]
    head_bias: bool = False
    norm: Norm | str = Norm.LAYER
    norms: int = 2
    qk_norm: QueryNorm | str = QueryNorm.NONE
    parallel: bool = False
    final_norm: bool = True
    embedding_norm: bool = False
    embedding_width: int = None  # type: ignore[assignment]
    experts: Experts | None = None
    latent: Latent | None = None
    dropout: bool = True
    name: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        def settle(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        for name in ("layers", "hidden", "heads"):
            settle(name, whole(name, getattr(self, name), most=hf_config.LARGEST[name]))
        for name in ("vocabulary", "positions"):
            settle(name, whole(name, getattr(self, name), least=0, most=hf_config.LARGEST[name]))
        settle("norms", whole("norms", self.norms, least=0, most=8))
        for name, kind in (("experts", Experts), ("latent", Latent)):
            if not isinstance(getattr(self, name), (kind, type(None))):
                given = shown(getattr(self, name))
                raise ValueError(f"{name} is {given}: it must be a pk.{kind.__name__}(…) or None")
        if self.kv_heads is None:
            settle("kv_heads", self.heads)
        if self.latent is not None:
            settle("kv_heads", self.heads)
            settle("head_dim", self.latent.plain + self.latent.rotary)
        if self.head_dim is None:
            if self.hidden % self.heads:
                raise ValueError(
                    f"hidden {self.hidden} does not split over {self.heads} heads: "
                    f"hidden must be a multiple of heads, or give head_dim"
                )
            settle("head_dim", self.hidden // self.heads)
        if self.mlp is None:
            settle("mlp", 4 * self.hidden)
        if self.embedding_width is None:
            settle("embedding_width", self.hidden)
        for name in ("kv_heads", "head_dim", "mlp", "embedding_width"):
            settle(name, whole(name, getattr(self, name), most=hf_config.LARGEST[name]))
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads do not share {self.kv_heads} key-value heads evenly: "
                f"heads must be a multiple of kv_heads"
            )
        for name, like in (
            ("attention_bias", "bias"),
            ("output_bias", "attention_bias"),
            ("mlp_bias", "bias"),
        ):
            if getattr(self, name) is None:
                settle(name, getattr(self, like))
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is {shown(getattr(self, name))}: it must be True or False")
        for name, choice in (("norm", Norm), ("qk_norm", QueryNorm)):
            try:
                settle(name, choice(getattr(self, name)))
            except ValueError:
                raise ValueError(unknown(name, getattr(self, name), list(choice))) from None
        if self.experts is not None:
            beyond = [layer for layer in self.experts.layers or () if layer >= self.layers]
            if beyond:
                raise ValueError(
                    f"experts layers holds {beyond[0]}: layers count from 0 to {self.layers - 1}"
                )

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
    def sparse_layers(self) -> tuple[int, ...]:
        """Blocks that have experts, counted from 0."""
        if self.experts is None:
            return ()
        return tuple(range(self.layers)) if self.experts.layers is None else self.experts.layers

    @property
    def parameters_per_layer(self) -> dict[str, int]:
        """Parameters of the largest block: attention, mlp, norm."""
        blocks = []
        for weights, times in self._weights():
            if times and weights and weights[0].part == "attention":
                parts = dict.fromkeys(("attention", "mlp", "norm"), 0)
                for one in weights:
                    parts[one.part] += one.held()
                blocks.append(parts)
        return max(blocks, key=lambda parts: sum(parts.values()))

    @property
    def parameter_groups(self) -> dict[str, int]:
        """Parameters by part; a tied head counts once, as embedding.

        Example:
            >>> Model(layers=2, hidden=8, heads=2, vocabulary=10).parameter_groups
            {'embedding': 80, 'position': 0, 'attention': 576, 'mlp': 1104, 'norm': 80, 'head': 0, 'other': 0}
        """
        groups = dict.fromkeys(GROUPS, 0)
        for weights, times in self._weights():
            for one in weights:
                groups[one.part] += times * one.held()
        return groups

    @property
    def parameters(self) -> int:
        """All parameters, a tied head counted once."""
        return sum(self.parameter_groups.values())

    @property
    def active_parameters(self) -> int:
        """Parameters that one token meets: of the routed experts, only those it is sent to.

        Example:
            >>> f"{Model.preset('mixtral-8x7b').active_parameters:,}"
            '12,879,925,248'
        """
        return sum(times * one.used for weights, times in self._weights() for one in weights)

    def flops(
        self, tokens: int, *, sequence: int = 2048, causal: bool = False, recompute: str = "none"
    ) -> Flops:
        """Floating-point operations of one step's forward and backward.

        A token costs 2 operations for each parameter of a matrix that it is multiplied with
        (embeddings are looked up), and 4 × sequence × head width × heads a block for attention's
        scores and weighted sums. Backward costs twice as much. Norms, softmax and other work
        beside matrices, some thousandths of this, are left out.

        Args:
            tokens: examples × sequence.
            sequence: tokens that attention looks over.
            causal: count only the half of the scores that a causal mask leaves.
            recompute: "selective" does attention's scores again in backward, "full" all blocks.

        Returns:
            Flops: `.forward`, `.backward`, `.recompute`, `.total`, and `.model`, without recompute.

        Raises:
            ValueError: a number is not a whole number of at least 1, or recompute is unknown.

        Example:
            >>> gpt = Model(layers=96, hidden=12288, heads=96, vocabulary=51200)
            >>> f"{gpt.flops(64 * 2048).total:.4g}"
            '1.411e+17'

        Source: Narayanan et al. 2021, section 5.1 (with full recompute); Korthikanti et al. 2022,
        appendix A: 72 B l s h² (1 + s/6h + V/12hl).
        """
        return flops(self, tokens, sequence=sequence, causal=causal, recompute=recompute)

    def _weights(self) -> Iterator[tuple[tuple[Weight, ...], int]]:
        """All weights, a tied head once, and how many times each group of them is there."""
        sparse = len(self.sparse_layers)
        yield layer_weights(self, sparse=False), self.layers - sparse
        if sparse:
            yield layer_weights(self, sparse=True), sparse
        yield first_weights(self), 1
        yield tuple(one for one in last_weights(self) if not (self.tied and one.name == "head")), 1


_FLAGS = (
    "gated",
    "tied",
    "bias",
    "attention_bias",
    "output_bias",
    "mlp_bias",
    "head_bias",
    "parallel",
    "final_norm",
    "embedding_norm",
    "dropout",
)
