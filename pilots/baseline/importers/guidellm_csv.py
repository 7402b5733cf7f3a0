"""Results of GuideLLM as CSV: three heading rows (group, what with its unit, statistic), then one row per benchmark.

A cell of percentiles is a list of eleven figures: smallest, 0.1, 1, 5, 10, 25, 75, 90, 95, 99 %, largest. The median has
a cell of its own. Units are read from the second heading row.
"""

from __future__ import annotations

from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, figure, short
from pilots.baseline.importers.guidellm import FACTORS, TPOT_NOTE, run_of
from pilots.baseline.importers.guidellm import NAME as TOOL
from pilots.baseline.importers.reading import Source, csv_rows, parse_json
from qms.core.values import Metric

NAME: Final = f"{TOOL} (CSV)"
Row = dict[tuple[str, str, str], str]
_PLACES: Final = {"90": 7, "95": 8, "99": 9}
_LENGTH: Final = 11
_LATENCIES: Final = {
    "Request Latency": ("e2e_latency_ms", ""),
    "Time to First Token": ("ttft_ms", ""),
    "Inter Token Latency": ("tpot_ms", TPOT_NOTE),
}
_COUNTS: Final = {
    "Successful": "successful",
    "Errored": "errored",
    "Incomplete": "incomplete",
    "Total": "total",
}


def recognise(source: Source) -> bool:
    """Say whether a file looks like CSV of this tool."""
    return source.start.startswith("Run Info,") and "Request Counts," in source.start[:100_000]


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the benchmarks of a file; raises BenchmarkRefused with one German sentence."""
    rows = [row for row in csv_rows(source.text()) if row]
    if len(rows) < 4 or any(len(row) != len(rows[0]) for row in rows):
        raise BenchmarkRefused("TRUNCATED", "Einer Zeile der Tabelle fehlen Zellen.")
    places = list(zip(*rows[:3], strict=True))
    if len(set(places)) != len(places):
        raise BenchmarkRefused("DUPLICATE_KEY", "Eine Spalte der Tabelle kommt doppelt vor.")
    return tuple(_run(dict(zip(places, row, strict=True))) for row in rows[3:])


def _run(row: Row) -> ImportedBenchmark:
    counts = {}
    for title, name in _COUNTS.items():
        value = figure(_cell(row, "Request Counts", title, ""), f"Request Counts {title}")
        if value != int(value):
            raise BenchmarkRefused("NOT_A_COUNT", f"Request Counts {title} ist keine ganze Zahl.")
        counts[name] = int(value)
    rates = tuple(
        figure(text, group) if (text := row.get((group, what, "Mean"), "")) else None
        for group, what in (
            ("Server Throughput", "Successful Requests/Sec"),
            ("Token Throughput", "Successful Output Tokens/Sec"),
        )
    )
    return run_of(
        counts,
        duration=figure(_cell(row, "Timings", "Duration", "Sec"), "Timings Duration"),
        rates=(rates[0], rates[1]),
        latencies=_latencies(row, counts["successful"] or None),
        version=_member(row, ("Runtime Info", "Metadata", ""), "guidellm_version"),
        model=_member(row, ("Run Info", "Backend", ""), "model") or "ohne Angabe",
        label=short(row.get(("Benchmark", "Strategy", ""), "")),
        measured_at=None,
    )


def _cell(row: Row, *place: str) -> str:
    text = row.get((place[0], place[1], place[2]), "")
    if not text:
        raise BenchmarkRefused("MISSING_FIELD", f"Der Tabelle fehlt {place[0]} {place[1]}.")
    return text


def _latencies(row: Row, n: int | None) -> list[Metric]:
    found: list[Metric] = []
    for group, (key, note) in _LATENCIES.items():
        cells = [
            (what, text)
            for (name, what, statistic), text in row.items()
            if name == group and statistic == "Percentiles" and what.startswith("Successful ") and text
        ]
        for what, text in cells:
            factor = FACTORS.get(what.removeprefix("Successful "))
            values = parse_json(text)
            if factor is None:
                raise BenchmarkRefused("UNIT", f"Die Einheit von {group} ist nicht Sec oder ms.")
            if not isinstance(values, list) or len(values) != _LENGTH:
                raise BenchmarkRefused("MISSING_FIELD", f"{group} hat nicht elf Perzentile.")
            by_percent = {
                percent: figure(str(values[place]), group) * factor for percent, place in _PLACES.items()
            }
            by_percent["50"] = figure(_cell(row, group, what, "Median"), group) * factor
            found += figures.percentiles(key, by_percent, n, note)
    return found


def _member(row: Row, place: tuple[str, str, str], key: str) -> str:
    """Return a text inside a cell that holds JSON, "" if it is not there."""
    try:
        value = parse_json(row.get(place, ""))
    except BenchmarkRefused:
        return ""
    return short(str(value.get(key, "")), 120) if isinstance(value, dict) else ""
