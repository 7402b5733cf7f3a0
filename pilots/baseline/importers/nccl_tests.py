"""Output of nccl-tests (`all_reduce_perf` and its kin): one row per message size, times and bandwidths twice.

The second heading states the units (B, us, GB/s); rows may carry the prefix of srun or mpirun. Size over time must be
the algorithm bandwidth, or times and sizes do not belong together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, figure
from pilots.baseline.importers.reading import Source, lines
from qms.core.values import Metric, Unit

NAME: Final = "NCCL tests"
_PREFIX: Final = re.compile(r"\s*(?:\[?[0-9,]{1,12}\]?(?:<stdout>)?:\s?)?\s*")
_UNITS: Final = re.compile(
    r"#\s+\(B\)\s+\(elements\)\s+\(us\)\s+\(GB/s\)\s+\(GB/s\)\s+\(us\)\s+\(GB/s\)\s+\(GB/s\)\s*"
)
_TITLES: Final = re.compile(
    r"#\s+size\s+count\s+type\s+redop\s+(?:root\s+)?(?:time\s+algbw\s+busbw\s+(?:#wrong|error)\s*){2}"
)
_ROW: Final = re.compile(r"[0-9]+\s")
_VERSION: Final = re.compile(r"NCCL version\s*:?\s*([0-9][0-9.+a-z]{0,30})")
_GB: Final = 1e9
_ROUNDING: Final = 0.006  # bandwidths are printed with two decimals
_SLACK: Final = 0.02


@dataclass(frozen=True, slots=True)
class _Row:
    """A message size in bytes with time in us and bandwidths in GB/s of the out-of-place operation."""

    size: float
    time_us: float
    algbw: float
    busbw: float


def recognise(source: Source) -> bool:
    """Say whether a file is such output."""
    text = source.start
    return "algbw" in text and "busbw" in text and "redop" in text


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the figures of the smallest and the largest message; raises BenchmarkRefused."""
    found = [line[_match(line) :].rstrip() for line in lines(source.text())]
    if sum(bool(_UNITS.fullmatch(line)) for line in found) != 1 or not any(map(_TITLES.fullmatch, found)):
        raise BenchmarkRefused("UNIT", "Der Tabelle fehlen die Überschriften mit den Einheiten.")
    rows = [_row(line) for line in found if _ROW.match(line)]
    if not rows or [row.size for row in rows] != sorted({row.size for row in rows}):
        raise BenchmarkRefused("CONTRADICTION", "Die Nachrichtengrößen der Tabelle steigen nicht.")
    versions = _VERSION.findall(source.start)
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(_metrics(rows)),
            what_it_says=(
                f"Kollektive Operation über {len(rows)} Nachrichtengrößen von {rows[0].size:.0f} bis {rows[-1].size:.0f} B.",
            ),
            what_it_cannot_say=(
                "Die Datei sagt nichts über Ihren Workload, nur über das Netz der Beschleuniger.",
                "Die Datei nennt in diesem Auszug weder Geräte noch Topologie noch Messzeitpunkt.",
                "Die Datei enthält keinen Speicherverbrauch und keine Kosten.",
            ),
            version=versions[0] if versions else "",
        ),
    )


def _match(line: str) -> int:
    found = _PREFIX.match(line)
    return found.end() if found else 0


def _row(line: str) -> _Row:
    cells = line.split()
    if len(cells) not in {12, 13}:
        raise BenchmarkRefused("TRUNCATED", "Einer Zeile der Tabelle fehlen Zellen.")
    first, second = cells[-8:-4], cells[-4:]
    for wrong in (first[3], second[3]):
        if wrong != "N/A" and figure(wrong, "Die Spalte #wrong") != 0:
            raise BenchmarkRefused(
                "WRONG_RESULTS", "Die Operation hat falsche Ergebnisse geliefert (#wrong)."
            )
    for times in (first, second):
        _check(figure(cells[0], "Die Spalte size"), times)
    return _Row(
        figure(cells[0], "Die Spalte size"),
        *(
            figure(cell, f"Die Spalte {name}")
            for cell, name in zip(first, ("time", "algbw", "busbw"), strict=False)
        ),
    )


def _check(size: float, cells: list[str]) -> None:
    """Refuse a row whose size over time is not its algorithm bandwidth."""
    time_us, algbw = figure(cells[0], "Die Spalte time"), figure(cells[1], "Die Spalte algbw")
    if time_us == 0:
        raise BenchmarkRefused("BAD_NUMBER", "Eine Zeit der Tabelle ist null.")
    if abs(size / time_us / 1e3 - algbw) > _ROUNDING + _SLACK * algbw:
        raise BenchmarkRefused(
            "CONTRADICTION", "Größe, Zeit und Bandbreite einer Zeile passen nicht zusammen."
        )


def _metrics(rows: list[_Row]) -> list[Metric]:
    small, large = rows[0], rows[-1]
    size = f"Nachricht von {large.size:.0f} B"
    return [
        figures.metric("net_bus_bandwidth", large.busbw * _GB, Unit.BYTES_PER_SECOND, len(rows), note=size),
        figures.metric(
            "net_algorithm_bandwidth", large.algbw * _GB, Unit.BYTES_PER_SECOND, len(rows), note=size
        ),
        figures.metric(
            "net_latency_ms",
            small.time_us / 1e3,
            Unit.MILLISECONDS,
            len(rows),
            note=f"Nachricht von {small.size:.0f} B",
        ),
    ]
