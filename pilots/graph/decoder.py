"""The graph of a decoder-only language model from its geometry: shapes alone, so that any size can be described.

Activations are [rows, features]; rows are sequences in "decode" and sequences times tokens in "prefill". Values carry
legible names: "l3.q" are the queries of the fourth layer, "l3.q.w" their weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from pilots.graph.builder import GraphBuilder
from pilots.graph.decoder_weights import decoder_weights, seeded_inputs, seeded_weights, with_weights
from pilots.graph.errors import refusal
from pilots.graph.geometry import ModelConfig, from_canonical
from pilots.graph.ir import Array, Attr, DType, Graph

__all__ = ["PHASES", "decoder_graph", "from_recipe", "seeded_inputs", "seeded_weights", "with_weights"]

PHASES: Final = ("decode", "prefill")
MAX_BATCH: Final = 65_536
KIND: Final = "decoder"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What every part of the graph needs: the builder, the geometry, and how many rows and sequences there are."""

    builder: GraphBuilder
    config: ModelConfig
    phase: str
    batch: int
    context: int

    @property
    def rows(self) -> int:
        return self.batch if self.phase == "decode" else self.batch * self.context


def decoder_graph(
    config: ModelConfig, *, phase: str, batch: int, context: int, dtype: DType | None = None
) -> Graph:
    """Return the graph of one pass; `dtype` replaces the type of the model. Raises GraphError.

    decode: one token per sequence. Inputs: ids [batch], positions [batch], and per layer the caches of `context` rows;
    outputs: logits [batch, vocab] and the caches with the new row.
    prefill: prompts of `context` tokens. Inputs: ids and positions [batch x context]; outputs: the logits of the last
    tokens, and per layer keys and values [batch x context, kv_heads x head_dim] to fill the caches with.
    """
    config = config if dtype is None else replace(config, dtype=dtype)
    _check_request(config, phase, batch, context)
    builder = GraphBuilder()
    plan = _Plan(builder, config, phase, batch, context)
    builder.input("ids", (plan.rows,), DType.INT32)
    builder.input("positions", (plan.rows,), DType.INT32)
    for weight in decoder_weights(config):
        builder.shape_only(weight.name, weight.shape, config.dtype)
    value = _embedded(plan)
    kept: list[str] = []
    for layer in range(config.layers):
        value, keys, values = _layer(plan, f"l{layer}", value)
        kept += (keys, values)
    logits = _logits(plan, value)
    graph, _ = builder.build(logits, *kept, recipe=_recipe(plan))
    return graph


def _check_request(config: ModelConfig, phase: str, batch: int, context: int) -> None:
    if phase not in PHASES:
        sentence = f"Die Phase ist unbekannt; möglich sind: {', '.join(PHASES)}."
        raise refusal("PHASE", "phase", f"one of {', '.join(PHASES)}", repr(phase)[:80], sentence)
    if type(batch) is not int or not 1 <= batch <= MAX_BATCH:
        sentence = f"Die Stapelgröße muss eine ganze Zahl von 1 bis {MAX_BATCH} sein."
        raise refusal("BATCH", "batch", f"1..{MAX_BATCH}", repr(batch)[:80], sentence)
    if type(context) is not int or not 1 <= context <= config.max_context:
        sentence = (
            f"Die Kontextlänge muss eine ganze Zahl von 1 bis {config.max_context} sein (Grenze des Modells)."
        )
        raise refusal("CONTEXT", "context", f"1..{config.max_context}", repr(context)[:80], sentence)


def _recipe(plan: _Plan) -> tuple[tuple[str, str | int], ...]:
    return (
        ("kind", KIND),
        ("config", plan.config.canonical_text()),
        ("phase", plan.phase),
        ("batch", plan.batch),
        ("context", plan.context),
    )


def from_recipe(recipe: tuple[tuple[str, str | int], ...]) -> tuple[Graph, dict[str, Array]]:
    """Return graph and weights of a recipe again; no weights if it has no seed. Raises GraphError."""
    parts = dict(recipe)
    config, phase, batch, context = (parts.get(name) for name in ("config", "phase", "batch", "context"))
    if parts.get("kind") != KIND or not isinstance(config, str) or not isinstance(phase, str):
        sentence = "Die Bauanleitung beschreibt kein Sprachmodell; bitte das Modell erneut einlesen."
        raise refusal("RECIPE", "recipe", f"kind {KIND}", repr(parts.get("kind"))[:80], sentence)
    geometry = from_canonical(config)
    graph = decoder_graph(geometry, phase=phase, batch=batch, context=context)  # type: ignore[arg-type]  # checked there
    seed = parts.get("seed")
    if not isinstance(seed, int):
        return graph, {}
    weights = seeded_weights(geometry, seed)
    return with_weights(graph, weights, seed=seed), weights


def _embedded(plan: _Plan) -> str:
    builder, config = plan.builder, plan.config
    value = builder.op("embedding", "embed.w", "ids", name="embed")
    if config.traits.scaled_embeddings:
        value = builder.op("scale", value, name="embed.scaled", factor=f"{sqrt(config.hidden):.9f}")
    if config.position == "learned":
        where = builder.op("embedding", "position.w", "positions", name="position")
        value = builder.op("add", value, where, name="embed.placed")
    return value


def _layer(plan: _Plan, at: str, value: str) -> tuple[str, str, str]:
    """Add one layer; returns its result, and the keys and values it leaves behind."""
    builder, config = plan.builder, plan.config
    normed = _norm(plan, f"{at}.norm1", value)
    attended, keys, values = _attention(plan, at, normed)
    projected = _linear(plan, f"{at}.o", attended)
    if not config.parallel_block:
        value = builder.op("add", value, projected, name=f"{at}.attended")
    if config.traits.norms > 1:
        normed = _norm(plan, f"{at}.norm2", value)
    changed = _experts(plan, at, normed) if config.experts else _feed_forward(plan, at, normed)
    if config.parallel_block:
        changed = builder.op("add", projected, changed, name=f"{at}.parallel")
    return builder.op("add", value, changed, name=f"{at}.out"), keys, values


def _norm(plan: _Plan, name: str, value: str) -> str:
    config = plan.config
    shift = (f"{name}.b",) if config.norm == "layer_norm" else ()
    return plan.builder.op(config.norm, value, f"{name}.w", *shift, name=name, epsilon=config.norm_epsilon)


def _linear(plan: _Plan, name: str, value: str, *, bias: bool | None = None) -> str:
    """Add a product with the weights of that name, and their bias if there is one."""
    config = plan.config
    if bias is None:
        bias = config.attention_bias and (config.traits.output_bias or not name.endswith(".o"))
    product = plan.builder.op("matmul", value, f"{name}.w", name=f"{name}.product" if bias else name)
    return plan.builder.op("add", product, f"{name}.b", name=name) if bias else product


def _attention(plan: _Plan, at: str, value: str) -> tuple[str, str, str]:
    builder, config = plan.builder, plan.config
    heads: dict[str, Attr] = {"heads": config.heads, "kv_heads": config.kv_heads, "head_dim": config.head_dim}
    if config.sliding_window:
        heads["window"] = config.sliding_window
    query = _turned(plan, f"{at}.q", _linear(plan, f"{at}.q", value), config.heads)
    keys = _turned(plan, f"{at}.k", _linear(plan, f"{at}.k", value), config.kv_heads)
    values = _linear(plan, f"{at}.v", value)
    name = f"{at}.attention"
    if plan.phase == "prefill":
        seen = builder.op("attention", query, keys, values, name=name, batch=plan.batch, causal=1, **heads)
        return seen, keys, values
    keys, values = (_appended(plan, f"{at}.{part}_cache", new) for part, new in (("k", keys), ("v", values)))
    seen = builder.op("attention_cached", query, keys, values, "positions", name=name, **heads)
    return seen, keys, values


def _turned(plan: _Plan, name: str, value: str, heads: int) -> str:
    """Add what happens to queries and keys between product and attention: a norm per head, and rope."""
    builder, config = plan.builder, plan.config
    if config.traits.query_key_norm:
        split = builder.op("reshape", value, name=f"{name}.heads", shape=(plan.rows * heads, config.head_dim))
        split = builder.op(
            "rms_norm", split, f"{name}.norm.w", name=f"{name}.norm", epsilon=config.norm_epsilon
        )
        value = builder.op("reshape", split, name=f"{name}.flat", shape=(plan.rows, heads * config.head_dim))
    if config.position != "rope":
        return value
    attrs: dict[str, Attr] = {"heads": heads, "head_dim": config.head_dim, "theta": config.rope_theta}
    if config.rotary_dim != config.head_dim:
        attrs["rotary_dim"] = config.rotary_dim
    if config.traits.interleaved:
        attrs["interleaved"] = 1
    return builder.op("rope", value, "positions", name=f"{name}.turned", **attrs)


def _appended(plan: _Plan, name: str, new: str) -> str:
    shape = (plan.batch, plan.context, plan.config.kv_width)
    plan.builder.input(name, shape, plan.config.dtype)
    return plan.builder.op("cache_append", name, new, "positions", name=f"{name}.next")


def _feed_forward(plan: _Plan, at: str, value: str) -> str:
    builder, config = plan.builder, plan.config
    if config.gated:
        gate = _linear(plan, f"{at}.gate", value, bias=config.mlp_bias)
        gate = builder.op(config.activation, gate, name=f"{at}.gate.active")
        up = _linear(plan, f"{at}.up", value, bias=config.mlp_bias)
        inner = builder.op("mul", gate, up, name=f"{at}.gated")
    else:
        up = _linear(plan, f"{at}.up", value, bias=config.mlp_bias)
        inner = builder.op(config.activation, up, name=f"{at}.up.active")
    return _linear(plan, f"{at}.down", inner, bias=config.mlp_bias)


def _experts(plan: _Plan, at: str, value: str) -> str:
    builder, config = plan.builder, plan.config
    chosen = config.experts_per_token
    scores = _linear(plan, f"{at}.router", value, bias=False)
    gates = builder.op("top_k_gate", scores, name=f"{at}.gates", k=chosen)
    weights = (f"{at}.gate.w", f"{at}.up.w", f"{at}.down.w")
    return builder.op(
        "expert_ffn", value, gates, *weights, name=f"{at}.experts", k=chosen, activation=config.activation
    )


def _logits(plan: _Plan, value: str) -> str:
    """Add the last norm and the output product, of a prompt for its last token alone."""
    builder, config = plan.builder, plan.config
    if plan.phase == "prefill" and plan.context > 1:
        split = (plan.batch, plan.context, config.hidden)
        value = builder.op("reshape", value, name="sequences", shape=split)
        value = builder.op("slice", value, name="last", axis=1, start=plan.context - 1, stop=plan.context)
        value = builder.op("reshape", value, name="last.flat", shape=(plan.batch, config.hidden))
    value = _norm(plan, "norm", value)
    name = "logits.product" if config.traits.head_bias else "logits"
    if config.tied_embeddings:
        value = builder.op("matmul", value, "embed.w", name=name, transposed=1)
    else:
        value = builder.op("matmul", value, "head.w", name=name)
    return builder.op("add", value, "head.b", name="logits") if config.traits.head_bias else value
