"""Floating-point operations of one training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parakit.checks import shown, unknown, whole
from parakit.weights import last_weights, layer_weights

if TYPE_CHECKING:
    from parakit.model import Model

RECOMPUTES = ("none", "selective", "full")


@dataclass(frozen=True, kw_only=True, slots=True)
class Flops:
    """Floating-point operations of one step, all devices together."""

    forward: int
    backward: int
    recompute: int  # forward work done again in backward

    @property
    def total(self) -> int:
        """What the devices compute."""
        return self.forward + self.backward + self.recompute

    @property
    def model(self) -> int:
        """What the model needs, recomputation left out: the numerator of MFU."""
        return self.forward + self.backward


def flops(model: Model, tokens: int, *, sequence: int, causal: bool, recompute: str) -> Flops:
    """See `Model.flops`."""
    tokens, sequence = whole("tokens", tokens), whole("sequence", sequence)
    if not isinstance(causal, bool):
        raise ValueError(f"causal is {shown(causal)}: it must be True or False")
    if recompute not in RECOMPUTES:
        raise ValueError(unknown("recompute", recompute, RECOMPUTES))
    sparse = len(model.sparse_layers)
    blocks = 2 * (
        (model.layers - sparse) * _met(layer_weights(model, sparse=False))
        + sparse * _met(layer_weights(model, sparse=True))
    )
    value = model.latent.value if model.latent else model.head_dim
    attention = 2 * sequence * model.heads * (model.head_dim + value) * model.layers
    if causal:
        attention //= 2
    forward = tokens * (blocks + attention + 2 * _met(last_weights(model)))
    again = {"none": 0, "selective": attention, "full": blocks + attention}[recompute]
    return Flops(forward=forward, backward=2 * forward, recompute=tokens * again)


def _met(weights: tuple) -> int:  # type: ignore[type-arg]
    """Parameters of the matrices that one token is multiplied with."""
    return sum(one.used for one in weights if one.multiplies)
