"""A compiled program: frozen data that says which element holds what and who talks to whom. One table says what is legal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pilots.graph.ir import DType
from pilots.wafer.errors import ProgramError
from pilots.wafer.machine import Machine
from qms.core import canonical

WORD_BYTES: Final = 4  # one wavelet carries 32 bits (rt.link)
ACCUMULATOR_BYTES: Final = 4  # sums are kept in fp32 for both element types
MIN_TILE: Final = 4  # declared validity of the timing model: the smallest tile that was ever measured
MAX_TILE: Final = 128  # and the largest one any held-out entry has


class Kernel(StrEnum):
    """How a matrix product is laid out on a rectangle of elements."""

    SUMMA = "SUMMA"  # square grid; blocks of A and B are broadcast step by step
    STATIONARY = (
        "STATIONARY"  # weights stay; activations are broadcast along rows, sums travel down the columns
    )
    GEMV = "GEMV"  # as STATIONARY for one sample, with the matrix-vector inner loop


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle of processing elements: left upper corner, width, height."""

    x: int
    y: int
    width: int
    height: int

    @property
    def pes(self) -> int:
        """Number of elements."""
        return self.width * self.height

    @property
    def centre(self) -> tuple[int, int]:
        """Middle element, rounded down."""
        return (self.x + self.width // 2, self.y + self.height // 2)

    def overlaps(self, other: Rect) -> bool:
        """Say whether the two share an element."""
        apart_x = self.x + self.width <= other.x or other.x + other.width <= self.x
        apart_y = self.y + self.height <= other.y or other.y + other.height <= self.y
        return not (apart_x or apart_y)


@dataclass(frozen=True, slots=True)
class Stage:
    """One matrix product with what follows it: m samples, k inputs, n outputs, on `rect` in tiles.

    epilogue: (op, constant name or "") in order; colors: (purpose, color number).
    """

    index: int
    kernel: Kernel
    rect: Rect
    m: int
    k: int
    n: int
    tile_m: int
    tile_k: int
    tile_n: int
    weight: str
    epilogue: tuple[tuple[str, str], ...]
    colors: tuple[tuple[str, int], ...]

    def sram(self, dtype: DType) -> dict[str, int]:
        """Return the bytes each element of the rectangle needs for tensors, by purpose, at its high-water mark."""
        item = dtype.item_bytes
        vectors = sum(1 for _, constant in self.epilogue if constant)
        parts = {
            "weights": self.tile_k * self.tile_n * item,
            "inputs": self.tile_m * self.tile_k * item,
            "sums": self.tile_m * self.tile_n * ACCUMULATOR_BYTES,
            "vectors": vectors * self.tile_n * item,
        }
        if self.kernel is Kernel.SUMMA:
            blocks = self.tile_m * self.tile_k + self.tile_k * self.tile_n
            return parts | {"queues": blocks * item}
        return parts | {"queues": self.tile_m * self.tile_n * ACCUMULATOR_BYTES}

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        rect = self.rect
        return {
            "kernel": self.kernel.value,
            "rect": [rect.x, rect.y, rect.width, rect.height],
            "shape": [self.m, self.k, self.n],
            "tile": [self.tile_m, self.tile_k, self.tile_n],
            "weight": self.weight,
            "epilogue": [list(item) for item in self.epilogue],
            "colors": [list(item) for item in self.colors],
        }


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program in RESIDENT mode: every weight lies in SRAM; stages run one after the other per micro-batch."""

    machine_id: str
    machine_sha256: str
    model_digest: str
    dtype: DType
    micro_batch: int
    stages: tuple[Stage, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "format": "wprogram-1",
            "mode": "RESIDENT",
            "machine": {"id": self.machine_id, "sha256": self.machine_sha256},
            "model_digest": self.model_digest,
            "dtype": self.dtype.value,
            "micro_batch": self.micro_batch,
            "order": "k ascending inside an element, elements of a column from top to bottom",
            "stages": [stage.to_json() for stage in self.stages],
        }

    def digest(self) -> str:
        """Return the SHA-256 of the canonical form."""
        return canonical.digest(self.to_json())

    def micro_batches(self, batch: int) -> int:
        """Return how many micro-batches a request of `batch` samples takes."""
        return -(-batch // self.micro_batch)


def pe_bytes(stage: Stage, program: Program, machine: Machine) -> int:
    """Return the SRAM high-water mark of one element of a stage: tensors, queues, code and stack, in bytes."""
    fixed = machine.code_bytes_per_pe.value + machine.stack_bytes_per_pe.value
    return sum(stage.sram(program.dtype).values()) + fixed


def resident_bytes(program: Program, machine: Machine) -> int:
    """Return the SRAM high-water mark over all used elements, in bytes."""
    return sum(pe_bytes(stage, program, machine) * stage.rect.pes for stage in program.stages)


Breach = tuple[int | None, str, str]


def _inside(program: Program, machine: Machine) -> Iterator[Breach]:
    width, height = machine.width_pes.value, machine.height_pes.value
    for stage in program.stages:
        rect = stage.rect
        if min(rect.x, rect.y) < 0 or min(rect.width, rect.height) < 1:
            yield stage.index, "a rectangle with elements", str(rect)
        if rect.x + rect.width > width or rect.y + rect.height > height:
            yield stage.index, f"inside {width} x {height}", str(rect)


def _disjoint(program: Program, machine: Machine) -> Iterator[Breach]:
    for stage in program.stages:
        for other in program.stages[: stage.index]:
            if stage.rect.overlaps(other.rect):
                yield stage.index, "rectangles without common elements", f"overlap with stage {other.index}"


def _covered(program: Program, machine: Machine) -> Iterator[Breach]:
    for stage in program.stages:
        rows, columns = stage.rect.height * stage.tile_k, stage.rect.width * stage.tile_n
        if rows < stage.k or columns < stage.n:
            yield stage.index, f"tiles for {stage.k} x {stage.n}", f"{rows} x {columns}"
        samples = stage.rect.height * stage.tile_m if stage.kernel is Kernel.SUMMA else stage.tile_m
        if samples < stage.m:
            yield stage.index, f"tiles for {stage.m} samples", str(samples)
        if stage.kernel is Kernel.SUMMA and stage.rect.width != stage.rect.height:
            yield stage.index, "a square grid", f"{stage.rect.width} x {stage.rect.height}"


def _memory(program: Program, machine: Machine) -> Iterator[Breach]:
    limit = machine.sram_bytes_per_pe.value
    for stage in program.stages:
        used = pe_bytes(stage, program, machine)
        if used > limit:
            yield stage.index, f"at most {limit} B per element", f"{used} B"


def _colors(program: Program, machine: Machine) -> Iterator[Breach]:
    usable = machine.colors.value - machine.reserved_colors.value
    for stage in program.stages:
        numbers = [number for _, number in stage.colors]
        if len(set(numbers)) != len(numbers):
            yield stage.index, "one purpose per color", str(stage.colors)
        if any(not 0 <= number < usable for number in numbers):
            yield stage.index, f"colors 0..{usable - 1}", str(numbers)


def _connected(program: Program, machine: Machine) -> Iterator[Breach]:
    for index, stage in enumerate(program.stages):
        if stage.index != index:
            yield stage.index, f"stage number {index}", str(stage.index)
        if index and program.stages[index - 1].n != stage.k:
            yield stage.index, f"{program.stages[index - 1].n} inputs", str(stage.k)
        if stage.m != program.micro_batch:
            yield stage.index, f"{program.micro_batch} samples", str(stage.m)
    if not program.stages:
        yield None, "at least one stage", "none"


def _machine(program: Program, machine: Machine) -> Iterator[Breach]:
    if program.machine_sha256 != machine.sha256():
        yield None, f"machine {machine.sha256()}", program.machine_sha256


RULES: Final[dict[str, Callable[[Program, Machine], Iterator[Breach]]]] = {
    "MACHINE": _machine,
    "CONNECTED": _connected,
    "INSIDE_MESH": _inside,
    "DISJOINT": _disjoint,
    "TILES_COVER": _covered,
    "SRAM_BUDGET": _memory,
    "COLORS": _colors,
}


def verify(program: Program, machine: Machine) -> None:
    """Check every rule of the table; raises ProgramError naming rule, stage, expected and got."""
    for rule, check in RULES.items():
        for stage, expected, got in check(program, machine):
            raise ProgramError(rule, stage=stage, expected=expected, got=got)
