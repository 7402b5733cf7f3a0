"""What can be predicted: one frozen description per kind of workload, and the case that puts it on a machine.

A case holds inputs only. Nothing here may carry a measured value (wafer.md, validation 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pilots.graph.ir import DType
from pilots.graph.model_config import ModelConfig


class Family(StrEnum):
    """Families of workloads, declared before the first fit."""

    GEMM = "GEMM"
    GEMV = "GEMV"
    COLLECTIVES = "COLLECTIVES"
    STENCIL = "STENCIL"
    DECODE = "DECODE"
    PREFILL = "PREFILL"
    TRAINING = "TRAINING"


class Quantity(StrEnum):
    """What a prediction is asked for."""

    CYCLES = "cycles"
    SECONDS = "s"
    TOKENS_PER_SECOND = "tokens/s"
    SAMPLES_PER_SECOND = "samples/s"
    FLOPS_PER_SECOND = "FLOP/s"
    STEPS_PER_SECOND = "steps/s"


@dataclass(frozen=True, slots=True)
class Gemm:
    """[m, k] x [k, n] on grid x grid elements; kernel: SUMMA, CANNON or MESH_GEMM; grid 0: the compiler's choice."""

    kernel: str
    m: int
    k: int
    n: int
    grid: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class LocalProduct:
    """[m, k] x [k, n] on a single element, `repeats` times; style: LOOP (scalar loops), MAP (one DSD per column)."""

    style: str
    m: int
    k: int
    n: int
    repeats: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Gemv:
    """[1, k] x [k, n] on grid x grid elements with the result on every row; grid 0: the largest power of two."""

    k: int
    n: int
    grid: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Collective:
    """`words` wavelets per element over width x height elements; kind: broadcast, reduce, allreduce, all_to_all.

    algorithm: star, chain, tree, two-phase, ring, snake, or "" for the compiler's choice.
    """

    kind: str
    algorithm: str
    width: int
    height: int
    words: int


@dataclass(frozen=True, slots=True)
class Stencil:
    """One step over nx x ny x nz cells, one column of nz cells per element; method: JACOBI, WAVE or BICGSTAB.

    flops_per_cell: as the source counts them; 0: two per point. mixed_precision: part of the label alone, which decides
    what is inside the calibrated range; the cost of a method does not ask for it.
    """

    method: str
    points: int
    nx: int
    ny: int
    nz: int
    flops_per_cell: int
    mixed_precision: bool


@dataclass(frozen=True, slots=True)
class Fft:
    """A three-dimensional transform of n^3 complex fp32 numbers on n x n elements."""

    n: int


@dataclass(frozen=True, slots=True)
class Decode:
    """One token for each of `batch` sequences of `context` tokens; grid x grid elements per region, 0: choice."""

    config: ModelConfig
    context: int
    batch: int
    grid: int


@dataclass(frozen=True, slots=True)
class Prefill:
    """All tokens of `batch` prompts of `sequence` tokens."""

    config: ModelConfig
    sequence: int
    batch: int
    grid: int


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """A prompt and the answer to it, tokens per second counted over the answer alone."""

    config: ModelConfig
    prompt: int
    generated: int
    prefill_grid: int
    decode_grid: int


@dataclass(frozen=True, slots=True)
class Training:
    """One optimiser step over `batch` sequences (forward, backward, update); forward_only: evaluation."""

    config: ModelConfig
    batch: int
    sequence: int
    forward_only: bool


Workload = Gemm | LocalProduct | Gemv | Collective | Stencil | Fft | Decode | Prefill | EndToEnd | Training


@dataclass(frozen=True, slots=True)
class Case:
    """A workload on a machine. clock_hz 0: the machine's own clock."""

    family: Family
    workload: Workload
    machine_id: str
    clock_hz: int
    systems: int
    quantity: Quantity
