"""The table of operations: one row each. What a row means for numbers stands in `twins.py` under the same name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pilots.graph import flop_rules as flops
from pilots.graph import shape_rules as shapes
from pilots.graph.attributes import Attribute

NO_LIMIT: Final = 1024


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One legal operation.

    arity: least and greatest number of inputs. types: one letter per input, then ">" and the result; the last input
    letter repeats. T: floating, all T alike; N: as T, or int32; A: any type, all A alike; i: int32; b: bool; @: the
    attribute `dtype`. shape: result shape from input shapes, None if illegal; rule: that condition in words; flops:
    floating point operations per sample; attributes: what the operation needs besides its inputs.
    """

    arity: tuple[int, int]
    types: str
    shape: shapes.ShapeRule
    rule: str
    flops: flops.FlopRule
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


def _needs(**kinds: str) -> dict[str, Attribute]:
    """Return a schema; a kind that ends in "?" may be left out."""
    return {name: Attribute(kind.removesuffix("?"), not kind.endswith("?")) for name, kind in kinds.items()}


def _each(count: int, types: str = "T>T", **kinds: str) -> OpSpec:
    rule = "one input of at least one dimension"
    return OpSpec((1, 1), types, shapes.same, rule, flops.per_element(count), _needs(**kinds))


def _alike(inputs: int, count: int, types: str, **kinds: str) -> OpSpec:
    rule = "equal shapes of at least one dimension"
    return OpSpec((inputs, inputs), types, shapes.same, rule, flops.per_element(count), _needs(**kinds))


def _rows(types: str = "T>T") -> OpSpec:
    return OpSpec(
        (1, 1), types, shapes.rows, "at least two dimensions; the last one is reduced", flops.per_element(1)
    )


def _binary(types: str) -> OpSpec:
    rule = "equal shapes, or a right side equal to the last dimensions of the left or with one number per row"
    return OpSpec((2, 2), types, shapes.broadcast, rule, flops.per_element(1))


def _moved(rule: shapes.ShapeRule, words: str, **kinds: str) -> OpSpec:
    return OpSpec((1, 1), "A>A", rule, words, flops.none, _needs(**kinds))


_HEADS: Final = {"heads": "count", "kv_heads": "count", "head_dim": "count", "window": "count?"}

# gelu is the tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
OPS: Final[dict[str, OpSpec]] = {
    "matmul": OpSpec(
        (2, 2),
        "TT>T",
        shapes.matmul,
        "[m, k] x [k, n] with equal k, or [m, k] x [n, k] if transposed",
        flops.matmul,
        _needs(transposed="flag?"),
    ),
    "batch_matmul": OpSpec(
        (2, 2), "TT>T", shapes.batch_matmul, "[b, m, k] x [b, k, n] with equal b and k", flops.matmul
    ),
    "add": _binary("NN>N"),
    "sub": _binary("NN>N"),
    "mul": _binary("NN>N"),
    "div": _binary("TT>T"),
    "maximum": _binary("NN>N"),
    "minimum": _binary("NN>N"),
    "neg": _each(1, "N>N"),
    "abs": _each(1, "N>N"),
    "exp": _each(4),
    "log": _each(4),
    "sqrt": _each(1),
    "rsqrt": _each(2),
    "reciprocal": _each(1),
    "square": _each(1, "N>N"),
    "relu": _each(1),
    "gelu": _each(8),
    "silu": _each(5),
    "sigmoid": _each(4),
    "tanh": _each(6),
    "sin": _each(6),
    "cos": _each(6),
    "scale": _each(1, factor="decimal"),
    "cast": _each(0, "A>@", dtype="dtype"),
    "greater": _binary("NN>b"),
    "less": _binary("NN>b"),
    "equal": _binary("NN>b"),
    "where": _alike(3, 1, "bNN>N"),
    "reduce_sum": _rows(),
    "reduce_max": _rows(),
    "reduce_min": _rows(),
    "reduce_mean": _rows(),
    "argmax": _rows("T>i"),
    "softmax": _each(flops.SOFTMAX_FLOPS),
    "log_softmax": _each(flops.SOFTMAX_FLOPS),
    "layer_norm": OpSpec(
        (3, 3),
        "TTT>T",
        shapes.norm,
        "scale and shift as long as the last dimension",
        flops.per_element(8),
        _needs(epsilon="decimal"),
    ),
    "rms_norm": OpSpec(
        (2, 2),
        "TT>T",
        shapes.norm,
        "a scale as long as the last dimension",
        flops.per_element(4),
        _needs(epsilon="decimal"),
    ),
    "reshape": _moved(shapes.reshape, "as many elements as before, no batch", shape="sizes"),
    "transpose": _moved(
        shapes.transpose, "every dimension once, none of them the batch; two without an order", order="indices?"
    ),
    "slice": _moved(
        shapes.cut, "start < stop <= the size of an axis that is not the batch",
        axis="index", start="index", stop="index",
    ),
    "concat": OpSpec(
        (2, NO_LIMIT), "A>A", shapes.concat, "equal sizes but for an axis that is not the batch",
        flops.none, _needs(axis="index"),
    ),
    "pad": _moved(shapes.pad, "one number before and after per dimension, no batch", before="indices", after="indices"),
    "broadcast_to": _moved(
        shapes.broadcast_to, "sizes, counted from the last, equal or one; no batch", shape="sizes"
    ),
    "gather": OpSpec((2, 2), "Ai>A", shapes.gather, "[n, ...] and indices, no batch", flops.none),
    "embedding": OpSpec((2, 2), "Ti>T", shapes.embedding, "[entries, width] and [rows] of indices", flops.none),
    "scatter_add": OpSpec(
        (3, 3), "TiT>T", shapes.scatter_add, "[entries, width], [rows] of indices, [rows, width]", flops.scatter_add
    ),
    "one_hot": OpSpec(
        (1, 1), "i>@", shapes.one_hot, "[rows] of indices", flops.none, _needs(depth="count", dtype="float")
    ),
    "rope": OpSpec(
        (2, 2),
        "Ti>T",
        shapes.rope,
        "[rows, heads x head_dim] and [rows]; rotary_dim even and at most head_dim",
        flops.rope,
        _needs(heads="count", head_dim="count", theta="count", rotary_dim="count?", interleaved="flag?"),
    ),
    "attention": OpSpec(
        (3, 3),
        "TTT>T",
        shapes.attention,
        "[batch x sequence, heads x head_dim] and twice [.., kv_heads x head_dim]; kv_heads divides heads",
        flops.attention,
        _needs(batch="count", causal="flag", **_HEADS),
    ),
    "cache_append": OpSpec(
        (3, 3), "TTi>T", shapes.cache_append, "[batch, capacity, width], [batch, width] and [batch]", flops.none
    ),
    "attention_cached": OpSpec(
        (4, 4),
        "TTTi>T",
        shapes.attention_cached,
        "[batch, heads x head_dim], twice [batch, capacity, kv_heads x head_dim], [batch]; kv_heads divides heads",
        flops.attention_cached,
        _needs(**_HEADS),
    ),
    "top_k_gate": OpSpec(
        (1, 1),
        "T>T",
        shapes.top_k_gate,
        "[rows, experts] with k of at most all experts",
        flops.per_element(flops.SOFTMAX_FLOPS),
        _needs(k="count"),
    ),
    "expert_ffn": OpSpec(
        (5, 5),
        "TTTTT>T",
        shapes.expert_ffn,
        "[rows, h], [rows, e], twice [e, h, f], [e, f, h] with k of at most e",
        flops.expert_ffn,
        _needs(k="count", activation="activation"),
    ),
    "conv2d": OpSpec(
        (2, 2),
        "TT>T",
        shapes.conv2d,
        "[b, c, h, w] and [o, c, kh, kw] no larger than the padded picture, padding below kh and kw",
        flops.conv2d,
        _needs(stride="count", padding="index"),
    ),
    "max_pool2d": OpSpec(
        (1, 1), "T>T", shapes.pool2d, "[b, c, h, w] with windows no larger than the picture",
        flops.pool2d, _needs(size="count", stride="count"),
    ),
    "avg_pool2d": OpSpec(
        (1, 1), "T>T", shapes.pool2d, "[b, c, h, w] with windows no larger than the picture",
        flops.pool2d, _needs(size="count", stride="count"),
    ),
    "stencil": OpSpec(
        (1, 1),
        "T>T",
        shapes.stencil,
        "[nx, ny, nz]; 7 or 25 points and as many coefficients",
        flops.stencil,
        _needs(points="count", coefficients="decimals"),
    ),
    "cross_entropy": OpSpec(
        (2, 2), "Ti>T", shapes.cross_entropy, "[rows, classes] and [rows] of indices",
        flops.per_element(flops.SOFTMAX_FLOPS),
    ),
    "sgd_update": _alike(2, 2, "TT>T", rate="decimal"),
    "adam_m": _alike(2, 3, "TT>T", beta1="decimal"),
    "adam_v": _alike(2, 4, "TT>T", beta2="decimal"),
    "adamw_update": OpSpec(
        (4, 4),
        "TTTi>T",
        shapes.adamw_update,
        "parameters and both moments alike, the step as [1]",
        flops.per_element(10),
        _needs(rate="decimal", beta1="decimal", beta2="decimal", epsilon="decimal", weight_decay="decimal"),
    ),
}  # fmt: skip
ACTIVATIONS: Final = ("relu", "gelu", "sigmoid", "tanh")
