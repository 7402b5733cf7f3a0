"""The families of language models we can express: what their configurations call things, and how they are built.

One row per family, after the public model code of Hugging Face transformers (`models/<model_type>/modeling_*.py`).
Composite keys are read in the order given; the first one present wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

Keys = dict[str, tuple[str, ...]]

_USUAL: Final[Keys] = {
    "layers": ("num_hidden_layers",),
    "hidden": ("hidden_size",),
    "heads": ("num_attention_heads",),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "ffn": ("intermediate_size",),
    "vocab": ("vocab_size",),
    "max_context": ("max_position_embeddings",),
    "activation": ("hidden_act",),
    "norm_epsilon": ("rms_norm_eps",),
}
_OPENAI: Final[Keys] = {
    "layers": ("n_layer", "num_hidden_layers"),
    "hidden": ("n_embd", "hidden_size"),
    "heads": ("n_head", "num_attention_heads"),
    "kv_heads": (),
    "head_dim": (),
    "ffn": ("n_inner",),
    "vocab": ("vocab_size",),
    "max_context": ("n_positions", "n_ctx", "max_position_embeddings"),
    "activation": ("activation_function",),
    "norm_epsilon": ("layer_norm_epsilon",),
}


@dataclass(frozen=True, slots=True)
class Family:
    """How a family is built, as far as its configurations do not say.

    attention_bias, mlp_bias, tied: the value where a configuration is silent; fixed: these fields its configurations
    cannot change. output_bias: the last product of attention has a bias where the first ones have. norms: per layer.
    partial_rotary: hundredths of a head that turn by default. interleaved: neighbours turn, not the two halves.
    """

    model_type: str
    architecture: str
    keys: Keys = field(default_factory=lambda: _USUAL)
    norm: str = "rms_norm"
    norm_epsilon: str = "0.000001"
    activation: str = "silu"
    gated: bool = True
    position: str = "rope"
    rope_theta: int = 10_000
    attention_bias: bool = False
    mlp_bias: bool = False
    tied: bool = False
    fixed: tuple[str, ...] = ("attention_bias", "mlp_bias")
    output_bias: bool = True
    norms: int = 2
    parallel: bool = False
    query_key_norm: bool = False
    head_bias: bool = False
    scaled_embeddings: bool = False
    interleaved: bool = False
    partial_rotary: int = 100
    expert_keys: tuple[str, str] | None = None


FAMILIES: Final[dict[str, Family]] = {
    "LLAMA": Family("llama", "LlamaForCausalLM", fixed=()),
    "MISTRAL": Family("mistral", "MistralForCausalLM"),
    "MIXTRAL": Family(
        "mixtral",
        "MixtralForCausalLM",
        norm_epsilon="0.00001",
        rope_theta=1_000_000,
        expert_keys=("num_local_experts", "num_experts_per_tok"),
    ),
    "QWEN2": Family("qwen2", "Qwen2ForCausalLM", attention_bias=True, output_bias=False),
    "QWEN3": Family("qwen3", "Qwen3ForCausalLM", fixed=("mlp_bias",), query_key_norm=True),
    "QWEN3_MOE": Family(
        "qwen3_moe",
        "Qwen3MoeForCausalLM",
        keys=_USUAL | {"ffn": ("moe_intermediate_size",)},
        fixed=("mlp_bias",),
        query_key_norm=True,
        expert_keys=("num_experts", "num_experts_per_tok"),
    ),
    "GEMMA": Family(
        "gemma",
        "GemmaForCausalLM",
        keys=_USUAL | {"activation": ("hidden_activation", "hidden_act")},
        fixed=("mlp_bias",),
        activation="gelu_pytorch_tanh",
        tied=True,
        scaled_embeddings=True,
    ),
    "PHI": Family(
        "phi",
        "PhiForCausalLM",
        keys=_USUAL | {"norm_epsilon": ("layer_norm_eps",)},
        norm="layer_norm",
        norm_epsilon="0.00001",
        activation="gelu_new",
        gated=False,
        attention_bias=True,
        mlp_bias=True,
        norms=1,
        parallel=True,
        head_bias=True,
        partial_rotary=50,
    ),
    "PHI3": Family("phi3", "Phi3ForCausalLM", norm_epsilon="0.00001"),
    "GPT2": Family(
        "gpt2",
        "GPT2LMHeadModel",
        keys=_OPENAI,
        norm="layer_norm",
        norm_epsilon="0.00001",
        activation="gelu_new",
        gated=False,
        position="learned",
        rope_theta=0,
        attention_bias=True,
        mlp_bias=True,
        tied=True,
    ),
    "GPTJ": Family(
        "gptj",
        "GPTJForCausalLM",
        keys=_OPENAI,
        norm="layer_norm",
        norm_epsilon="0.00001",
        activation="gelu_new",
        gated=False,
        mlp_bias=True,
        norms=1,
        parallel=True,
        head_bias=True,
        interleaved=True,
    ),
    "GPT_NEOX": Family(
        "gpt_neox",
        "GPTNeoXForCausalLM",
        keys=_USUAL | {"norm_epsilon": ("layer_norm_eps",), "kv_heads": (), "head_dim": ()},
        norm="layer_norm",
        norm_epsilon="0.00001",
        activation="gelu",
        gated=False,
        attention_bias=True,
        mlp_bias=True,
        fixed=("mlp_bias",),
        parallel=True,
        partial_rotary=25,
    ),
}
# names of activations in configurations -> ours. The exact gelu counts as its tanh form (they differ by under 0.0005).
ACTIVATIONS: Final[dict[str, str]] = {
    "silu": "silu",
    "swish": "silu",
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_pytorch_tanh": "gelu",
}
# keys that stand for something we do not express, and what that is (German, for one sentence)
UNSUPPORTED: Final[tuple[tuple[str, str], ...]] = (
    ("kv_lora_rank", "die komprimierte Aufmerksamkeit (MLA)"),
    ("q_lora_rank", "die komprimierte Aufmerksamkeit (MLA)"),
    ("n_shared_experts", "gemeinsame Experten"),
    ("shared_expert_intermediate_size", "gemeinsame Experten"),
    ("shared_intermediate_size", "gemeinsame Experten"),
    ("first_k_dense_replace", "eine Mischung aus dichten Schichten und Expertenschichten"),
    ("mlp_only_layers", "eine Mischung aus dichten Schichten und Expertenschichten"),
    ("attn_logit_softcapping", "begrenzte Aufmerksamkeitswerte (Softcapping)"),
    ("final_logit_softcapping", "begrenzte Ausgabewerte (Softcapping)"),
    ("sliding_window_pattern", "wechselnde Aufmerksamkeitsfenster"),
    ("alibi", "lineare Positionsabstände (ALiBi)"),
    ("is_encoder_decoder", "ein Encoder vor dem Decoder"),
    ("add_cross_attention", "Aufmerksamkeit auf einen Encoder"),
    ("scale_attn_by_inverse_layer_idx", "eine je Schicht andere Skalierung der Aufmerksamkeit"),
    ("qk_layernorm", "eine eigene Normierung von Anfragen und Schlüsseln"),
    ("ssm_cfg", "Zustandsraum-Schichten"),
    ("quantization_config", "eine quantisierte Ablage der Gewichte"),
    ("compression_config", "eine quantisierte Ablage der Gewichte"),
)
