"""Cases of kernels that consist of several products or reductions: attention, experts, convolution, pools, batches."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Final

import numpy as np

from pilots.graph.ir import Attrs, DType
from pilots.graph.rng import uniform
from pilots.wafer.cycle.case import Case
from pilots.wafer.handlers.base import Array
from pilots.wafer.numerics import narrowed

BATCH: Final = 4  # products of a batch
_F16, _BF16 = DType.FLOAT16, DType.BFLOAT16


def _attention(case: Case) -> tuple[Array, ...]:
    batch, queries, context, heads, kv_heads, size = case.shape
    widths = ((queries, heads), (context, kv_heads), (context, kv_heads))
    return tuple(
        _floats(case, index, batch * rows, count * size) for index, (rows, count) in enumerate(widths)
    )


def _attention_cached(case: Case) -> tuple[Array, ...]:
    batch, _, context, heads, kv_heads, size = case.shape
    caches = tuple(_floats(case, index, batch, context, kv_heads * size) for index in (1, 2))
    last = np.arange(context - batch, context, dtype=np.int32)
    return (_floats(case, 0, batch, heads * size), *caches, last)


def _experts(case: Case) -> tuple[Array, ...]:
    rows, width, hidden, experts, chosen = case.shape
    gates = _floats(case, 1, rows, experts)
    kept = (np.arange(experts) + np.arange(rows)[:, None]) % experts < chosen
    weights = ((width, hidden), (width, hidden), (hidden, width))
    return (
        _floats(case, 0, rows, width),
        np.where(kept, gates, np.float32(0)),
        *(_floats(case, 2 + index, experts, *size) for index, size in enumerate(weights)),
    )


def _convolution(case: Case) -> tuple[Array, ...]:
    """A square picture of as many channels as 3 x 3 windows need, with a border of one."""
    side, channels = isqrt(case.shape[0]), case.shape[1] // 9
    return (_floats(case, 0, 1, channels, side, side), _floats(case, 1, case.shape[2], channels, 3, 3))


def _pictures(case: Case) -> tuple[Array, ...]:
    numbers = {name: value for name, value in case.attrs if isinstance(value, int)}
    sides = [(count - 1) * numbers["stride"] + numbers["size"] for count in case.shape[1:3]]
    return (_floats(case, 0, 1, case.shape[0], *sides),)


def _batches(case: Case) -> tuple[Array, ...]:
    rows, k, n = case.shape
    return (_floats(case, 0, BATCH, rows // BATCH, k), _floats(case, 1, BATCH, k, n))


def _factors(case: Case) -> tuple[Array, ...]:
    m, k, n = case.shape
    return (_floats(case, 0, m, k), _floats(case, 1, k, n))


def _floats(case: Case, index: int, *shape: int) -> Array:
    return narrowed(uniform(2, f"{index}", shape, 2.0), case.dtype)


_BATCHED: Final = (
    ("STATIONARY", 32),
    ("GEMV", 16),
    ("SUMMA", 32),
    ("MESH_GEMM", 32),
    ("CANNON", 32),
    ("STREAMED", 64),
)
# (kernel, operation) -> seeded inputs of a case; a kernel without operation stands for all of its own.
INPUTS: Final[dict[tuple[str, str], Callable[[Case], tuple[Array, ...]]]] = {
    ("ATTENTION", "attention"): _attention,
    ("ATTENTION_CACHED", "attention_cached"): _attention_cached,
    ("EXPERTS", "expert_ffn"): _experts,
    ("CONVOLUTION", "conv2d"): _convolution,
    ("STENCIL", "max_pool2d"): _pictures,
    ("STENCIL", "avg_pool2d"): _pictures,
    ("STREAMED", "matmul"): _factors,
    **{(kernel, "batch_matmul"): _batches for kernel, _ in _BATCHED},
}


def _heads(shape: tuple[int, ...], **more: int) -> Attrs:
    known = {"heads": shape[3], "kv_heads": shape[4], "head_dim": shape[5], **more}
    return tuple(sorted(known.items()))


def _attentions() -> tuple[Case, ...]:
    whole = (
        ((1, 32, 32, 8, 4, 16), (8, 8), DType.FLOAT32, 1),
        ((4, 16, 16, 2, 2, 32), (8, 8), DType.FLOAT32, 0),
        ((1, 64, 64, 8, 4, 32), (8, 8), _F16, 1),
        ((2, 7, 7, 4, 2, 6), (8, 4), _BF16, 1),
    )
    cached = (
        ((1, 1, 64, 8, 4, 16), (8, 8), DType.FLOAT32),
        ((1, 1, 256, 16, 4, 64), (16, 16), _F16),
        ((1, 1, 256, 8, 4, 32), (8, 8), _BF16),
        ((1, 1, 64, 2, 2, 32), (8, 8), DType.FLOAT32),
        ((2, 1, 7, 4, 2, 6), (3, 3), DType.FLOAT32),
        ((1, 1, 512, 2, 1, 8), (4, 256), _F16),  # sums meet over many rows
    )
    return (
        *(
            Case(
                "ATTENTION",
                "attention",
                shape,
                grid,
                dtype,
                attrs=_heads(shape, batch=shape[0], causal=causal),
            )
            for shape, grid, dtype, causal in whole
        ),
        *(
            Case("ATTENTION_CACHED", "attention_cached", shape, grid, dtype, attrs=_heads(shape))
            for shape, grid, dtype in cached
        ),
    )


def _pool(op: str, shape: tuple[int, ...], grid: tuple[int, int], stride: int, dtype: DType) -> Case:
    attrs: Attrs = (("size", isqrt(shape[3])), ("stride", stride))
    return Case("STENCIL", op, shape, grid, dtype, attrs=attrs)


def _products() -> tuple[Case, ...]:
    padded: Attrs = (("padding", 1), ("stride", 1))
    experts: Attrs = (("activation", "silu"), ("k", 2))
    return (
        Case("EXPERTS", "expert_ffn", (2, 64, 128, 4, 2), (8, 8), attrs=experts),
        Case("EXPERTS", "expert_ffn", (2, 128, 256, 4, 2), (8, 8), _F16, attrs=experts),
        Case("CONVOLUTION", "conv2d", (64, 36, 8), (4, 4), attrs=padded),
        Case("CONVOLUTION", "conv2d", (144, 72, 16), (8, 8), _BF16, attrs=padded),
        Case("STREAMED", "matmul", (32, 32, 32), (4, 4)),
        Case("STREAMED", "matmul", (128, 128, 64), (8, 8), _BF16),
        Case("STREAMED", "matmul", (256, 8, 32), (8, 8), _F16),
        *(
            Case(kernel, "batch_matmul", (rows, 32, 32), (4, 4), _F16, attrs=(("batch", BATCH),))
            for kernel, rows in _BATCHED
        ),
    )


COMPOSITE: Final[tuple[Case, ...]] = (
    *_attentions(),
    *_products(),
    _pool("max_pool2d", (16, 15, 15, 9), (8, 8), 2, DType.FLOAT32),
    _pool("max_pool2d", (6, 7, 5, 9), (2, 3), 1, _BF16),
    _pool("avg_pool2d", (16, 16, 32, 4), (16, 16), 2, DType.FLOAT32),
    _pool("avg_pool2d", (6, 2, 3, 9), (4, 4), 2, _F16),
)
