"""What the config fields of each Hugging Face model type mean, as arguments for `Model(...)`.

Field names, defaults and which layers have biases and norms are those of the configuration and model
classes of transformers 5.24; tests/data/architectures.json holds what those classes count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parakit.blocks import Experts, Latent
from parakit.hf_fields import Fields

_Arguments = dict[str, Any]


def _block(
    fields: Fields,
    *,
    layers: int,
    hidden: int,
    heads: int,
    vocabulary: int,
    layers_key: str = "num_hidden_layers",
    hidden_key: str = "hidden_size",
    heads_key: str = "num_attention_heads",
) -> _Arguments:
    """Sizes that every type has; the numbers are the class's defaults."""
    return {
        "layers": fields.size(layers_key, "layers", layers),
        "hidden": fields.size(hidden_key, "hidden", hidden),
        "heads": fields.size(heads_key, "heads", heads),
        "vocabulary": fields.size("vocab_size", "vocabulary", vocabulary),
    }


def _checked(
    fields: Fields,
    arguments: _Arguments,
    *,
    heads_key: str = "num_attention_heads",
    hidden_key: str = "hidden_size",
) -> _Arguments:
    """Adds the faults that sizes have together."""
    hidden, heads = arguments["hidden"], arguments["heads"]
    kv_heads = arguments.get("kv_heads") or heads
    if fields.sound and not arguments.get("head_dim") and not arguments.get("latent") and hidden % heads:
        fields.fault(
            f"{hidden_key} {hidden} does not split over {heads_key} {heads}: "
            f"it must be a multiple, or head_dim must be given"
        )
    if fields.sound and not arguments.get("latent") and heads % kv_heads:
        fields.fault(
            f"{heads_key} {heads} is not a multiple of num_key_value_heads {kv_heads}: "
            f"every key-value head serves equally many heads"
        )
    return arguments


def _gated(
    fields: Fields,
    *,
    layers: int = 32,
    hidden: int = 4096,
    heads: int = 32,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    mlp: int = 11008,
    vocabulary: int = 32000,
    tied: bool = False,
    biased: bool = True,
    **fixed: Any,
) -> _Arguments:
    """Llama's block and its relatives: RMSNorm, a gated mlp, grouped-query attention.

    Numbers are the class's defaults; kv_heads None means as many as heads. `biased` says that the
    type heeds attention_bias; `fixed` is what the type is, whatever the file says.
    """
    sizes = _block(fields, layers=layers, hidden=hidden, heads=heads, vocabulary=vocabulary)
    arguments = {
        **sizes,
        "kv_heads": fields.optional_size("num_key_value_heads", "kv_heads", kv_heads),
        "head_dim": fields.optional_size("head_dim", "head_dim", head_dim),
        "mlp": fields.size("intermediate_size", "mlp", mlp),
        "gated": True,
        "tied": fields.tied(tied),
        "bias": False,
        "attention_bias": fields.flag("attention_bias", False) if biased else False,
        "norm": "rms",
        "dropout": fields.dropout("attention_dropout"),
        **fixed,
    }
    return _checked(fields, arguments)


def _llama(fields: Fields) -> _Arguments:
    return _gated(fields, mlp_bias=fields.flag("mlp_bias", False))


def _granite(fields: Fields) -> _Arguments:
    return _gated(fields, mlp_bias=fields.flag("mlp_bias", False))


def _smollm3(fields: Fields) -> _Arguments:
    return _gated(
        fields,
        layers=36,
        hidden=2048,
        heads=16,
        kv_heads=4,
        vocabulary=128256,
        tied=True,
        mlp_bias=fields.flag("mlp_bias", False),
    )


def _mistral(fields: Fields) -> _Arguments:
    return _gated(fields, kv_heads=8, mlp=14336, biased=False)


def _mixtral(fields: Fields) -> _Arguments:
    arguments = _gated(fields, kv_heads=8, mlp=14336, biased=False)
    return _with_experts(
        fields,
        arguments,
        count=fields.size("num_local_experts num_experts", "experts", 8),
        per_token=fields.size("num_experts_per_tok", "per_token", 2),
    )


def _qwen2(fields: Fields) -> _Arguments:
    return _gated(
        fields,
        kv_heads=32,
        mlp=22016,
        vocabulary=151936,
        biased=False,
        attention_bias=True,
        output_bias=False,
    )


def _qwen3(fields: Fields) -> _Arguments:
    return _gated(fields, kv_heads=32, head_dim=128, mlp=22016, vocabulary=151936, qk_norm="head")


def _qwen2_moe(fields: Fields) -> _Arguments:
    arguments = _gated(
        fields,
        layers=24,
        hidden=2048,
        heads=16,
        kv_heads=16,
        mlp=5632,
        vocabulary=151936,
        biased=False,
        attention_bias=fields.flag("qkv_bias", True),
        output_bias=False,
    )
    return _qwen_experts(
        fields,
        arguments,
        count=fields.size("num_experts", "experts", 60, least=0),
        per_token=fields.size("num_experts_per_tok", "per_token", 4),
        mlp=fields.size("moe_intermediate_size", "mlp", 1408),
        shared=fields.size("shared_expert_intermediate_size", "mlp", 5632),
        shared_gate=True,
    )


def _qwen3_moe(fields: Fields) -> _Arguments:
    arguments = _gated(
        fields,
        layers=24,
        hidden=2048,
        heads=32,
        kv_heads=4,
        mlp=6144,
        vocabulary=151936,
        qk_norm="head",
    )
    return _qwen_experts(
        fields,
        arguments,
        count=fields.size("num_experts num_local_experts", "experts", 128, least=0),
        per_token=fields.size("num_experts_per_tok", "per_token", 8),
        mlp=fields.size("moe_intermediate_size", "mlp", 768),
    )


def _olmoe(fields: Fields) -> _Arguments:
    arguments = _gated(fields, layers=16, hidden=2048, heads=16, mlp=2048, vocabulary=50304, qk_norm="width")
    return _with_experts(
        fields,
        arguments,
        count=fields.size("num_experts num_local_experts", "experts", 64),
        per_token=fields.size("num_experts_per_tok", "per_token", 8),
    )


def _gemma(fields: Fields) -> _Arguments:
    return _gated(
        fields,
        layers=28,
        hidden=3072,
        heads=16,
        kv_heads=16,
        head_dim=256,
        mlp=24576,
        vocabulary=256000,
        tied=True,
    )


def _gemma2(fields: Fields) -> _Arguments:
    return _gated(
        fields,
        layers=26,
        hidden=2304,
        heads=8,
        kv_heads=4,
        head_dim=256,
        mlp=9216,
        vocabulary=256000,
        tied=True,
        norms=4,
    )


def _gemma3(fields: Fields) -> _Arguments:
    return _gated(
        fields,
        layers=26,
        hidden=2304,
        heads=8,
        kv_heads=4,
        head_dim=256,
        mlp=9216,
        vocabulary=262208,
        tied=True,
        norms=4,
        qk_norm="head",
    )


def _phi3(fields: Fields) -> _Arguments:
    dropout = fields.dropout("resid_pdrop", "embd_pdrop", "attention_dropout")
    return _gated(fields, hidden=3072, mlp=8192, vocabulary=32064, biased=False, dropout=dropout)


def _olmo(fields: Fields) -> _Arguments:
    return _gated(fields, vocabulary=50304, norm="plain")


def _olmo2(fields: Fields) -> _Arguments:
    return _gated(fields, vocabulary=50304, qk_norm="width")


def _stablelm(fields: Fields) -> _Arguments:
    if fields.flag("qk_layernorm", False):
        fields.fault("qk_layernorm is true: parakit does not count a norm of its own for each head")
    parallel = fields.flag("use_parallel_residual", False)
    return _gated(
        fields,
        hidden=2560,
        kv_heads=32,
        mlp=6912,
        vocabulary=50304,
        biased=False,
        attention_bias=fields.flag("use_qkv_bias", False),
        output_bias=False,
        norm="layer",
        norms=1 if parallel else 2,
        parallel=parallel,
        dropout=fields.dropout("hidden_dropout", "attention_dropout"),
    )


def _latent(fields: Fields, *, layers: int, hidden: int, heads: int, mlp: int, vocabulary: int) -> _Arguments:
    """DeepSeek's block before its experts are added."""
    return {
        **_block(fields, layers=layers, hidden=hidden, heads=heads, vocabulary=vocabulary),
        "mlp": fields.size("intermediate_size", "mlp", mlp),
        "gated": True,
        "tied": fields.tied(False),
        "bias": False,
        "attention_bias": fields.flag("attention_bias", False),
        "norm": "rms",
        "dropout": fields.dropout("attention_dropout"),
        "latent": Latent(
            rank=fields.size("kv_lora_rank", "rank", 512),
            query_rank=fields.optional_size("q_lora_rank", "rank", 1536),
            plain=fields.size("qk_nope_head_dim", "head_dim", 128),
            rotary=fields.size("qk_rope_head_dim", "head_dim", 64),
            value=fields.size("v_head_dim", "head_dim", 128),
        ),
    }


def _deepseek_v2(fields: Fields) -> _Arguments:
    arguments = _latent(fields, layers=32, hidden=4096, heads=32, mlp=11008, vocabulary=102400)
    arguments["mlp_bias"] = fields.flag("mlp_bias", False)
    if arguments["mlp_bias"]:
        fields.fault("mlp_bias is true: parakit counts DeepSeek's experts without biases")
    return _deepseek_experts(fields, arguments, count=64, per_token=None, mlp=1407, shared=2, dense=0)


def _deepseek_v3(fields: Fields) -> _Arguments:
    arguments = _latent(fields, layers=61, hidden=7168, heads=128, mlp=18432, vocabulary=129280)
    return _deepseek_experts(fields, arguments, count=256, per_token=8, mlp=2048, shared=1, dense=3)


def _deepseek_experts(
    fields: Fields,
    arguments: _Arguments,
    *,
    count: int,
    per_token: int | None,
    mlp: int,
    shared: int,
    dense: int,
) -> _Arguments:
    width = fields.size("moe_intermediate_size", "mlp", mlp)
    together = fields.optional_size("n_shared_experts", "experts", shared) or 0
    first = fields.size("first_k_dense_replace", "layers", dense, least=0)
    routed = fields.size("n_routed_experts num_experts num_local_experts", "experts", count)
    each = fields.size("num_experts_per_tok", "per_token", per_token)
    if first >= arguments["layers"]:
        return arguments
    return _with_experts(
        fields,
        arguments,
        count=routed,
        per_token=each,
        mlp=width,
        shared=together * width,
        layers=tuple(range(first, arguments["layers"])),
    )


def _qwen_experts(fields: Fields, arguments: _Arguments, *, count: int, **given: Any) -> _Arguments:
    """Experts in every so-many-th layer, but for those listed as dense."""
    every = fields.size("decoder_sparse_step", "layers", 1)
    dense = set(fields.whole_numbers("mlp_only_layers"))
    layers = tuple(i for i in range(every - 1, arguments["layers"], every) if i not in dense)
    if not count or not layers:
        return arguments
    return _with_experts(fields, arguments, count=count, layers=layers, **given)


def _with_experts(
    fields: Fields, arguments: _Arguments, *, count: int, per_token: int, **given: Any
) -> _Arguments:
    if per_token > count:
        fields.fault(f"num_experts_per_tok {per_token} is more than the {count} experts there are")
    if fields.sound:
        arguments["experts"] = Experts(count=count, per_token=per_token, **given)
    return arguments


_GPT_KEYS = {
    "layers_key": "n_layer num_hidden_layers",
    "hidden_key": "n_embd hidden_size",
    "heads_key": "n_head num_attention_heads",
}


def _gpt2(fields: Fields) -> _Arguments:
    if fields.flag("add_cross_attention", False):
        fields.fault("add_cross_attention is true: parakit describes decoders without an encoder")
    sizes = _block(fields, layers=12, hidden=768, heads=12, vocabulary=50257, **_GPT_KEYS)
    arguments = {
        **sizes,
        "mlp": fields.optional_size("n_inner", "mlp") or 4 * sizes["hidden"],
        "positions": fields.size("n_positions max_position_embeddings", "positions", 1024),
        "tied": fields.tied(True),
        "dropout": fields.dropout("resid_pdrop", "embd_pdrop", "attn_pdrop", default=0.1),
    }
    return _checked(fields, arguments, heads_key="n_head", hidden_key="n_embd")


def _gpt_bigcode(fields: Fields) -> _Arguments:
    return {**_gpt2(fields), "kv_heads": 1 if fields.flag("multi_query", True) else None}


def _gptj(fields: Fields) -> _Arguments:
    sizes = _block(fields, layers=28, hidden=4096, heads=16, vocabulary=50400, **_GPT_KEYS)
    arguments = {
        **sizes,
        "mlp": fields.optional_size("n_inner", "mlp") or 4 * sizes["hidden"],
        "tied": fields.tied(False),
        "attention_bias": False,
        "head_bias": True,
        "norms": 1,
        "parallel": True,
        "dropout": fields.dropout("resid_pdrop", "embd_pdrop", "attn_pdrop"),
    }
    return _checked(fields, arguments, heads_key="n_head", hidden_key="n_embd")


def _gpt_neo(fields: Fields) -> _Arguments:
    sizes = _block(
        fields,
        layers=24,
        hidden=2048,
        heads=16,
        vocabulary=50257,
        layers_key="num_layers num_hidden_layers",
        heads_key="num_heads num_attention_heads",
    )
    arguments = {
        **sizes,
        "mlp": fields.optional_size("intermediate_size", "mlp") or 4 * sizes["hidden"],
        "positions": fields.size("max_position_embeddings", "positions", 2048),
        "tied": fields.tied(True),
        "attention_bias": False,
        "output_bias": True,
        "dropout": fields.dropout("resid_dropout", "embed_dropout", "attention_dropout"),
    }
    return _checked(fields, arguments, heads_key="num_heads")


def _gpt_neox(fields: Fields) -> _Arguments:
    arguments = {
        **_block(fields, layers=44, hidden=6144, heads=64, vocabulary=50432),
        "mlp": fields.size("intermediate_size", "mlp", 24576),
        "tied": fields.tied(False),
        "attention_bias": fields.flag("attention_bias", True),
        "parallel": fields.flag("use_parallel_residual", True),
        "dropout": fields.dropout("hidden_dropout", "attention_dropout"),
    }
    return _checked(fields, arguments)


def _opt(fields: Fields) -> _Arguments:
    before = fields.flag("do_layer_norm_before", True)
    bias = fields.flag("enable_bias", True)
    sizes = _block(fields, layers=12, hidden=768, heads=12, vocabulary=50272)
    arguments = {
        **sizes,
        "mlp": fields.size("ffn_dim", "mlp", 3072),
        # Its table has two rows more than positions, for padding.
        "positions": 2 + fields.size("max_position_embeddings", "positions", 2048),
        "embedding_width": fields.optional_size("word_embed_proj_dim", "embedding_width") or sizes["hidden"],
        "tied": fields.tied(True),
        "bias": bias,
        "norm": "layer" if fields.flag("layer_norm_elementwise_affine", True) else "plain",
        "final_norm": before and not fields.flag("_remove_final_layer_norm", False),
        "dropout": fields.dropout("dropout", default=0.1) | fields.dropout("attention_dropout"),
    }
    return _checked(fields, arguments)


def _bloom(fields: Fields) -> _Arguments:
    arguments = {
        **_block(
            fields,
            layers=2,
            hidden=64,
            heads=8,
            vocabulary=250880,
            layers_key="n_layer num_hidden_layers",
            hidden_key="n_embed hidden_size",
            heads_key="n_head num_attention_heads",
        ),
        "tied": fields.tied(True),
        "embedding_norm": True,
        "dropout": fields.dropout("hidden_dropout", "attention_dropout"),
    }
    return _checked(fields, arguments, heads_key="n_head")


def _falcon(fields: Fields) -> _Arguments:
    sizes = _block(
        fields,
        layers=32,
        hidden=4544,
        heads=71,
        vocabulary=65024,
        layers_key="num_hidden_layers n_layer",
        hidden_key="n_embed hidden_size",
        heads_key="num_attention_heads n_head",
    )
    new = fields.flag("new_decoder_architecture", False)
    kv_heads = fields.optional_size("num_kv_heads n_head_kv", "kv_heads") or sizes["heads"]
    if not new:
        kv_heads = 1 if fields.flag("multi_query", True) else sizes["heads"]
    parallel = fields.flag("parallel_attn", True)
    norms = fields.optional_size("num_ln_in_parallel_attn", "layers") or (2 if new else 1)
    arguments = {
        **sizes,
        "kv_heads": kv_heads,
        "mlp": fields.optional_size("ffn_hidden_size", "mlp") or 4 * sizes["hidden"],
        "tied": fields.tied(True),
        "bias": fields.flag("bias", False),
        "norms": 2 if not parallel or norms == 2 else 1,
        "parallel": parallel or new,
        "dropout": fields.dropout("hidden_dropout", "attention_dropout"),
    }
    return _checked(fields, arguments)


def _phi(fields: Fields) -> _Arguments:
    if fields.flag("qk_layernorm", False):
        fields.fault("qk_layernorm is true: parakit does not count LayerNorms of single heads")
    arguments = {
        **_block(fields, layers=24, hidden=2048, heads=32, vocabulary=51200),
        "kv_heads": fields.optional_size("num_key_value_heads", "kv_heads"),
        "mlp": fields.size("intermediate_size", "mlp", 8192),
        "tied": fields.tied(False),
        "head_bias": True,
        "norms": 1,
        "parallel": True,
        "dropout": fields.dropout("resid_pdrop", "embd_pdrop", "attention_dropout"),
    }
    return _checked(fields, arguments)


def _starcoder2(fields: Fields) -> _Arguments:
    arguments = {
        **_block(fields, layers=30, hidden=3072, heads=24, vocabulary=49152),
        "kv_heads": fields.optional_size("num_key_value_heads", "kv_heads", 2),
        "mlp": fields.size("intermediate_size", "mlp", 12288),
        "tied": fields.tied(True),
        "bias": fields.flag("use_bias", True),
        "dropout": fields.dropout("residual_dropout", "embedding_dropout", "attention_dropout"),
    }
    return _checked(fields, arguments)


READERS: dict[str, Callable[[Fields], _Arguments]] = {
    "llama": _llama,
    "mistral": _mistral,
    "mixtral": _mixtral,
    "qwen2": _qwen2,
    "qwen2_moe": _qwen2_moe,
    "qwen3": _qwen3,
    "qwen3_moe": _qwen3_moe,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "phi": _phi,
    "phi3": _phi3,
    "gpt2": _gpt2,
    "gpt_neo": _gpt_neo,
    "gptj": _gptj,
    "gpt_neox": _gpt_neox,
    "gpt_bigcode": _gpt_bigcode,
    "opt": _opt,
    "bloom": _bloom,
    "falcon": _falcon,
    "olmo": _olmo,
    "olmo2": _olmo2,
    "olmoe": _olmoe,
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek_v3,
    "granite": _granite,
    "smollm3": _smollm3,
    "stablelm": _stablelm,
    "starcoder2": _starcoder2,
}
