"""The parts of a time, kept apart so that their sum is the time (cluster.md, decomposition)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
Columns: TypeAlias = Mapping[str, Vector]
Constants: TypeAlias = Mapping[str, float]
PARTS: Final = ("compute", "mem_wall", "net_serialisation", "bubble", "launch", "host")


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds of every case. compute: arithmetic; mem_wall: what memory bandwidth adds to it; net_serialisation:
    exposed communication; bubble: waiting of a pipeline; launch: kernels; host: scheduler and everything else.
    """

    compute: Vector
    mem_wall: Vector
    net_serialisation: Vector
    bubble: Vector
    launch: Vector
    host: Vector

    @property
    def seconds(self) -> Vector:
        """The whole time: the sum of all parts."""
        return np.asarray(
            self.compute + self.mem_wall + self.net_serialisation + self.bubble + self.launch + self.host
        )

    def part(self, name: str) -> Vector:
        """Return one part by its name."""
        found: Vector = getattr(self, name)
        return found


def column(values: Iterable[float]) -> Vector:
    """Return a column of numbers."""
    return np.array(list(values), dtype=np.float64)


def table(names: Sequence[str], rows: Sequence[Sequence[float]]) -> Columns:
    """Return columns by name from one row per case."""
    return {name: column(row[i] for row in rows) for i, name in enumerate(names)}


def roofline(compute: Vector, memory: Vector) -> tuple[Vector, Vector]:
    """Return arithmetic and what memory adds to it, so that their sum is the larger of the two."""
    return compute, np.maximum(memory - compute, 0.0)


def ring(size_bytes: Vector, gpus: Vector, bytes_per_s: Vector, floor_s: Vector) -> Vector:
    """Return the time of an all-reduce: a floor and 2(N-1)/N bytes over the bandwidth; nothing for one GPU."""
    return np.where(gpus > 1, floor_s + 2 * (gpus - 1) / gpus * size_bytes / bytes_per_s, 0.0)
