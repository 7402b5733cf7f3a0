"""What the model needs of a language model: sizes, and the parameters, operations and bytes that follow from them.

Sources of sizes not in `pilots.graph.known_models`: the `config.json` of the model cards Qwen/Qwen2-7B, Qwen1.5-7B,
Deci/DeciLM-7B, BAAI/Aquila-7B, bigscience/bloom-7b1, facebook/opt-6.7b, huggyllama/llama-7b, deepseek-ai/DeepSeek-R1;
MPT after the configurations of the FSDP table's repository.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from pilots.graph.geometry import ModelConfig
from pilots.graph.known_models import KNOWN

_NOISE: Final = re.compile(r"-v0\.1$|-hf$|instruct|chat|[^a-z0-9.]")


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a decoder. kv_values: numbers the cache keeps per token and layer; experts, chosen: 0 if dense;
    shared: ffn width every token meets beside the experts; max_context: 0 = unknown.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    head_dim: int
    kv_values: float
    attention_params: float
    ffn: int
    vocab: int
    products: int = 3
    experts: int = 0
    chosen: int = 0
    shared: int = 0
    tied: bool = False
    max_context: int = 0

    @property
    def expert_params(self) -> float:
        """Parameters of one expert, or of the only feed-forward part of a layer."""
        return float(self.products) * self.hidden * self.ffn

    def layer_params(self, experts: float) -> float:
        """Parameters of a layer of which `experts` experts count; a dense layer has one."""
        count = experts if self.experts else 1.0
        return (
            self.attention_params
            + count * self.expert_params
            + float(self.products) * self.hidden * self.shared
        )

    @property
    def head_params(self) -> float:
        """Parameters of the output layer."""
        return float(self.hidden) * self.vocab

    @property
    def params(self) -> float:
        """All parameters of the products and tables."""
        tables = self.head_params * (1 if self.tied else 2)
        return self.layers * self.layer_params(self.experts) + tables

    @property
    def active_params(self) -> float:
        """Parameters of the products one token meets, output layer included."""
        return self.layers * self.layer_params(self.chosen) + self.head_params

    def touched_experts(self, tokens: float) -> float:
        """Return how many experts of a layer at least one of `tokens` independent tokens chooses."""
        if not self.experts:
            return 0.0
        missed: float = (1 - self.chosen / self.experts) ** tokens
        return self.experts * (1 - missed)


def _dense(name: str, sizes: tuple[int, int, int, float, int, int, int], **other: Any) -> Shape:
    """Return a model of sizes layers, hidden, heads, kv_heads, head_dim, ffn, vocab."""
    layers, hidden, heads, kv_heads, head_dim, ffn, vocab = sizes
    attention = hidden * head_dim * (2.0 * heads + 2.0 * kv_heads)
    return Shape(
        name, layers, hidden, heads, head_dim, 2.0 * kv_heads * head_dim, attention, ffn, vocab, **other
    )


def of_config(config: ModelConfig) -> Shape:
    """Return the shape of a configuration."""
    sizes = (
        config.layers,
        config.hidden,
        config.heads,
        config.kv_heads,
        config.head_dim,
        config.ffn,
        config.vocab,
    )
    return _dense(
        config.name,
        sizes,
        products=3 if config.gated else 2,
        experts=config.experts,
        chosen=config.experts_per_token,
        tied=config.tied_embeddings,
        max_context=config.max_context,
    )


def gpt(name: str, layers: int, hidden: int, heads: int, vocab: int) -> Shape:
    """Return a model of the GPT kind: feed-forward four times as wide, tied tables."""
    return _dense(
        name, (layers, hidden, heads, heads, hidden // heads, 4 * hidden, vocab), products=2, tied=True
    )


_MPT: Final = {
    "125m": (12, 768, 12),
    "350m": (24, 1024, 16),
    "760m": (24, 1536, 12),
    "1b": (24, 2048, 16),
    "3b": (32, 2560, 20),
    "7b": (32, 4096, 32),
    "13b": (40, 5120, 40),
    "30b": (48, 7168, 56),
    "70b": (80, 8192, 64),
}
# DeepSeek keeps one compressed vector per token (512) and one rotated key (64); 37 billion parameters are active
_DEEPSEEK: Final = Shape(
    "DeepSeek-R1", 61, 7168, 128, 192, 576.0, 187_000_000.0, 2048, 129_280,
    experts=256, chosen=8, shared=2048, max_context=163_840,
)  # fmt: skip

SHAPES: Final = (
    *(of_config(config) for config in KNOWN),
    _dense("Qwen2-7B", (28, 3584, 28, 4, 128, 18_944, 152_064), max_context=131_072),
    _dense("Qwen1.5-7B", (32, 4096, 32, 32, 128, 11_008, 151_936), max_context=32_768),
    _dense(
        "DeciLM-7B", (32, 4096, 32, 67 / 32, 128, 14_336, 32_000), max_context=8192
    ),  # 67 key heads in 32 layers
    _dense("Aquila-7B", (32, 4096, 32, 32, 128, 11_008, 100_008), max_context=2048),
    _dense("llama-7b", (32, 4096, 32, 32, 128, 11_008, 32_000), max_context=2048),
    _dense("bloom-7b1", (30, 4096, 32, 32, 128, 16_384, 250_880), products=2, tied=True, max_context=2048),
    _dense("opt-6.7b", (32, 4096, 32, 32, 128, 16_384, 50_272), products=2, tied=True, max_context=2048),
    *(gpt(f"MPT-{name}", *sizes, 50_368) for name, sizes in _MPT.items()),
    _DEEPSEEK,
    gpt("gpt3", 96, 12_288, 96, 51_200),
)


_LLAMA2_70B: Final = _dense("Llama2-70B", (80, 8192, 64, 8, 128, 28_672, 32_000), max_context=4096)


def _plain(name: str) -> str:
    last = name.casefold().replace("_", ".").rsplit("/", 1)[-1]
    return _NOISE.sub("", last).removeprefix("meta")


# names of benchmark rounds that differ from the published one
_ALIASES: Final = {
    "gptj99": "gptj6b",
    "llama270b99": "llama270b",
    "llama270b.lora": "llama270b",
    "llama2.70b.lora": "llama270b",
    "l405b": "llama3.1405b",
    "llama31.405b": "llama3.1405b",
    "llama3405b": "llama3.1405b",
}
_BY_NAME: Final = {_plain(item.name): item for item in (*SHAPES, _LLAMA2_70B)}


def find(name: str) -> Shape | None:
    """Return the shape published under a name such as "Meta-Llama-3-70B" or "llama2-70b-99", or None."""
    plain = _plain(name[:100])
    return _BY_NAME.get(_ALIASES.get(plain, plain))
