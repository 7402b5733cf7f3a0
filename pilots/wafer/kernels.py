"""What a stage costs: cycles term by term, as functions of shapes alone. Interpreters share these functions.

Fitted constants come from `data/calibration.json` (see `calibrate.py`); formulas and single figures name their
source in `data/reference.json`. Words are 32-bit wavelets. TR is the ramp latency.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

from pilots.graph.ir import DType
from pilots.wafer.machine import Machine
from pilots.wafer.program import ACCUMULATOR_BYTES, WORD_BYTES, Kernel, Stage
from qms.core import canonical
from qms.core.values import Calibration

CALIBRATION: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "calibration.json").read_text(encoding="utf-8")
)
CALIBRATION_SHA256: Final = canonical.digest(CALIBRATION)
_GEMM: Final[dict[str, Any]] = CALIBRATION["families"]["GEMM"]
_GEMV: Final[dict[str, Any]] = CALIBRATION["families"]["GEMV"]
_FACTORS: Final = {name: float(text) for name, text in CALIBRATION["factors"].items()}
PER_ELEMENT: Final = float(_GEMM["constants"]["cycles_per_element"])
PER_FMA: Final = float(_GEMM["constants"]["cycles_per_fma"])
PER_STEP: Final = float(_GEMM["constants"]["cycles_per_step"])
GEMV_CALL: Final = float(_GEMV["constants"]["cycles_per_call"])
GEMV_COLUMN: Final = float(_GEMV["constants"]["cycles_per_column"])
GEMV_FMA: Final = float(_GEMV["constants"]["cycles_per_fma"])
VECTOR_SETUP: Final = 17  # pe.fma32.si, params.setup_cycles
VECTOR_CYCLES: Final = 2  # pe.fma32.si, 0.5 elements per cycle
DIVISION_CYCLES: Final = 50  # pe.div
# Vector operations and divisions per element of our own polynomials (numerics.py).
ELEMENT_OPS: Final[dict[str, tuple[int, int]]] = {
    "add": (1, 0),
    "sub": (1, 0),
    "mul": (1, 0),
    "relu": (1, 0),
    "sigmoid": (25, 1),
    "tanh": (40, 1),
    "gelu": (48, 1),
    "softmax": (26, 1),
}
HOST_FACTOR: Final = _FACTORS["host"]


@dataclass(frozen=True, slots=True)
class StageCost:
    """Cycles of one stage for one micro-batch by term, with the interval of the model error and its state."""

    terms: tuple[tuple[str, int], ...]
    calibration: Calibration
    lower_cycles: int
    upper_cycles: int
    fabric_words: int
    multiply_adds: int

    @property
    def cycles(self) -> int:
        """Sum of the terms."""
        return sum(value for _, value in self.terms)


def stage_cost(stage: Stage, machine: Machine, dtype: DType, *, hops_in: int) -> StageCost:
    """Return the cost of a stage; hops_in: distance its inputs travel from the stage before."""
    product = _product_terms(stage, machine, dtype)
    moves = {
        "realign": _words(stage.m * stage.k, dtype) + hops_in * machine.hop_cycles.value + _ramps(machine)
    }
    moves |= {"epilogue": _epilogue_cycles(stage, machine)}
    inside = is_calibrated(stage, machine, dtype)
    wide = extrapolation_factor(stage, machine, dtype)
    narrow = float(_GEMM["factor_calibrated"]) if inside else wide
    product_cycles, moved_cycles = sum(product.values()), sum(moves.values())
    return StageCost(
        terms=tuple((product | moves).items()),
        calibration=Calibration.CALIBRATED if inside else Calibration.EXTRAPOLATED,
        lower_cycles=int(product_cycles / narrow + moved_cycles / wide),
        upper_cycles=ceil(product_cycles * narrow + moved_cycles * wide),
        fabric_words=_fabric_words(stage, dtype),
        multiply_adds=stage.m * stage.k * stage.n,
    )


def is_calibrated(stage: Stage, machine: Machine, dtype: DType) -> bool:
    """Say whether the product lies inside the measured runs: SUMMA, fp32, square tiles and grids of their range."""
    limits = _GEMM["range"]
    tiles = {stage.tile_m, stage.tile_k, stage.tile_n}
    return (
        machine.calibrated
        and dtype is DType.FLOAT32
        and stage.kernel is Kernel.SUMMA
        and len(tiles) == 1
        and limits["tile"][0] <= stage.tile_k <= limits["tile"][1]
        and limits["grid"][0] <= stage.rect.width <= limits["grid"][1]
    )


def extrapolation_factor(stage: Stage, machine: Machine, dtype: DType) -> float:
    """Return the half-width factor of the interval outside the calibration points."""
    family = _GEMV if stage.kernel is Kernel.GEMV else _GEMM
    factor = float(family["factor_extrapolated"])
    factor *= 1.0 if machine.calibrated else _FACTORS["generation"]
    return factor * (1.0 if dtype is DType.FLOAT32 else _FACTORS["half_precision"])


def _product_terms(stage: Stage, machine: Machine, dtype: DType) -> dict[str, int]:
    if stage.kernel is Kernel.SUMMA:
        return _summa_terms(stage, dtype)
    rows, columns = stage.rect.height, stage.rect.width
    area = stage.tile_k * stage.tile_n
    if stage.kernel is Kernel.GEMV:
        compute = GEMV_CALL + GEMV_COLUMN * stage.tile_k + GEMV_FMA * area
    else:
        compute = area * (PER_ELEMENT + PER_FMA * stage.tile_m)
    block = _words(stage.tile_m * stage.tile_k, dtype)
    sums = stage.tile_m * stage.tile_n * ACCUMULATOR_BYTES // WORD_BYTES
    return {
        "launch": ceil(PER_STEP),
        "broadcast": block + columns * machine.hop_cycles.value + _ramps(machine),  # formula bcast1d
        "compute": ceil(compute),
        "reduce": chain_cycles(sums, rows, machine),
    }


def _summa_terms(stage: Stage, dtype: DType) -> dict[str, int]:
    steps = stage.rect.width
    block = max(_words(stage.tile_m * stage.tile_k, dtype), _words(stage.tile_k * stage.tile_n, dtype))
    compute = stage.tile_k * stage.tile_n * (PER_ELEMENT + PER_FMA * stage.tile_m)
    return {"steps": ceil(steps * PER_STEP), "broadcast": steps * block, "compute": ceil(steps * compute)}


def chain_cycles(words: int, elements: int, machine: Machine) -> int:
    """Return the cycles of a chain reduction (formula chain): B + (2 TR + 2)(P - 1), hops of more than one added."""
    if elements == 1:
        return 0
    step = 2 * machine.ramp_cycles.value + 1 + machine.hop_cycles.value
    return words + step * (elements - 1)


def _epilogue_cycles(stage: Stage, machine: Machine) -> int:
    elements = stage.tile_m * stage.tile_n
    cycles = 0
    for op, _ in stage.epilogue:
        vectors, divisions = ELEMENT_OPS[op]
        cycles += vectors * (VECTOR_SETUP + VECTOR_CYCLES * elements) + divisions * DIVISION_CYCLES * elements
        if op == "softmax":
            cycles += 2 * chain_cycles(stage.tile_m, stage.rect.width, machine)
    return cycles


def _fabric_words(stage: Stage, dtype: DType) -> int:
    moved = _words(stage.m * stage.k, dtype)
    if stage.kernel is Kernel.SUMMA:
        blocks = _words(stage.tile_m * stage.tile_k, dtype) + _words(stage.tile_k * stage.tile_n, dtype)
        return moved + stage.rect.width * (stage.rect.width - 1) * stage.rect.width * blocks
    rows, columns = stage.rect.height, stage.rect.width
    broadcast = rows * (columns - 1) * _words(stage.tile_m * stage.tile_k, dtype)
    sums = stage.tile_m * stage.tile_n * ACCUMULATOR_BYTES // WORD_BYTES
    return moved + broadcast + columns * (rows - 1) * sums


def _words(elements: int, dtype: DType) -> int:
    return -(-elements * dtype.item_bytes // WORD_BYTES)


def _ramps(machine: Machine) -> int:
    return 2 * machine.ramp_cycles.value
