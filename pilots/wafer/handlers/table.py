"""The table from (kernel, operation) to its handler, and the one place that applies it."""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.graph.ir import DType
from pilots.wafer.errors import UnsupportedOps
from pilots.wafer.handlers import (
    attention,
    elementwise,
    experts,
    grids,
    moves,
    optimiser,
    products,
    reductions,
    rows,
)
from pilots.wafer.handlers.base import Array, Handler, Inputs
from pilots.wafer.numerics import narrowed
from pilots.wafer.program import PRODUCTS, Call, Kernel, Program

_BY_KERNEL: Final[tuple[tuple[Kernel, dict[str, Handler]], ...]] = (
    *((kernel, products.HANDLERS) for kernel in PRODUCTS),
    (Kernel.ELEMENTWISE, elementwise.HANDLERS),
    (Kernel.ELEMENTWISE, rows.HANDLERS),
    (Kernel.REDUCE, reductions.REDUCE),
    (Kernel.SOFTMAX, reductions.SOFTMAX),
    (Kernel.NORM, reductions.NORM),
    (Kernel.GATHER, moves.GATHER),
    (Kernel.MOVE, moves.MOVE),
    (Kernel.TRANSPOSE, moves.TRANSPOSE),
    (Kernel.ATTENTION, attention.ATTENTION),
    (Kernel.ATTENTION_CACHED, attention.ATTENTION_CACHED),
    (Kernel.CACHE_APPEND, attention.CACHE_APPEND),
    (Kernel.EXPERTS, experts.HANDLERS),
    (Kernel.CONVOLUTION, grids.CONVOLUTION),
    (Kernel.STENCIL, grids.STENCIL),
    (Kernel.OPTIMISER, optimiser.HANDLERS),
)
HANDLERS: Final[dict[tuple[Kernel, str], Handler]] = {
    (kernel, op): handler for kernel, table in _BY_KERNEL for op, handler in table.items()
}


def require_handlers(program: Program) -> None:
    """Raise UnsupportedOps naming every call that no handler computes."""
    missing = tuple(
        (f"{call.op} ({call.kernel})", f"call {call.index}")
        for call in program.calls
        if (call.kernel, call.op) not in HANDLERS
    )
    if missing:
        raise UnsupportedOps(missing)


def apply(call: Call, inputs: Inputs, dtype: DType) -> Array:
    """Return the result of one call, floats rounded to `dtype`; NaN and infinity follow IEEE 754 without warnings."""
    with np.errstate(all="ignore"):
        return narrowed(HANDLERS[call.kernel, call.op](call, inputs), dtype)
