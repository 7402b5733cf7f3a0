"""Results of AIPerf as CSV: a table of distributions, a blank line, a table of single values; units stand in the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pilots.baseline.importers import aiperf, figures
from pilots.baseline.importers.common import (
    BenchmarkRefused,
    ImportedBenchmark,
    figure,
    needed,
    refuse_all_failed,
)
from pilots.baseline.importers.reading import Source, csv_rows

NAME: Final = "AIPerf (CSV)"
_LATENCIES: Final = {
    "Request Latency": "e2e_latency_ms",
    "Time to First Token": "ttft_ms",
    "Inter Token Latency": "tpot_ms",
}
_COMPLETED: Final = "Request Count"
_ALL: Final = "Completed Requests (Success + Error)"


def recognise(source: Source) -> bool:
    """Say whether a file looks like CSV of this tool."""
    return source.start.startswith("Metric,avg,min,max") and "Request Latency" in source.start


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a file; raises BenchmarkRefused with one German sentence."""
    spread, single = _tables(csv_rows(source.text()))
    completed = int(needed(_single(single, _COMPLETED), _COMPLETED))
    everything = int(needed(_single(single, _ALL), _ALL))
    if completed == 0:
        raise refuse_all_failed(everything)
    if everything < completed:
        raise BenchmarkRefused("CONTRADICTION", "Es waren mehr Anfragen erfolgreich als gestellt.")
    duration, unit = _with_unit(single, "Benchmark Duration", aiperf.TO_SECONDS)
    latencies = []
    for title, key in _LATENCIES.items():
        name, factor = _title(spread, title, aiperf.TO_MS)
        values = {
            percent: figure(cell, name) * factor
            for percent in aiperf.PERCENTS
            if (cell := spread.get(name, {}).get(f"p{percent}", ""))
        }
        latencies += figures.percentiles(key, values, completed)
    rate, tokens = (
        _single(single, "Request Throughput (requests/sec)"),
        _single(single, "Output Token Throughput (tokens/sec)"),
    )
    return (
        aiperf.run_of(
            completed,
            everything - completed,
            duration=duration * unit,
            rate=rate,
            tokens=tokens,
            latencies=latencies,
        ),
    )


def _tables(rows: list[list[str]]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the distributions by name and statistic, and the single values by name."""
    spread: dict[str, dict[str, str]] = {}
    single: dict[str, str] = {}
    heading: list[str] = []
    for row in rows:
        if not row or not row[0]:
            heading = []
        elif row[0] in {"Metric", "Endpoint"}:
            heading = row
        elif not heading or len(row) != len(heading):
            raise BenchmarkRefused("TRUNCATED", "Einer Zeile der Tabelle fehlen Zellen.")
        elif row[0] in spread or row[0] in single:
            raise BenchmarkRefused("DUPLICATE_KEY", "Eine Messgröße der Tabelle kommt doppelt vor.")
        elif heading == ["Metric", "Value"]:
            single[row[0]] = row[1]
        elif heading[0] == "Metric":
            spread[row[0]] = dict(zip(heading, row, strict=True))
    return spread, single


def _single(single: Mapping[str, str], name: str) -> float | None:
    return figure(single[name], name) if name in single else None


def _title(table: Mapping[str, object], title: str, units: Mapping[str, float]) -> tuple[str, float]:
    """Return the full name of a measure and the factor of the unit it states; ("", 1) if it is absent."""
    found = [name for name in table if name.startswith(f"{title} (")]
    if not found:
        return "", 1.0
    factor = units.get(found[0].removeprefix(f"{title} (").removesuffix(")"))
    if factor is None or len(found) > 1:
        raise BenchmarkRefused("UNIT", f"Die Einheit von {title} wird nicht gelesen oder ist doppelt.")
    return found[0], factor


def _with_unit(single: Mapping[str, str], title: str, units: Mapping[str, float]) -> tuple[float, float]:
    name, factor = _title(single, title, units)
    return needed(_single(single, name), title), factor
