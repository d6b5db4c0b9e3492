"""Models that papers and courses use, as arguments for `Model(...)`.

Sources: GPT-2 and GPT-3, Radford et al. 2019 and Brown et al. 2020 (table 2.1, widths as printed);
Megatron, Korthikanti et al. 2022 (table 3); OPT, Zhang et al. 2022; BLOOM, Le Scao et al. 2022; Llama 2,
Touvron et al. 2023; Llama 3, Dubey et al. 2024 (table 3) and the models' own config.json; Mistral 7B
and Mixtral, Jiang et al. 2023 and 2024; TinyLlama, Zhang et al. 2024; DeepSeek, DeepSeek-AI 2024 (V2,
V3 without its layer for further tokens).
"""

from typing import Any

from parakit.blocks import Experts, Latent


def _gpt(
    layers: int, hidden: int, heads: int, positions: int, vocabulary: int = 50257, **more: Any
) -> dict[str, Any]:
    return {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "vocabulary": vocabulary,
        "positions": positions,
        **more,
    }


def _megatron(layers: int, hidden: int, heads: int) -> dict[str, Any]:
    return _gpt(layers, hidden, heads, 2048, 51200)


def _llama(
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    mlp: int,
    vocabulary: int,
    tied: bool = False,
    **more: Any,
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
        **more,
    }


def _deepseek(
    layers: int,
    hidden: int,
    heads: int,
    mlp: int,
    vocabulary: int,
    *,
    latent: Latent,
    experts: tuple[int, int, int, int],
    dense: int,
) -> dict[str, Any]:
    """`experts`: how many, how many a token, width of one, how many shared; first `dense` layers."""
    count, per_token, width, shared = experts
    return _llama(
        layers,
        hidden,
        heads,
        heads,
        mlp,
        vocabulary,
        latent=latent,
        experts=Experts(
            count=count,
            per_token=per_token,
            mlp=width,
            shared=shared * width,
            layers=tuple(range(dense, layers)),
        ),
    )


MODELS: dict[str, dict[str, Any]] = {
    "gpt2": _gpt(12, 768, 12, 1024),
    "gpt2-medium": _gpt(24, 1024, 16, 1024),
    "gpt2-large": _gpt(36, 1280, 20, 1024),
    "gpt2-xl": _gpt(48, 1600, 25, 1024),
    "gpt3-125m": _gpt(12, 768, 12, 2048),
    "gpt3-350m": _gpt(24, 1024, 16, 2048),
    "gpt3-760m": _gpt(24, 1536, 16, 2048),
    "gpt3-1.3b": _gpt(24, 2048, 16, 2048),  # printed with 24 heads of 128: that would be 1.5B
    "gpt3-2.7b": _gpt(32, 2560, 32, 2048),
    "gpt3-6.7b": _gpt(32, 4096, 32, 2048),
    "gpt3-13b": _gpt(40, 5140, 40, 2048, head_dim=128),
    "gpt3-175b": _gpt(96, 12288, 96, 2048),
    "megatron-22b": _megatron(48, 6144, 64),
    "megatron-175b": _megatron(96, 12288, 96),
    "megatron-530b": _megatron(105, 20480, 128),
    "megatron-1t": _megatron(128, 25600, 160),
    "opt-175b": _gpt(96, 12288, 96, 2050, 50272),
    "bloom-176b": _gpt(70, 14336, 112, 0, 250880, embedding_norm=True, dropout=False),
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
    "mixtral-8x7b": _llama(32, 4096, 32, 8, 14336, 32000, experts=Experts(count=8, per_token=2)),
    "mixtral-8x22b": _llama(56, 6144, 48, 8, 16384, 32768, experts=Experts(count=8, per_token=2)),
    "deepseek-v2-lite": _deepseek(
        27, 2048, 16, 10944, 102400, latent=Latent(rank=512), experts=(64, 6, 1408, 2), dense=1
    ),
    "deepseek-v3": _deepseek(
        61,
        7168,
        128,
        18432,
        129280,
        latent=Latent(rank=512, query_rank=1536),
        experts=(256, 8, 2048, 1),
        dense=3,
    ),
}
