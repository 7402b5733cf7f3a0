"""The reference models as ONNX, built by hand on the weights of the PyTorch ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 23


class Builder:
    """Collects nodes; every call returns the name of its first output."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]

    def __call__(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attrs) -> str:
        names = [f"n{len(self.nodes)}.{index}" for index in range(outputs)]
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, names, name=name, domain=domain, **attrs))
        return names[0]

    def ints(self, *values: int) -> str:
        name = f"k{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    def number(self, value: float) -> str:
        name = f"k{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(value, dtype=np.float32), name))
        return name

    def linear(self, name: str, x: str) -> str:
        product = self("MatMul", x, self("Transpose", f"{name}.weight", perm=[1, 0]))
        known = any(item.name == f"{name}.bias" for item in self.tensors)
        return self("Add", product, f"{name}.bias") if known else product

    def model(self, shape, result: str, kind: int = TensorProto.FLOAT) -> bytes:
        x = helper.make_tensor_value_info("x", kind, shape)
        y = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "graph", [x], [y], self.tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        return made.SerializeToString()


def perceptron(weights, shape) -> bytes:
    on = Builder(weights)
    first = on("Relu", on("Gemm", "x", "first.weight", "first.bias", transB=1))
    return on.model(shape, on.linear("second", first))


def pictures(weights, shape) -> bytes:
    on = Builder(weights)
    conv = on("Conv", "x", "conv.weight", "conv.bias", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    pooled = on("MaxPool", on("Relu", conv), kernel_shape=[2, 2], strides=[2, 2])
    return on.model(shape, on.linear("head", on("Flatten", pooled)))


def _split(on: Builder, x: str, shape, heads: int) -> str:
    view = on("Reshape", x, on.ints(*shape[:2], heads, -1))
    return on("Transpose", view, perm=[0, 2, 1, 3])


def _attend(on: Builder, parts, shape, mask: str = "") -> str:
    q, k, v = parts
    scores = on("Mul", on("MatMul", q, on("Transpose", k, perm=[0, 1, 3, 2])), on.number(0.5))
    scores = on("Where", mask, scores, on.number(-1e30)) if mask else scores
    found = on("Transpose", on("MatMul", on("Softmax", scores), v), perm=[0, 2, 1, 3])
    return on("Reshape", found, on.ints(*shape))


def encoder(weights, shape) -> bytes:
    on = Builder(weights)
    normed = on("LayerNormalization", "x", "norm1.weight", "norm1.bias", epsilon=1e-5)
    parts = [_split(on, on.linear(name, normed), shape, 4) for name in "qkv"]
    x = on("Add", "x", on.linear("o", _attend(on, parts, shape)))
    normed = on("LayerNormalization", x, "norm2.weight", "norm2.bias", epsilon=1e-5)
    hidden = on("Gelu", on.linear("up", normed), approximate="tanh")
    return on.model(shape, on("Add", x, on.linear("down", hidden)))


def _turn(on: Builder, x: str) -> str:
    left, right = (on("Slice", x, on.ints(start), on.ints(start + 2), on.ints(3)) for start in (0, 2))
    turned = on("Concat", on("Neg", right), left, axis=-1)
    return on("Add", on("Mul", x, "cos"), on("Mul", turned, "sin"))


def _repeat(on: Builder, x: str, shape) -> str:
    batch, rows, _ = shape
    wide = on("Expand", on("Unsqueeze", x, on.ints(2)), on.ints(batch, 2, 2, rows, 4))
    return on("Reshape", wide, on.ints(batch, 4, rows, 4))


def decoder(weights, shape) -> bytes:
    rows = shape[1]
    mask = np.tril(np.ones((rows, rows), dtype=np.bool_))
    on = Builder({**weights, "mask": mask})
    normed = on("RMSNormalization", "x", "norm1.weight", epsilon=1e-6)
    q = _turn(on, _split(on, on.linear("q", normed), shape, 4))
    k = _repeat(on, _turn(on, _split(on, on.linear("k", normed), shape, 2)), shape)
    v = _repeat(on, _split(on, on.linear("v", normed), shape, 2), shape)
    x = on("Add", "x", on.linear("o", _attend(on, (q, k, v), shape, "mask")))
    normed = on("RMSNormalization", x, "norm2.weight", epsilon=1e-6)
    gate = on.linear("gate", normed)
    inner = on("Mul", on("Mul", gate, on("Sigmoid", gate)), on.linear("up", normed))
    return on.model(shape, on("Add", x, on.linear("down", inner)))


def embedder(weights, shape) -> bytes:
    on = Builder(weights)
    pooled = on("ReduceMean", on("Gather", "table.weight", "x"), on.ints(1), keepdims=0)
    scores = on("MatMul", pooled, on("Transpose", "table.weight", perm=[1, 0]))
    return on.model(shape, scores, TensorProto.INT64)


def unsupported(weights, shape) -> bytes:
    on = Builder(weights)
    total = on("Relu", on("CumSum", "x", on.ints(1)))
    return on.model(shape, on("Add", total, on("Special", "x", domain="com.example")))
