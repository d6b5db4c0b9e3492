"""Models that papers and courses use, as arguments for `Model(...)`.

Sources: GPT-2 and GPT-3, Radford et al. 2019 and Brown et al. 2020 (table 2.1); Llama 2, Touvron et
al. 2023; Llama 3, Dubey et al. 2024 (table 3) and the models' own config.json; Mistral 7B, Jiang et
al. 2023; TinyLlama, Zhang et al. 2024.
"""

from typing import Any


def _gpt(layers: int, hidden: int, heads: int, positions: int) -> dict[str, Any]:
    return {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "vocabulary": 50257,
        "positions": positions,
    }


def _llama(
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    mlp: int,
    vocabulary: int,
    tied: bool = False,
) -> dict[str, Any]:
    return {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "mlp": mlp,
        "gated": True,
        "vocabulary": vocabulary,
        "tied": tied,
        "bias": False,
        "norm": "rms",
        "dropout": False,
    }


MODELS: dict[str, dict[str, Any]] = {
    "gpt2": _gpt(12, 768, 12, 1024),
    "gpt2-medium": _gpt(24, 1024, 16, 1024),
    "gpt2-large": _gpt(36, 1280, 20, 1024),
    "gpt2-xl": _gpt(48, 1600, 25, 1024),
    "gpt3-175b": _gpt(96, 12288, 96, 2048),
    "tinyllama-1.1b": _llama(22, 2048, 32, 4, 5632, 32000),
    "mistral-7b": _llama(32, 4096, 32, 8, 14336, 32000),
    "llama-2-7b": _llama(32, 4096, 32, 32, 11008, 32000),
    "llama-2-13b": _llama(40, 5120, 40, 40, 13824, 32000),
    "llama-2-70b": _llama(80, 8192, 64, 8, 28672, 32000),
    "llama-3.2-1b": _llama(16, 2048, 32, 8, 8192, 128256, tied=True),
    "llama-3.2-3b": _llama(28, 3072, 24, 8, 8192, 128256, tied=True),
    "llama-3-8b": _llama(32, 4096, 32, 8, 14336, 128256),
    "llama-3-70b": _llama(80, 8192, 64, 8, 28672, 128256),
    "llama-3.1-405b": _llama(126, 16384, 128, 8, 53248, 128256),
}
