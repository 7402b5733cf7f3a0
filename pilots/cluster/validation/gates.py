"""The gates of cluster.md section 4 and of issue 5: what is asked, what was reached, on which rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pilots.cluster.constants import constants_of
from pilots.cluster.validation.rows import Row
from pilots.cluster.validation.splits import Held, errors
from pilots.cluster.validation.statistics import figures
from pilots.cluster.workloads import Collective, Family, StaticBatch

MEDIAN_AIM: Final = 0.12
COVERAGE_AIM: Final = (0.85, 0.95)
MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate. name and rows in German; must: it fails the build, else a target; value, limit: shares."""

    name_de: str
    must: bool
    n: int
    value: float
    limit: float

    @property
    def reached(self) -> bool:
        """Say whether the gate is reached; without rows it is not."""
        return self.n > 0 and self.value <= self.limit


@dataclass(frozen=True, slots=True)
class _Asked:
    """A gate before it is judged; by: maximum or mean of e^|error| - 1."""

    name_de: str
    must: bool
    chosen: Callable[[Row], bool]
    by: str
    limit: float


def _starts(*words: str) -> Callable[[Row], bool]:
    return lambda row: row.entry.id.startswith(words)


def _large(row: Row) -> bool:
    work = row.case.workload
    return isinstance(work, Collective) and work.size_bytes >= MIB


def _static(*names: str) -> Callable[[Row], bool]:
    return lambda row: isinstance(row.case.workload, StaticBatch) and row.case.workload.shape.name in names


def _mlperf_405b(row: Row) -> bool:
    return "l405b" in row.entry.id or (row.entry.id.endswith(":step") and "405b" in row.entry.id)


ASKED: Final = (
    _Asked("Korthikanti, jeder Schritt", True, _starts("korthikanti"), "maximum", 0.10),
    _Asked("Narayanan, jeder Schritt", True, lambda row: row.entry.id.startswith("megatron2021") and row.entry.unit == "s", "maximum", 0.20),
    _Asked("MLPerf Llama 3.1 405B, H100, jeder Durchsatz", True, lambda row: _mlperf_405b(row) and row.case.device.id == "h100", "maximum", 0.15),
    _Asked("Argonne feste Stapel, 70B, mittel", True, _static("LLaMA3-70B"), "mean", 0.15),
    _Asked("All-reduce ab 1 MiB, mittel", True, _large, "mean", 0.20),
    _Asked("Megatron H100, mittel", False, _starts("megatron_h100"), "mean", 0.10),
    _Asked("FSDP-Tabelle, mittel", False, lambda row: row.case.key == "training/FSDP", "mean", 0.15),
    _Asked("Argonne 8B, mittel", False, _static("LLaMA3-8B"), "mean", 0.10),
    _Asked("MLPerf Inference Offline, mittel", False, lambda row: row.case.key == "offline/MLPerf" and row.case.family is Family.OFFLINE, "mean", 0.20),
    _Asked("MLPerf Inference Server, Rate, mittel", False, lambda row: row.case.family is Family.SERVER, "mean", 0.25),
    _Asked("TensorRT-LLM 1.0, Maximum, mittel", False, lambda row: row.case.key == "offline/TensorRT-LLM 1.0", "mean", 0.20),
    _Asked("All-reduce, alle Größen, mittel", False, lambda row: row.case.family is Family.COLLECTIVES, "mean", 0.40),
)  # fmt: skip


def gates(rows: Sequence[Row], held: Sequence[Held], record: Mapping[str, Any]) -> tuple[Gate, ...]:
    """Return every gate twice: with the stored constants, and with the setting left out; both by the formula alone."""
    constants = constants_of(record)
    keys = sorted({row.case.key for row in rows})
    inside: dict[str, float] = {}
    for key in keys:
        own = [row for row in rows if row.case.key == key]
        inside |= {row.entry.id: error for row, error in zip(own, errors(own, constants), strict=True)}
    outside = {item.row.entry.id: item.error for item in held}
    found: list[Gate] = []
    for asked in ASKED:
        chosen = [row.entry.id for row in rows if asked.chosen(row)]
        for label, known in (("", inside), (", Einstellung ausgelassen", outside)):
            value = figures([known[name] for name in chosen])
            reached = 0.0 if value is None else (value.maximum if asked.by == "maximum" else value.mean)
            found.append(
                Gate(asked.name_de + label, asked.must and not label, len(chosen), reached, asked.limit)
            )
    return tuple(found)
