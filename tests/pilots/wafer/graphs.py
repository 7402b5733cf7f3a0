"""Graphs known by their shapes alone, and legal programs of them."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from pilots.graph.builder import GraphBuilder
from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType, Graph
from pilots.graph.known_models import find
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.legality import verify
from pilots.wafer.machine import WSE_2, Machine
from pilots.wafer.program import Program


@lru_cache(maxsize=64)
def mlp(text: str, dtype: DType = DType.FLOAT32) -> Graph:
    """Return a perceptron with weights w0, b0, w1, ... and relu between layers."""
    widths = [int(part) for part in text.split("-")]
    builder = GraphBuilder()
    value = builder.input("x", (None, widths[0]), dtype)
    for index, (k, n) in enumerate(pairwise(widths)):
        value = builder.op("relu", value) if index else value
        product = builder.op("matmul", value, builder.shape_only(f"w{index}", (k, n), dtype))
        value = builder.op("add", product, builder.shape_only(f"b{index}", (n,), dtype))
    return builder.build(value)[0]


def decoder(name: str = "LLaMA3-8B", *, phase: str = "decode", batch: int = 1, context: int = 2048) -> Graph:
    """Return a decoder of a published size in fp16."""
    return decoder_graph(find(name), phase=phase, batch=batch, context=context, dtype=DType.FLOAT16)


def compiled(graph: Graph, machine: Machine = WSE_2, **request: Any) -> Program:
    """Return a program that is legal unless it need not fit."""
    program = compile_graph(graph, machine, Request(**request))
    if request.get("capacity", True):
        verify(program, machine)
    return program
