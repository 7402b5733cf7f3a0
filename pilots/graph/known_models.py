"""Geometries of published models, found by their name.

Sources: the `config.json` of the model cards meta-llama/Meta-Llama-3-8B, Meta-Llama-3-70B, Llama-3.1-8B, -70B, -405B,
Llama-3.3-70B-Instruct, Llama-2-7b-hf, Llama-2-13b-hf, codellama/CodeLlama-34b-hf, mistralai/Mistral-7B-v0.1,
Mixtral-8x7B-v0.1, Qwen/Qwen2-72B, EleutherAI/gpt-j-6b, openai-community/gpt2; GPT-3 111M after
cerebras/Cerebras-GPT-111M (Dey et al. 2023, table 1). Encoders (BERT, ViT) and diffusion models are not expressed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from pilots.graph.geometry import ModelConfig
from pilots.graph.ir import DType

_PARENTHESES: Final = re.compile(r"\([^()]*\)")
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9.]")
MAX_NAME: Final = 200


def _llama(name: str, sizes: tuple[int, int, int, int, int], **other: Any) -> ModelConfig:
    """Return a model of the Llama kind, 128 features per head; sizes: layers, hidden, heads, kv_heads, ffn."""
    layers, hidden, heads, kv_heads, ffn = sizes
    base = ModelConfig(
        name=name,
        family="LLAMA",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=128,
        ffn=ffn,
        vocab=128_256,
        experts=0,
        experts_per_token=0,
        gated=True,
        activation="silu",
        norm="rms_norm",
        position="rope",
        rope_theta=500_000,
        tied_embeddings=False,
        attention_bias=False,
        mlp_bias=False,
        parallel_block=False,
        max_context=131_072,
        sliding_window=0,
        dtype=DType.BFLOAT16,
        norm_epsilon="0.00001",
        rotary_dim=128,
    )
    return replace(base, **other)


def _gpt(name: str, layers: int, hidden: int, heads: int, max_context: int, **other: Any) -> ModelConfig:
    """Return a model of the GPT-2 kind: learned positions, biases everywhere, feed-forward four times as wide."""
    base = ModelConfig(
        name=name,
        family="GPT2",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        ffn=4 * hidden,
        vocab=50_257,
        experts=0,
        experts_per_token=0,
        gated=False,
        activation="gelu",
        norm="layer_norm",
        position="learned",
        rope_theta=0,
        tied_embeddings=True,
        attention_bias=True,
        mlp_bias=True,
        parallel_block=False,
        max_context=max_context,
        sliding_window=0,
        dtype=DType.FLOAT32,
        norm_epsilon="0.00001",
    )
    return replace(base, **other)


_LLAMA2: Final[dict[str, Any]] = {
    "vocab": 32_000,
    "rope_theta": 10_000,
    "max_context": 4096,
    "dtype": DType.FLOAT16,
}
_MISTRAL: Final[dict[str, Any]] = {"vocab": 32_000, "max_context": 32_768}
_70B: Final = (80, 8192, 64, 8, 28_672)

KNOWN: Final = (
    _llama("LLaMA2-7B", (32, 4096, 32, 32, 11_008), **_LLAMA2),
    _llama("LLaMA2-13B", (40, 5120, 40, 40, 13_824), **_LLAMA2),
    _llama(
        "CodeLLaMA-34B", (48, 8192, 64, 8, 22_016),
        vocab=32_000, rope_theta=1_000_000, max_context=16_384,
    ),
    _llama("LLaMA3-8B", (32, 4096, 32, 8, 14_336), max_context=8192),
    _llama("LLaMA3-70B", _70B, max_context=8192),
    _llama("Llama3.1-8B", (32, 4096, 32, 8, 14_336)),
    _llama("Llama3.1-70B", _70B),
    _llama("Llama3.1-405B", (126, 16_384, 128, 8, 53_248)),
    _llama("Llama3.3-70B", _70B),
    _llama(
        "Mistral-7B", (32, 4096, 32, 8, 14_336),
        family="MISTRAL", rope_theta=10_000, sliding_window=4096, **_MISTRAL,
    ),
    _llama(
        "Mixtral-8x7B", (32, 4096, 32, 8, 14_336),
        family="MIXTRAL", rope_theta=1_000_000, experts=8, experts_per_token=2, **_MISTRAL,
    ),
    _llama(
        "Qwen2-72B", (80, 8192, 64, 8, 29_568),
        family="QWEN2", vocab=152_064, rope_theta=1_000_000, attention_bias=True, norm_epsilon="0.000001",
    ),
    _gpt("GPT-2", 12, 768, 12, 1024),
    _gpt("GPT-3-111M", 10, 768, 12, 2048),
    _gpt(
        "GPT-J-6B", 28, 4096, 16, 2048,
        family="GPTJ", vocab=50_400, position="rope", rope_theta=10_000, rotary_dim=64,
        tied_embeddings=False, attention_bias=False, parallel_block=True, dtype=DType.FLOAT16,
    ),
)  # fmt: skip


def _plain(name: str) -> str:
    """Return a name without case, spaces, hyphens and what stands in parentheses."""
    return _NOT_PLAIN.sub("", _PARENTHESES.sub("", name.lower()))


_BY_NAME: Final = {_plain(item.name): item for item in KNOWN} | {
    _plain(f"Meta-{item.name}"): item for item in KNOWN if item.name.startswith(("Llama3", "LLaMA3"))
}


def find(name: str) -> ModelConfig | None:
    """Return the geometry published under a name such as "QWen2-72B (layers scaled)", or None."""
    return _BY_NAME.get(_plain(name)) if len(name) <= MAX_NAME else None
