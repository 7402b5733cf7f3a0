"""Captures as a framework would leave them, made without one; `evaluated_example` stands in for the framework."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, Example, Lineage
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import Array, DType, Graph, Weights, rounded
from pilots.graph.rng import uniform
from pilots.graph.trail import Origin, Trail

F32, I32 = DType.FLOAT32, DType.INT32
LINEAGE = Lineage(
    commit="0123456789abcdef0123456789abcdef01234567",
    data_sha256="5e" * 32,
    seed="7",
    registry="modelle/beispiel:3",
    environment=(("platform", "x86_64"), ("python", "3.11"), ("pytorch", "2.13.0")),
)


def evaluated_example(graph: Graph, weights: Weights, inputs: Mapping[str, Array]) -> Example:
    """Return inputs with the outputs NumPy computes in double precision, rounded to the types of the graph."""
    types = graph.tensors()
    found = evaluate(graph, {**inputs, **weights})
    return Example(dict(inputs), {name: rounded(array, types[name].dtype) for name, array in found.items()})


def captured(builder: GraphBuilder, output: str, **inputs: Array) -> Captured:
    """Return the capture of a graph with its example, a row of trail per operation, and a lineage."""
    graph, weights = builder.build(output)
    rows = tuple(
        Origin(f"aten.{node.op}", f"model.py:{index + 3}", (node.op,))
        for index, node in enumerate(graph.nodes)
    )
    example = evaluated_example(graph, weights, inputs)
    return Captured(graph, weights, Trail("pytorch", "2.13.0", rows), example, LINEAGE)


@lru_cache
def perceptron() -> Captured:
    """Two layers of float32, the batch open; the example has four samples."""
    on = GraphBuilder()
    value = on.input("x", (None, 8), F32)
    for name, rows, width in (("first", 8, 16), ("second", 16, 4)):
        weight = on.constant(f"{name}.weight", uniform(7, name, (rows, width), 0.5))
        bias = on.constant(f"{name}.bias", uniform(8, name, (width,), 0.5))
        value = on.op("add", on.op("matmul", value, weight), bias)
        value = on.op("relu", value) if name == "first" else value
    return captured(on, value, x=uniform(1, "x", (4, 8)))


@lru_cache
def pictures() -> Captured:
    """Convolution, pooling and a product on two pictures of one channel, 8 by 8."""
    on = GraphBuilder()
    x = on.input("x", (2, 1, 8, 8), F32)
    kernel = on.constant("conv.weight", uniform(7, "conv", (4, 1, 3, 3), 0.5))
    bias = on.constant("conv.bias", uniform(8, "conv", (4, 1, 1), 0.5))
    wide = on.op("broadcast_to", bias, shape=(2, 4, 8, 8))
    value = on.op("relu", on.op("add", on.op("conv2d", x, kernel, stride=1, padding=1), wide))
    value = on.op("reshape", on.op("max_pool2d", value, size=2, stride=2), shape=(2, 64))
    head = on.constant("head.weight", uniform(7, "head", (64, 5), 0.5))
    return captured(on, on.op("matmul", value, head), x=uniform(1, "x", (2, 1, 8, 8)))


@lru_cache
def decoder() -> Captured:
    """One decoder block on token ids: two sequences of four tokens, RoPE, grouped queries, RMSNorm, SwiGLU."""
    on = GraphBuilder()
    ids = on.input("ids", (8,), I32)
    places = on.constant("positions", np.tile(np.arange(4, dtype=np.int32), 2))
    x = on.op("embedding", on.constant("table", uniform(7, "table", (11, 16), 0.5)), ids)

    def linear(name: str, value: str, rows: int, width: int) -> str:
        return on.op("matmul", value, on.constant(f"{name}.weight", uniform(7, name, (rows, width), 0.5)))

    def normed(name: str, value: str) -> str:
        scale = on.constant(f"{name}.weight", 1 + uniform(7, name, (16,), 0.1))
        return on.op("rms_norm", value, scale, epsilon="0.000001")

    inner = normed("norm1", x)
    q = on.op("rope", linear("q", inner, 16, 16), places, heads=4, head_dim=4, theta=10_000)
    k = on.op("rope", linear("k", inner, 16, 8), places, heads=2, head_dim=4, theta=10_000)
    seen = on.op(
        "attention", q, k, linear("v", inner, 16, 8), heads=4, kv_heads=2, head_dim=4, batch=2, causal=1
    )
    x = on.op("add", x, linear("o", seen, 16, 16))
    inner = normed("norm2", x)
    gated = on.op("mul", on.op("silu", linear("gate", inner, 16, 24)), linear("up", inner, 16, 24))
    x = on.op("add", x, linear("down", gated, 24, 16))
    tokens = np.array([1, 5, 10, 0, 3, 3, 7, 2], dtype=np.int32)
    return captured(on, linear("head", normed("norm3", x), 16, 11), ids=tokens)


CAPTURES = {"perceptron": perceptron, "pictures": pictures, "decoder": decoder}
