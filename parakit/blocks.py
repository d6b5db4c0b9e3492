"""What a block may have beside the usual: experts in place of its mlp, and latent attention."""

from __future__ import annotations

from dataclasses import dataclass

from parakit.checks import shown, whole, whole_number_fault

LARGEST = 1_000_000  # experts or rank: past it a number is a mistake


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """A mixture of experts in place of the mlp: a router sends each token to a few of many.

    Args:
        count: routed experts of one block.
        per_token: how many of them a token goes to.
        mlp: inner width of one expert; None means the model's mlp.
        shared: inner width of the experts that every token goes to, together; 0 for none.
        shared_gate: a gate scales the shared experts' result.
        layers: which blocks have experts, counted from 0; None means all.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> Experts(count=8, per_token=9)
        Traceback (most recent call last):
        ValueError: per_token is 9: it must be a whole number from 1 to 8, the experts there are

    Source: Shazeer et al. 2017; Jiang et al. 2024 (Mixtral); DeepSeek-AI 2024 for shared experts.
    """

    count: int
    per_token: int
    mlp: int | None = None
    shared: int = 0
    shared_gate: bool = False
    layers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        whole("experts count", self.count, most=LARGEST)
        if fault := whole_number_fault(self.per_token, most=self.count):
            raise ValueError(f"per_token is {shown(self.per_token)}: it {fault}, the experts there are")
        if self.mlp is not None:
            whole("experts mlp", self.mlp, most=100 * LARGEST)
        whole("experts shared", self.shared, least=0, most=100 * LARGEST)
        if not isinstance(self.shared_gate, bool):
            raise ValueError(f"shared_gate is {shown(self.shared_gate)}: it must be True or False")
        if self.layers is not None:
            if not isinstance(self.layers, (tuple, list)):
                raise ValueError(
                    f"experts layers is {shown(self.layers)}: it must be a tuple of layers, or None"
                )
            for layer in self.layers:
                whole("an entry of experts layers", layer, least=0)
            object.__setattr__(self, "layers", tuple(sorted(set(self.layers))))


@dataclass(frozen=True, kw_only=True, slots=True)
class Latent:
    """Multi-head latent attention: keys and values are unpacked from a narrow common vector.

    Args:
        rank: width of the key-value latent.
        query_rank: width of the query latent; None means queries come straight from the stream.
        plain: width of a head's query and key without rotary positions.
        rotary: width of its part with rotary positions; keys of all heads share theirs.
        value: width of a head's value.

    Raises:
        ValueError: a width is not a whole number in its range.

    Source: DeepSeek-AI 2024 (DeepSeek-V2), section 2.1.
    """

    rank: int
    query_rank: int | None = None
    plain: int = 128
    rotary: int = 64
    value: int = 128

    def __post_init__(self) -> None:
        for name in ("rank", "plain", "rotary", "value"):
            whole(f"latent {name}", getattr(self, name), most=LARGEST)
        if self.query_rank is not None:
            whole("latent query_rank", self.query_rank, most=LARGEST)
