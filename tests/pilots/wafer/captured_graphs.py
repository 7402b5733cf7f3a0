"""Captures with several inputs and outputs of every type, made without a framework."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, Example
from pilots.graph.ir import Array, DType, rounded
from pilots.graph.rng import uniform
from pilots.graph.trail import Trail
from tests.pilots.graph.captures import evaluated_example

F32, BF16, I32, BOOL = DType.FLOAT32, DType.BFLOAT16, DType.INT32, DType.BOOL
ADAM = {"rate": "0.01", "beta1": "0.9", "beta2": "0.999", "epsilon": "0.00000001", "weight_decay": "0.01"}


def made(on: GraphBuilder, outputs: tuple[str, ...], inputs: dict[str, Array]) -> Captured:
    graph, weights = on.build(*outputs)
    return Captured(graph, weights, Trail("pytorch", "2.13.0"), evaluated_example(graph, weights, inputs))


@lru_cache
def every_type() -> Captured:
    """Open batch of three: numbers, truth values and whole numbers come in, and go out."""
    on = GraphBuilder()
    x, mask, ids = (
        on.input(name, (None, 6), dtype) for name, dtype in (("x", F32), ("mask", BOOL), ("ids", I32))
    )
    kept = on.op("where", mask, x, on.op("scale", x, factor="0.5"))
    weight = on.constant("w", uniform(7, "w", (6, 4), 0.5))
    logits = on.op("matmul", kept, weight)
    outputs = (
        on.op("softmax", logits),
        on.op("argmax", logits),
        on.op("greater", logits, on.constant("limit", np.zeros(4, np.float32))),
        on.op("add", ids, ids),
    )
    inputs = {
        "x": uniform(1, "x", (3, 6)),
        "mask": uniform(2, "mask", (3, 6)) > 0,
        "ids": np.arange(18, dtype=np.int32).reshape(3, 6),
    }
    return made(on, outputs, inputs)


@lru_cache
def training_step() -> Captured:
    """One step of AdamW on a linear layer: parameters and moments come in and go out changed."""
    on = GraphBuilder()
    w, m, v = (on.input(name, (6, 4), F32) for name in ("w", "m", "v"))
    step, x, y = on.input("step", (1,), I32), on.input("x", (5, 6), F32), on.input("y", (5,), I32)
    logits = on.op("matmul", x, w)
    loss = on.op("cross_entropy", logits, y)
    gap = on.op("sub", on.op("softmax", logits), on.op("one_hot", y, depth=4, dtype="float32"))
    gradient = on.op("scale", on.op("matmul", on.op("transpose", x), gap), factor="0.2")
    first = on.op("adam_m", m, gradient, beta1=ADAM["beta1"])
    second = on.op("adam_v", v, gradient, beta2=ADAM["beta2"])
    changed = on.op("adamw_update", w, first, second, step, **ADAM)
    inputs = {
        "w": uniform(1, "w", (6, 4), 0.5),
        "m": np.zeros((6, 4), np.float32),
        "v": np.zeros((6, 4), np.float32),
        "step": np.array([1], np.int32),
        "x": uniform(2, "x", (5, 6)),
        "y": np.array([0, 3, 1, 1, 2], np.int32),
    }
    return made(on, (loss, changed, first, second), inputs)


@lru_cache
def two_precisions() -> Captured:
    """A product in bfloat16 whose softmax is made in float32, as large models do; both come out."""
    on = GraphBuilder()
    x = on.input("x", (4, 16), BF16)
    weight = on.constant("w", uniform(7, "w", (16, 8), 0.5), BF16)
    logits = on.op("matmul", x, weight)
    shares = on.op("softmax", on.op("cast", logits, dtype="float32"))
    graph, weights = on.build(on.op("cast", shares, dtype="bfloat16"), shares)
    inputs = {"x": rounded(uniform(1, "x", (4, 16)), BF16)}
    # The twin computes in double precision throughout; a framework rounds the product to bfloat16.
    product = inputs["x"].astype(np.float64) @ weights["w"].astype(np.float64)
    powers = np.exp(rounded(product, BF16).astype(np.float64))
    whole = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    outputs = dict(zip(graph.outputs, (rounded(whole, BF16), whole), strict=True))
    return Captured(graph, weights, Trail("pytorch", "2.13.0"), Example(inputs, outputs))


CAPTURES = {"every_type": every_type, "training_step": training_step, "two_precisions": two_precisions}
