"""The history of a W&B run as JSON lines: sparse keys, `_step`, and `_runtime` in seconds since the start."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from pilots.baseline.importers import figures, tracked
from pilots.baseline.importers.common import (
    MAX_NUMBER,
    BenchmarkRefused,
    ImportedBenchmark,
    moment,
    needed,
    needed_count,
    number,
)
from pilots.baseline.importers.reading import Source, json_lines
from qms.core.values import Metric

NAME: Final = "W&B (Verlauf)"
_STEP_NOTE: Final = "Mittel je Schritt (_step) einschließlich Bewertung und Protokoll"


def recognise(source: Source) -> bool:
    """Say whether a file looks like such a history."""
    first = source.start.lstrip().partition("\n")[0]
    return first.startswith("{") and '"_step"' in first and '"_runtime"' in first


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a history; raises BenchmarkRefused with one German sentence."""
    rows = json_lines(source)
    series: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if not name.startswith("_"):
                series.setdefault(name, []).extend(_plain(value))
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=(*_step_time(rows), *tracked.metrics_of(series)),
            what_it_says=(f"{len(rows)} Einträge.", tracked.names_sentence(series)),
            what_it_cannot_say=(
                *tracked.CANNOT_SAY,
                "Die Datei nennt weder Modell noch Hardware; sie sagt nicht, ob der Lauf zu Ende ging.",
            ),
            measured_at=moment(number(rows[0], "_timestamp")),
        ),
    )


def _step_time(rows: list[dict[str, Any]]) -> list[Metric]:
    steps = [needed_count(row, "_step") for row in rows]
    times = [needed(number(row, "_runtime"), "_runtime") for row in rows]
    if any(later <= earlier for earlier, later in pairwise(steps)) or any(
        later < earlier for earlier, later in pairwise(times)
    ):
        raise BenchmarkRefused("CONTRADICTION", "Schritte oder Zeiten des Verlaufs steigen nicht.")
    if len(rows) < 2:
        return []
    seconds = (times[-1] - times[0]) / (steps[-1] - steps[0])
    return figures.averaged("step_time_ms", seconds * 1e3, len(rows) - 1, _STEP_NOTE)


def _plain(value: Any) -> list[float]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_NUMBER:
        return []
    return [float(value)]
