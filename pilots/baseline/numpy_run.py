"""The same graph in plain NumPy, as anyone would run it on this machine (BLAS allowed). No emulated numerics here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any, Final

import numpy as np

from pilots.graph.ir import Array, DType, Graph, Weights

Op = Callable[..., Any]


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=x.dtype)


def _gelu(x: Array) -> Array:
    inner = np.tanh(x.dtype.type(sqrt(2 / pi)) * (x + x.dtype.type(0.044715) * x**3))
    return np.asarray(x.dtype.type(0.5) * x * (1 + inner), dtype=x.dtype)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


OPS: Final[dict[str, Op]] = {
    "matmul": np.matmul,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "gelu": _gelu,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "softmax": _softmax,
    "reduce_sum": lambda x: x.sum(axis=-1, keepdims=True),
    "reduce_max": lambda x: x.max(axis=-1, keepdims=True),
    "transpose": np.transpose,
}


def prepared(weights: Weights) -> dict[str, Array]:
    """Return the weights as fp32: float16 is stored as such, computed in fp32 and rounded after every operation."""
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in weights.items()}


def forward(graph: Graph, weights: Mapping[str, Array], inputs: Array) -> Array:
    """Return the first output of the graph for prepared weights, in the element type of the graph."""
    half = graph.dtype is DType.FLOAT16
    values: dict[str, Array] = {graph.inputs[0][0]: inputs.astype(np.float32, copy=False)}
    for node in graph.nodes:
        operands = [values[name] if name in values else weights[name] for name in node.inputs]
        result = OPS[node.op](*operands)
        # Sums stay in fp32 until the bias is added, as on the emulated machine.
        keep = not half or node.op == "matmul"
        values[node.output] = result if keep else result.astype(np.float16).astype(np.float32)
    return np.asarray(values[graph.outputs[0]].astype(graph.dtype.value, copy=False))


def activation_bytes(graph: Graph, batch: int) -> int:
    """Return the bytes of inputs and of the largest result of one pass, in fp32."""
    sizes = [batch * (tensor.shape[-1] or 1) * 4 for _, tensor in graph.inputs]
    results = [batch * (node.tensor.shape[-1] or 1) * 4 for node in graph.nodes]
    return sum(sizes) + max(results, default=0)
