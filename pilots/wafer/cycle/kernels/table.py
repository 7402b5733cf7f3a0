"""The table from (kernel, operation) to its wavelet program; what is not in it is refused by name."""

from __future__ import annotations

from typing import Final

from pilots.wafer.cycle.kernels import (
    attention,
    attention_cached,
    batched,
    convolution,
    elementwise,
    experts,
    features,
    grids,
    moves,
    picks,
    products,
    rows,
    stencils,
    streamed,
    tables,
    updates,
)
from pilots.wafer.cycle.kernels.base import Build
from pilots.wafer.errors import UnsupportedOps
from pilots.wafer.handlers.moves import MOVE, TRANSPOSE
from pilots.wafer.program import Call, Kernel, Program

_PRODUCTS: Final[dict[Kernel, Build]] = {
    Kernel.STATIONARY: products.stationary,
    Kernel.GEMV: products.gemv,
    Kernel.SUMMA: grids.summa,
    Kernel.CANNON: grids.rotated,
    Kernel.MESH_GEMM: grids.rotated,
    Kernel.STREAMED: streamed.streamed,
}
_ROWS: Final[tuple[tuple[Kernel, tuple[str, ...], Build], ...]] = (
    *((kernel, ("matmul",), build) for kernel, build in _PRODUCTS.items()),
    *((kernel, ("batch_matmul",), batched.batched(build)) for kernel, build in _PRODUCTS.items()),
    (Kernel.ELEMENTWISE, elementwise.OPS, elementwise.elementwise),
    (Kernel.REDUCE, ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"), rows.reduce),
    (Kernel.SOFTMAX, ("softmax", "log_softmax"), rows.softmax),
    (Kernel.NORM, ("layer_norm", "rms_norm"), rows.norm),
    (Kernel.STENCIL, ("stencil",), stencils.stencil),
    (Kernel.ELEMENTWISE, ("rope",), features.rope),
    (Kernel.ELEMENTWISE, ("top_k_gate",), features.top_k_gate),
    (Kernel.ELEMENTWISE, ("one_hot",), features.one_hot),
    (Kernel.REDUCE, ("argmax",), picks.argmax),
    (Kernel.REDUCE, ("cross_entropy",), picks.cross_entropy),
    (Kernel.GATHER, ("gather", "embedding"), tables.gather),
    (Kernel.GATHER, ("scatter_add",), updates.scatter_add),
    (Kernel.CACHE_APPEND, ("cache_append",), updates.cache_append),
    (Kernel.MOVE, tuple(MOVE), moves.move),
    (Kernel.TRANSPOSE, tuple(TRANSPOSE), moves.move),
    (Kernel.OPTIMISER, elementwise.STEPS, elementwise.optimise),
    (Kernel.STENCIL, convolution.POOLS, convolution.pool),
    (Kernel.CONVOLUTION, ("conv2d",), convolution.convolution),
    (Kernel.EXPERTS, ("expert_ffn",), experts.expert_ffn),
    (Kernel.ATTENTION, ("attention",), attention.attention),
    (Kernel.ATTENTION_CACHED, ("attention_cached",), attention_cached.attention_cached),
)
PROGRAMS: Final[dict[tuple[Kernel, str], Build]] = {
    (kernel, op): build for kernel, ops, build in _ROWS for op in ops
}


def program_of(call: Call) -> Build:
    """Return what builds the wavelet program of a call; raises UnsupportedOps naming it."""
    if (call.kernel, call.op) not in PROGRAMS:
        raise UnsupportedOps(((f"{call.op} ({call.kernel})", f"call {call.index}"),))
    return PROGRAMS[call.kernel, call.op]


def require_programs(program: Program) -> None:
    """Raise UnsupportedOps naming every call without a wavelet program."""
    missing = tuple(
        (f"{call.op} ({call.kernel})", f"call {call.index}")
        for call in program.calls
        if (call.kernel, call.op) not in PROGRAMS
    )
    if missing:
        raise UnsupportedOps(missing)
