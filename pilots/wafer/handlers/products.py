"""Matrix products: the kernel decides the order of the sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, number, wide
from pilots.wafer.numerics import Float
from pilots.wafer.numerics_products import (
    accumulate_product,
    chained_product,
    rotated_product,
    two_level_product,
)
from pilots.wafer.program import Call, Kernel

# left [m, k], right [k, n], and how many rows of left the grid takes in one pass
Product = Callable[[Call, Float, Float, int], Float]
ORDERS: Final[dict[Kernel, Product]] = {
    Kernel.SUMMA: lambda _call, left, right, _rows: accumulate_product(left, right),
    Kernel.CANNON: lambda call, left, right, rows: rotated_product(left, right, call.rect.width, rows),
    Kernel.MESH_GEMM: lambda call, left, right, rows: rotated_product(left, right, call.rect.width, rows),
    Kernel.STATIONARY: lambda call, left, right, _rows: chained_product(left, right, call.tile[1]),
    Kernel.STREAMED: lambda call, left, right, _rows: chained_product(left, right, call.tile[1]),
    Kernel.GEMV: lambda call, left, right, _rows: two_level_product(left, right, call.tile[1]),
}


def _matmul(call: Call, inputs: Inputs) -> Array:
    """Return left [m, k] times right [k, n], or times the rows of right [n, k] if it is transposed."""
    left, right = wide(inputs[0]), wide(inputs[1])
    if number(call, "transposed", 0):
        right = np.ascontiguousarray(right.T)
    return _product(call, left, right, call.shape[0])


def _batch_matmul(call: Call, inputs: Inputs) -> Array:
    """Return left [b, m, k] times right [b, k, n], one product after the other, each in one pass."""
    pairs = zip(wide(inputs[0]), wide(inputs[1]), strict=True)
    return np.stack([_product(call, left, right, len(left)) for left, right in pairs])


def _product(call: Call, left: Float, right: Float, rows: int) -> Float:
    if left.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(f"{left.shape} times {right.shape} is no product")
    return ORDERS[call.kernel](call, left, right, rows)


HANDLERS: Final[dict[str, Handler]] = {"matmul": _matmul, "batch_matmul": _batch_matmul}
