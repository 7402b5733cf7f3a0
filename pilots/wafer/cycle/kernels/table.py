"""The table from (kernel, operation) to its wavelet program; what is not in it is refused by name."""

from __future__ import annotations

from typing import Final

from pilots.wafer.cycle.kernels import elementwise, grids, products, rows, stencils
from pilots.wafer.cycle.kernels.base import Build
from pilots.wafer.errors import UnsupportedOps
from pilots.wafer.program import Call, Kernel, Program

_ROWS: Final[tuple[tuple[Kernel, tuple[str, ...], Build], ...]] = (
    (Kernel.STATIONARY, ("matmul",), products.stationary),
    (Kernel.GEMV, ("matmul",), products.gemv),
    (Kernel.SUMMA, ("matmul",), grids.summa),
    (Kernel.CANNON, ("matmul",), grids.rotated),
    (Kernel.MESH_GEMM, ("matmul",), grids.rotated),
    (Kernel.ELEMENTWISE, elementwise.OPS, elementwise.elementwise),
    (Kernel.REDUCE, ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"), rows.reduce),
    (Kernel.SOFTMAX, ("softmax", "log_softmax"), rows.softmax),
    (Kernel.NORM, ("layer_norm", "rms_norm"), rows.norm),
    (Kernel.STENCIL, ("stencil",), stencils.stencil),
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
