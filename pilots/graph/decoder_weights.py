"""The weights of a decoder: one list of names and shapes, which graph and seeded numbers both follow; seeded inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import prod, sqrt
from typing import Final

import numpy as np

from pilots.graph import rng
from pilots.graph.errors import refusal
from pilots.graph.geometry import ModelConfig
from pilots.graph.ir import Array, Constant, DType, Graph, array_sha256, rounded

MAX_PARAMS: Final = 50_000_000
SMALL: Final = 0.1  # how far biases, shifts and positions reach, and scales of norms from 1


class Role(Enum):
    """What a weight is for, which decides the spread of seeded numbers."""

    MATRIX = auto()
    TABLE = auto()
    SCALE = auto()
    SMALL = auto()


@dataclass(frozen=True, slots=True)
class Weight:
    """One weight: its name in the graph, its shape (products are [inputs, outputs]) and its role."""

    name: str
    shape: tuple[int, ...]
    role: Role


def decoder_weights(config: ModelConfig) -> list[Weight]:
    """Return all weights of a decoder in the order of use; their elements add up to `config.params`."""
    found = [Weight("embed.w", (config.vocab, config.hidden), Role.TABLE)]
    if config.position == "learned":
        found.append(Weight("position.w", (config.max_context, config.hidden), Role.SMALL))
    for layer in range(config.layers):
        found += _layer(config, f"l{layer}")
    found += _norm(config, "norm", config.hidden)
    if not config.tied_embeddings:
        found.append(Weight("head.w", (config.hidden, config.vocab), Role.MATRIX))
    if config.traits.head_bias:
        found.append(Weight("head.b", (config.vocab,), Role.SMALL))
    return found


def _layer(config: ModelConfig, at: str) -> Iterator[Weight]:
    hidden, query, kv = config.hidden, config.query_width, config.kv_width
    yield from _norm(config, f"{at}.norm1", hidden)
    for name, width in (("q", query), ("k", kv), ("v", kv)):
        yield from _product(f"{at}.{name}", hidden, width, bias=config.attention_bias)
    if config.traits.query_key_norm:
        yield Weight(f"{at}.q.norm.w", (config.head_dim,), Role.SCALE)
        yield Weight(f"{at}.k.norm.w", (config.head_dim,), Role.SCALE)
    yield from _product(f"{at}.o", query, hidden, bias=config.attention_bias and config.traits.output_bias)
    if config.traits.norms > 1:
        yield from _norm(config, f"{at}.norm2", hidden)
    if config.experts:
        yield from _product(f"{at}.router", hidden, config.experts, bias=False)
    parts = [("gate", hidden, config.ffn)] if config.gated else []
    for name, inputs, outputs in (*parts, ("up", hidden, config.ffn), ("down", config.ffn, hidden)):
        yield from _product(f"{at}.{name}", inputs, outputs, bias=config.mlp_bias, experts=config.experts)


def _norm(config: ModelConfig, name: str, width: int) -> Iterator[Weight]:
    yield Weight(f"{name}.w", (width,), Role.SCALE)
    if config.norm == "layer_norm":
        yield Weight(f"{name}.b", (width,), Role.SMALL)


def _product(name: str, inputs: int, outputs: int, *, bias: bool, experts: int = 0) -> Iterator[Weight]:
    yield Weight(f"{name}.w", (experts, inputs, outputs) if experts else (inputs, outputs), Role.MATRIX)
    if bias:
        yield Weight(f"{name}.b", (outputs,), Role.SMALL)


def seeded_weights(config: ModelConfig, seed: int) -> dict[str, Array]:
    """Return weights by name, rounded to the type of the model; raises GraphError above 50 million parameters.

    Products are uniform over +-sqrt(6 / (inputs + outputs)), tables over +-1, biases and positions over +-0.1, scales
    of norms over 1 +- 0.1 (`rng.uniform`, one stream per name).
    """
    if config.params > MAX_PARAMS:
        sentence = f"Das Modell hat {config.params} Parameter; mit Zufallsgewichten sind höchstens {MAX_PARAMS} möglich."
        raise refusal(
            "PARAM_COUNT", "config", f"at most {MAX_PARAMS} parameters", str(config.params), sentence
        )
    if not 0 <= seed <= rng.MAX_SEED:
        sentence = f"Der Startwert muss zwischen 0 und {rng.MAX_SEED} liegen."
        raise refusal("SEED", "seed", f"0..{rng.MAX_SEED}", str(seed), sentence)
    return {item.name: _numbers(item, seed, config.dtype) for item in decoder_weights(config)}


def _numbers(item: Weight, seed: int, dtype: DType) -> Array:
    scale = {Role.MATRIX: sqrt(6.0 / sum(item.shape[-2:])), Role.TABLE: 1.0}.get(item.role, SMALL)
    numbers = rng.uniform(seed, item.name, item.shape, scale)
    return rounded(numbers + np.float32(1) if item.role is Role.SCALE else numbers, dtype)


def with_weights(graph: Graph, weights: Mapping[str, Array], *, seed: int | None = None) -> Graph:
    """Return the graph with the hashes of its weights, and the seed in its recipe if given; raises GraphError."""
    constants = tuple(_hashed(item, weights.get(item.name)) for item in graph.constants)
    recipe = graph.recipe if seed is None else (*graph.recipe, ("seed", seed))
    return replace(graph, constants=constants, recipe=recipe)


def _hashed(item: Constant, array: Array | None) -> Constant:
    if array is None or array.shape != item.tensor.shape:
        got = "nothing" if array is None else str(array.shape)
        sentence = f"Die Gewichte {item.name} fehlen oder haben eine falsche Form."
        raise refusal("WEIGHTS", f"constant {item.name}", str(item.tensor.shape), got, sentence)
    return replace(item, sha256=array_sha256(rounded(array, item.tensor.dtype), item.tensor.dtype))


def seeded_inputs(graph: Graph, *, inputs_seed: int) -> dict[str, Array]:
    """Return inputs of a decoder graph by name: evenly spread ids, caches over +-1, and the positions in order.

    In "decode" every sequence stands at its last position, so that the caches are full.
    """
    recipe = dict(graph.recipe)
    batch, context = int(recipe["batch"]), int(recipe["context"])
    vocab = next(item.tensor.shape[0] or 1 for item in graph.constants if item.name == "embed.w")
    every = np.arange(context, dtype=np.int32)
    found: dict[str, Array] = {}
    for name, tensor in graph.inputs:
        shape = tuple(item or 1 for item in tensor.shape)
        if name == "ids":
            words = rng.words(inputs_seed, "input ids", prod(shape))
            found[name] = (words % np.uint64(vocab)).astype(np.int32)
        elif name == "positions":
            found[name] = (
                np.tile(every, batch) if recipe["phase"] == "prefill" else np.repeat(every[-1:], batch)
            )
        else:
            found[name] = rounded(rng.uniform(inputs_seed, f"input {name}", shape), tensor.dtype)
    return found
