"""What can be said of a case without knowing the hardware: operations, bytes, elements, and a label of its kind.

The naive curve knows nothing else, and calibrated ranges are declared in these terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pilots.graph.model_config import ModelConfig
from pilots.wafer.machine import MACHINES
from pilots.wafer.workloads import (
    Case,
    Collective,
    Decode,
    EndToEnd,
    Fft,
    Gemm,
    Gemv,
    LocalProduct,
    Prefill,
    Stencil,
    Training,
    Workload,
)

FP32_BYTES: Final = 4
NAMES: Final = ("operations", "bytes", "pes")


@dataclass(frozen=True, slots=True)
class Features:
    """operations: floating point operations; bytes: of all operands; pes: elements in use, over all systems."""

    operations: float
    bytes: float
    pes: float

    @property
    def values(self) -> tuple[float, float, float]:
        """The three in the order of NAMES."""
        return (self.operations, self.bytes, self.pes)


def features(case: Case) -> Features:
    """Return the features of a case, each at least 1."""
    operations, size, pes = _of(case.workload, MACHINES[case.machine_id].pes)
    systems = case.systems
    return Features(max(1.0, operations * systems), max(1.0, size * systems), max(1.0, pes * systems))


def label(case: Case) -> str:
    """Return what a case is of: machine, kind, kernel or algorithm, element type. Sizes are not part of it."""
    workload = case.workload
    words: tuple[str, ...]
    match workload:
        case Gemm(kernel=kernel, dtype=dtype):
            words = (kernel, dtype.value)
        case LocalProduct(style=style, dtype=dtype):
            words = (style, dtype.value)
        case Gemv(dtype=dtype):
            words = (dtype.value,)
        case Collective(kind=kind, algorithm=algorithm):
            words = (kind, algorithm or "*")
        case Stencil(method=method, points=points, mixed_precision=mixed):
            words = (method, str(points), "mixed" if mixed else "fp32")
        case Training(forward_only=forward_only):
            words = ("forward" if forward_only else "step",)
        case _:
            words = ()
    systems = "one" if case.systems == 1 else "many"
    return " ".join((case.machine_id, systems, type(workload).__name__, *words))


def _of(workload: Workload, machine_pes: int) -> tuple[float, float, float]:
    """Return operations, bytes and elements on one system."""
    match workload:
        case Gemm(m=m, k=k, n=n, grid=grid, dtype=dtype):
            return 2.0 * m * k * n, (m * k + k * n + m * n) * dtype.item_bytes, grid**2 or machine_pes
        case LocalProduct(m=m, k=k, n=n, repeats=repeats, dtype=dtype):
            return 2.0 * m * k * n * repeats, (m * k + k * n + m * n) * dtype.item_bytes * repeats, 1
        case Gemv(k=k, n=n, grid=grid, dtype=dtype):
            return 2.0 * k * n, (k + k * n + n) * dtype.item_bytes, grid**2 or machine_pes
        case Decode() | Prefill() | EndToEnd() | Training():
            return _of_model(workload, machine_pes)
        case _:
            return _of_fabric(workload)


def _of_fabric(workload: Collective | Stencil | Fft) -> tuple[float, float, float]:
    match workload:
        case Collective(width=width, height=height, words=words):
            pes = width * height
            return float(words * pes), words * pes * FP32_BYTES, pes
        case Stencil(points=points, nx=nx, ny=ny, nz=nz, flops_per_cell=counted):
            cells = float(nx * ny * nz)
            return cells * (counted or 2 * points), cells * 2 * FP32_BYTES, nx * ny
        case Fft(n=n):
            return 15.0 * n**3 * (n.bit_length() - 1), n**3 * 2.0 * FP32_BYTES, n**2


def _of_model(
    workload: Decode | Prefill | EndToEnd | Training, machine_pes: int
) -> tuple[float, float, float]:
    match workload:
        case Decode(config=config, context=context, batch=batch, grid=grid):
            operations = batch * (2.0 * config.params_active + _attention(config, context))
            size = (
                config.params_active * config.dtype.item_bytes + batch * context * config.kv_bytes_per_token
            )
            return operations, size, grid**2 or machine_pes
        case Prefill(config=config, sequence=sequence, batch=batch, grid=grid):
            tokens = sequence * batch
            operations = tokens * (2.0 * config.params_active + _attention(config, sequence) / 2)
            return (
                operations,
                config.weight_bytes + tokens * config.kv_bytes_per_token,
                grid**2 or machine_pes,
            )
        case EndToEnd(config=config, prompt=prompt, generated=generated):
            first = _of_model(Prefill(config, prompt, 1, workload.prefill_grid), machine_pes)
            each = _of_model(Decode(config, prompt + generated // 2, 1, workload.decode_grid), machine_pes)
            return first[0] + generated * each[0], first[1] + generated * each[1], max(first[2], each[2])
        case Training(config=config, batch=batch, sequence=sequence, forward_only=forward_only):
            passes = 1 if forward_only else 3
            tokens = batch * sequence
            operations = passes * tokens * (2.0 * config.params_active + _attention(config, sequence) / 2)
            return operations, passes * float(config.weight_bytes), machine_pes


def _attention(config: ModelConfig, context: int) -> float:
    """Return the operations of one token's attention over `context` tokens in all layers."""
    return 4.0 * config.layers * config.query_width * context
