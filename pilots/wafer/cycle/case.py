"""What a case of the agreement of interpreters is; tables of cases stand in `agreement` and `cases_composite`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pilots.graph.ir import Attrs, DType
from pilots.wafer.machine import Machine, lab_mesh

LAB: Final = lab_mesh(64, 64)
NONE: Final = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel (or the name of a collective) on a grid (width, height); shape as SHAPES says, of a collective (words,)."""

    kernel: str
    op: str
    shape: tuple[int, ...]
    grid: tuple[int, int]
    dtype: DType = DType.FLOAT32
    machine: Machine = LAB
    attrs: Attrs = ()
    cause: str = NONE
