"""One small legal use of every operation: inputs by shape and type, and attributes."""

from __future__ import annotations

from pilots.graph.builder import GraphBuilder
from pilots.graph.ir import Array, Attr, DType, Graph, Shape
from pilots.graph.rng import uniform, words

F32, I32, BOOL = DType.FLOAT32, DType.INT32, DType.BOOL
Sample = tuple[list[tuple[tuple[int, ...], DType]], dict[str, Attr]]
HEADS: dict[str, Attr] = {"heads": 4, "kv_heads": 2, "head_dim": 6}


def floats(*shapes: tuple[int, ...], **attrs: Attr) -> Sample:
    return [(shape, F32) for shape in shapes], attrs


TWO = floats((3, 5), (3, 5))
ONE = floats((3, 5))
ADAM: dict[str, Attr] = {
    "rate": "0.001",
    "beta1": "0.9",
    "beta2": "0.999",
    "epsilon": "0.00000001",
    "weight_decay": "0.01",
}
SAMPLES: dict[str, Sample] = {
    "matmul": floats((3, 5), (5, 7)),
    "batch_matmul": floats((2, 3, 5), (2, 5, 7)),
    **dict.fromkeys(
        ("add", "sub", "mul", "div", "maximum", "minimum", "greater", "less", "equal"), floats((3, 5), (5,))
    ),
    **dict.fromkeys(
        ("neg", "abs", "exp", "log", "sqrt", "rsqrt", "reciprocal", "square", "relu", "gelu", "silu"), ONE
    ),
    **dict.fromkeys(("sigmoid", "tanh", "sin", "cos", "softmax", "log_softmax", "argmax"), ONE),
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_mean"), ONE),
    "scale": floats((3, 5), factor="-2.5"),
    "cast": floats((3, 5), dtype="bfloat16"),
    "where": ([((3, 5), BOOL), ((3, 5), F32), ((3, 5), F32)], {}),
    "layer_norm": floats((3, 5), (5,), (5,), epsilon="0.00001"),
    "rms_norm": floats((3, 5), (5,), epsilon="0.00001"),
    "reshape": floats((3, 4), shape=(2, 6)),
    "transpose": floats((2, 3, 4), order=(2, 0, 1)),
    "slice": floats((3, 5), axis=1, start=1, stop=4),
    "concat": floats((3, 5), (3, 2), (3, 1), axis=1),
    "pad": floats((3, 5), before=(1, 0), after=(0, 2)),
    "broadcast_to": floats((3, 1), shape=(2, 3, 5)),
    "gather": ([((3, 4, 5), F32), ((2, 2), I32)], {}),
    "embedding": ([((3, 5), F32), ((7,), I32)], {}),
    "scatter_add": ([((3, 5), F32), ((7,), I32), ((7, 5), F32)], {}),
    "one_hot": ([((7,), I32)], {"depth": 3, "dtype": "float32"}),
    "rope": ([((3, 24), F32), ((3,), I32)], {"heads": 4, "head_dim": 6, "theta": 10_000}),
    "attention": floats((6, 24), (6, 12), (6, 12), batch=2, causal=1, **HEADS),
    "cache_append": ([((2, 3, 12), F32), ((2, 12), F32), ((2,), I32)], {}),
    "attention_cached": ([((2, 24), F32), ((2, 3, 12), F32), ((2, 3, 12), F32), ((2,), I32)], HEADS),
    "top_k_gate": floats((3, 5), k=2),
    "expert_ffn": floats((3, 4), (3, 2), (2, 4, 5), (2, 4, 5), (2, 5, 4), k=1, activation="silu"),
    "conv2d": floats((2, 3, 5, 7), (4, 3, 3, 2), stride=2, padding=1),
    "max_pool2d": floats((2, 3, 5, 7), size=3, stride=2),
    "avg_pool2d": floats((2, 3, 5, 7), size=3, stride=2),
    "stencil": floats((3, 4, 5), points=7, coefficients="-6 1 1 1 1 1 1"),
    "cross_entropy": ([((7, 3), F32), ((7,), I32)], {}),
    "sgd_update": floats((3, 5), (3, 5), rate="0.1"),
    "adam_m": floats((3, 5), (3, 5), beta1="0.9"),
    "adam_v": floats((3, 5), (3, 5), beta2="0.999"),
    "adamw_update": ([((3, 5), F32)] * 3 + [((1,), I32)], ADAM),
}


def single(op: str, inputs: list[tuple[Shape, DType]], attrs: dict[str, Attr]) -> Graph:
    """Return a graph of one operation on inputs called a, b, c and so on."""
    builder = GraphBuilder()
    names = [builder.input(chr(97 + index), shape, dtype) for index, (shape, dtype) in enumerate(inputs)]
    return builder.build(builder.op(op, *names, **attrs))[0]


def numbers(graph: Graph, seed: int = 1) -> dict[str, Array]:
    """Return positive inputs for it: floats from 0 to 1, integers below 3 and above 0, flags."""
    found: dict[str, Array] = {}
    for name, tensor in graph.inputs:
        shape = tuple(item or 1 for item in tensor.shape)
        spread = abs(uniform(seed, name, shape)) + 2.0**-10
        whole = words(seed, name, spread.size).reshape(shape)
        found[name] = spread if tensor.dtype.is_float else (whole % 2 + 1).astype(tensor.dtype.value)
        if tensor.dtype is BOOL:
            found[name] = whole % 2 == 0
    return found
