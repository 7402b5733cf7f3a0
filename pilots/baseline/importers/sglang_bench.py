"""Results of `sglang.bench_serving`: JSON lines, one run per line. Names ending in _ms are milliseconds, duration is
seconds. The tool writes neither failed requests nor how many were asked, and spells an unlimited rate as Infinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    NO_COST,
    NO_HARDWARE,
    ONE_RUN,
    BenchmarkRefused,
    ImportedBenchmark,
    needed,
    needed_count,
    number,
    refuse_all_failed,
    text_of,
)
from pilots.baseline.importers.reading import Source, json_lines

NAME: Final = "SGLang bench_serving"
_MARK: Final = "total_output_tokens_retokenized"
_STEMS: Final = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2e_latency": "e2e_latency_ms"}
_PERCENTS: Final = {"median": "50", "p90": "90", "p95": "95", "p99": "99"}


def recognise(source: Source) -> bool:
    """Say whether a file looks like results of this tool."""
    return source.start.lstrip().startswith("{") and f'"{_MARK}"' in source.start


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the runs of a file; raises BenchmarkRefused with one German sentence."""
    return tuple(_run(value) for value in json_lines(source, constants=("request_rate",)))


def _run(value: Mapping[str, Any]) -> ImportedBenchmark:
    if _MARK not in value:
        raise BenchmarkRefused("NOT_THIS_TOOL", "Eine Zeile ist kein Ergebnis von SGLang bench_serving.")
    completed = needed_count(value, "completed")
    tokens = needed(number(value, "total_output_tokens"), "total_output_tokens")
    if completed == 0 or tokens == 0:
        raise refuse_all_failed(None)
    duration = needed(number(value, "duration"), "duration")
    metrics = [figures.requests_rate(completed, duration, number(value, "request_throughput"))]
    for stem, key in _STEMS.items():
        values = {percent: number(value, f"{name}_{stem}_ms") for name, percent in _PERCENTS.items()}
        metrics += figures.percentiles(key, values, completed)
    rate = number(value, "output_throughput")
    if rate is not None:
        figures.check_product(rate, duration, tokens, "Tokendurchsatz, Dauer und Zahl der Token")
    metrics += figures.tokens_rate(rate, completed)
    asked = value.get("request_rate")
    label = "Anfragerate unbegrenzt" if asked is None else f"Anfragerate {text_of(value, 'request_rate')}"
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(metrics),
        what_it_says=(
            f"Server laut Datei: {text_of(value, 'backend')}, Daten: {text_of(value, 'dataset_name')}, {label}.",
            f"{completed} Anfragen waren erfolgreich.",
        ),
        what_it_cannot_say=(
            "Die Datei nennt keine fehlgeschlagenen Anfragen; eine Fehlerquote wird nicht gebildet.",
            "Die Datei nennt weder Modell noch Messzeitpunkt.",
            NO_HARDWARE,
            NO_COST,
            ONE_RUN,
        ),
        completed=completed,
        label=f"{label}, {duration:.0f} s",
    )
