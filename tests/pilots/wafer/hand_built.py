"""Programs written by hand: a few calls on a small rectangle, without the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from pilots.graph.ir import Attr, DType
from pilots.graph.rng import uniform
from pilots.wafer.program import SHAPES, Call, Kernel, Mode, Program, Rect, Region


def call(
    kernel: Kernel,
    op: str,
    inputs: tuple[str, ...] = ("x",),
    output: str = "y",
    *,
    tile: tuple[int, ...] = (4, 3, 5),
    grid: tuple[int, int] = (4, 4),
    attrs: Mapping[str, Attr] | None = None,
    shape: tuple[int, ...] | None = None,
) -> Call:
    """Return a call; grid is (width, height)."""
    sizes = shape or (1,) * len(SHAPES[kernel])
    ordered = tuple(sorted((attrs or {}).items()))
    return Call(0, kernel, op, inputs, output, 0, Rect(0, 0, *grid), sizes, tile, ordered)


def program(
    *calls: Call,
    inputs: tuple[str, ...] = ("x",),
    outputs: tuple[str, ...] = ("y",),
    dtype: DType = DType.FLOAT32,
    micro_batch: int = 1,
) -> Program:
    """Return a program of these calls, numbered in order."""
    numbered = tuple(replace(item, index=index) for index, item in enumerate(calls))
    region = Region(0, Rect(0, 0, 8, 8))
    digests = ("0" * 64, "1" * 64)
    mode = Mode.RESIDENT
    return Program("lab-8x8", *digests, dtype, mode, micro_batch, 1, (region,), (), numbered, inputs, outputs)


def numbers(name: str, *shape: int, scale: float = 2.0) -> Any:
    """Return seeded fp32 numbers over +-scale."""
    return uniform(3, name, shape, scale)


def perceptron(
    *widths: int, dtype: DType = DType.FLOAT32, activation: str = "gelu"
) -> tuple[Program, dict[str, Any]]:
    """Return a perceptron with one activation between products and its weights; kernels alternate."""
    kernels = (Kernel.STATIONARY, Kernel.MESH_GEMM, Kernel.GEMV, Kernel.SUMMA)
    calls, weights, value = [], {}, "x"
    for index, (k, n) in enumerate(pairwise(widths)):
        weights[f"w{index}"] = numbers(f"w{index}", k, n, scale=0.5)
        shape = (4, k, n)
        product = call(
            kernels[index % 4], "matmul", (value, f"w{index}"), f"p{index}", tile=(4, 3, 5), shape=shape
        )
        calls += [product, call(Kernel.ELEMENTWISE, activation, (f"p{index}",), f"v{index}", shape=(4, n))]
        value = f"v{index}"
    return program(*calls, outputs=(value,), dtype=dtype, micro_batch=4), weights
