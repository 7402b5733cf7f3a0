"""A multilayer perceptron from a short text such as "64-256-256-8", with seeded weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any, Final

from pilots.graph import rng
from pilots.graph.builder import GraphBuilder
from pilots.graph.errors import refusal
from pilots.graph.ir import FLOATS, Array, DType, Graph, graph_signature, model_digest, rounded
from pilots.graph.spec import ACTIVATIONS, flops_per_sample

MIN_WIDTHS: Final = 2
MAX_WIDTHS: Final = 32
MAX_WIDTH: Final = 8192
MAX_PARAMS: Final = 50_000_000
MAX_TEXT: Final = 200
BIAS_SCALE: Final = 0.1
OUTPUT_ACTIVATIONS: Final = ("none", "softmax", "sigmoid")
_WIDTH: Final = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """What a person wants to know about a graph: counts are exact, digests in lower-case hexadecimal."""

    widths: tuple[int, ...]
    params: int
    weight_bytes: int
    flops_per_sample: int
    dtype: str
    ops: tuple[tuple[str, int], ...]
    model_digest: str
    graph_signature: str

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "widths": list(self.widths),
            "params": self.params,
            "weight_bytes": self.weight_bytes,
            "flops_per_sample": self.flops_per_sample,
            "dtype": self.dtype,
            "ops": dict(self.ops),
            "model_digest": self.model_digest,
            "graph_signature": self.graph_signature,
        }


def parse_widths(text: str) -> tuple[int, ...]:
    """Return the layer widths of a text such as "64-256-8"; raises GraphError with the place of the fault."""
    if len(text) > MAX_TEXT:
        sentence = f"Die Modellangabe ist länger als {MAX_TEXT} Zeichen."
        raise refusal("TEXT_TOO_LONG", "text", f"at most {MAX_TEXT} characters", str(len(text)), sentence)
    parts = text.strip().split("-")
    if not MIN_WIDTHS <= len(parts) <= MAX_WIDTHS:
        sentence = f"Ein Modell hat {MIN_WIDTHS} bis {MAX_WIDTHS} Schichtbreiten, zum Beispiel 64-256-256-8."
        raise refusal("LAYER_COUNT", "text", f"{MIN_WIDTHS}..{MAX_WIDTHS} widths", str(len(parts)), sentence)
    for index, part in enumerate(parts, start=1):
        if not _WIDTH.fullmatch(part) or int(part) > MAX_WIDTH:
            sentence = f"Die {index}. Schichtbreite muss eine ganze Zahl von 1 bis {MAX_WIDTH} sein."
            raise refusal("WIDTH", f"width {index}", f"an integer 1..{MAX_WIDTH}", repr(part), sentence)
    widths = tuple(int(part) for part in parts)
    params = sum(k * n + n for k, n in pairwise(widths))
    if params > MAX_PARAMS:
        sentence = f"Das Modell hat {params} Parameter; erlaubt sind höchstens {MAX_PARAMS}."
        raise refusal("PARAM_COUNT", "text", f"at most {MAX_PARAMS} parameters", str(params), sentence)
    return widths


def mlp_from_text(
    text: str,
    *,
    activation: str = "relu",
    dtype: str = "float32",
    seed: int = 1,
    output_activation: str = "none",
) -> tuple[Graph, dict[str, Array]]:
    """Return graph and weights of a perceptron: matmul, bias and activation per layer, none after the last.

    Weights are uniform over +-sqrt(6 / (fan in + fan out)), biases over +-0.1 (`pilots.graph.rng`); float16 and
    bfloat16 weights are the rounded float32 ones. Raises GraphError.
    """
    widths = parse_widths(text)
    _one_of("ACTIVATION", activation, ACTIVATIONS, "Die Aktivierung")
    _one_of("OUTPUT_ACTIVATION", output_activation, OUTPUT_ACTIVATIONS, "Die Ausgangsaktivierung")
    _one_of("DTYPE", dtype, tuple(item.value for item in FLOATS), "Der Zahlentyp")
    if not 0 <= seed <= rng.MAX_SEED:
        sentence = f"Der Startwert muss zwischen 0 und {rng.MAX_SEED} liegen."
        raise refusal("SEED", "seed", f"0..{rng.MAX_SEED}", str(seed), sentence)
    kind = DType(dtype)
    builder = GraphBuilder()
    value = builder.input("x", (None, widths[0]), kind)
    last = len(widths) - 2
    for index, (k, n) in enumerate(pairwise(widths)):
        scale = sqrt(6.0 / (k + n))
        weight = builder.constant(f"w{index}", _numbers(seed, f"w{index}", (k, n), scale, kind), kind)
        bias = builder.constant(f"b{index}", _numbers(seed, f"b{index}", (n,), BIAS_SCALE, kind), kind)
        value = builder.op("add", builder.op("matmul", value, weight), bias)
        chosen = output_activation if index == last else activation
        value = builder.op(chosen, value) if chosen != "none" else value
    recipe = (
        ("kind", "mlp"),
        ("text", "-".join(map(str, widths))),
        ("activation", activation),
        ("dtype", dtype),
        ("seed", seed),
        ("output_activation", output_activation),
    )
    return builder.build(value, recipe=recipe)


def describe(graph: Graph) -> GraphSummary:
    """Return parameter count, layer widths, operations per sample and digests of a graph."""
    types = graph.tensors()
    sizes = [array_size(item.tensor.shape) for item in graph.constants]
    widths = [types[graph.inputs[0][0]].shape[-1] or 0]
    widths += [node.tensor.shape[-1] or 0 for node in graph.nodes if node.op == "matmul"]
    counts: dict[str, int] = {}
    for node in graph.nodes:
        counts[node.op] = counts.get(node.op, 0) + 1
    return GraphSummary(
        widths=tuple(widths),
        params=sum(sizes),
        weight_bytes=sum(
            size * item.tensor.dtype.item_bytes for size, item in zip(sizes, graph.constants, strict=True)
        ),
        flops_per_sample=flops_per_sample(graph),
        dtype=graph.dtype.value,
        ops=tuple(sorted(counts.items())),
        model_digest=model_digest(graph),
        graph_signature=graph_signature(graph),
    )


def input_samples(graph: Graph, *, inputs_seed: int, batch: int) -> Array:
    """Return the first `batch` samples of the seeded input stream; sample i is the same for every batch size."""
    name, tensor = graph.inputs[0]
    width = tensor.shape[-1] or 1
    return rounded(rng.uniform(inputs_seed, f"input {name}", (batch, width)), tensor.dtype)


def array_size(shape: tuple[int | None, ...]) -> int:
    """Return the number of elements of a constant shape."""
    size = 1
    for item in shape:
        size *= item or 1
    return size


def _numbers(seed: int, stream: str, shape: tuple[int, ...], scale: float, dtype: DType) -> Array:
    return rounded(rng.uniform(seed, stream, shape, scale), dtype)


def _one_of(code: str, got: str, allowed: tuple[str, ...], subject: str) -> None:
    if got not in allowed:
        sentence = f"{subject} ist unbekannt; möglich sind: {', '.join(allowed)}."
        raise refusal(code, code.lower(), f"one of {', '.join(allowed)}", repr(got)[:80], sentence)
