"""Results of inference-perf: one JSON object per stage or in summary. All times are seconds.

The lifecycle file is what the client saw; the Prometheus file is what the server counted, over another window.
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
    count,
    failure_warning,
    mapping,
    needed,
    needed_count,
    number,
    refuse_all_failed,
    requests_sentence,
)
from pilots.baseline.importers.reading import Source, json_object
from qms.core.values import Metric, Unit

NAME: Final = "inference-perf"
_STEMS: Final = {
    "request_latency": "e2e_latency_ms",
    "time_to_first_token": "ttft_ms",
    "time_per_output_token": "tpot_ms",
}
_PERCENTS: Final = {"median": "50", "p90": "90", "p95": "95", "p99": "99"}
_NO_NAMES: Final = "Die Datei nennt weder Modell noch Messzeitpunkt."
_OVERLOAD: Final = 0.98


def recognise(source: Source) -> bool:
    """Say whether a file looks like results of this tool."""
    text = source.start
    return text.lstrip().startswith("{") and all(
        f'"{key}"' in text for key in ("load_summary", "successes", "failures")
    )


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a file; raises BenchmarkRefused with one German sentence."""
    value = json_object(source)
    for key in ("load_summary", "successes", "failures"):
        if key not in value:
            raise BenchmarkRefused("MISSING_FIELD", f"Der Datei fehlt das Feld {key}.")
    return (_client(value) if "latency" in mapping(value, "successes") else _server(value),)


def _client(value: Mapping[str, Any]) -> ImportedBenchmark:
    good = mapping(value, "successes")
    completed, failed = needed_count(good, "count"), needed_count(mapping(value, "failures"), "count")
    load = mapping(value, "load_summary")
    started = count(load, "count")
    if completed == 0:
        raise refuse_all_failed(failed)
    if started is not None and completed + failed != started:
        raise BenchmarkRefused("CONTRADICTION", "Die Zahlen der Anfragen passen nicht zusammen.")
    speed = mapping(good, "throughput")
    rate = needed(number(speed, "requests_per_sec"), "requests_per_sec")
    tokens, length = number(speed, "output_tokens_per_sec"), number(mapping(good, "output_len"), "mean")
    if tokens and length:
        figures.check_product(rate, length, tokens, "Durchsatz der Anfragen und der Token")
    warnings = failure_warning(completed, failed)
    asked, achieved = number(load, "requested_rate"), number(load, "achieved_rate")
    if asked and achieved is not None and achieved < _OVERLOAD * asked:
        warnings.append("Die verlangte Anfragerate wurde nicht erreicht; das System war überlastet.")
    return ImportedBenchmark(
        tool=NAME,
        metrics=(
            figures.metric("throughput_samples_s", rate, Unit.SAMPLES_PER_SECOND, completed),
            *figures.tokens_rate(tokens, completed),
            *_latencies(mapping(good, "latency"), completed, ""),
            figures.error_rate(completed, failed),
        ),
        what_it_says=("Sicht des Clients.", requests_sentence(completed, failed)),
        what_it_cannot_say=(_NO_NAMES, NO_HARDWARE, NO_COST, ONE_RUN),
        completed=completed,
        failed=failed,
        warnings=tuple(warnings),
    )


def _server(value: Mapping[str, Any]) -> ImportedBenchmark:
    good = mapping(value, "successes")
    completed = needed_count(good, "count")
    if completed == 0:
        raise refuse_all_failed(None)
    rate = needed(number(good, "rate"), "rate")
    note = "Sicht des Servers"
    return ImportedBenchmark(
        tool=NAME,
        metrics=(
            figures.metric("throughput_samples_s", rate, Unit.SAMPLES_PER_SECOND, completed, note=note),
            *figures.tokens_rate(number(mapping(good, "output_len"), "rate"), completed, note),
            *_latencies(good, completed, note),
        ),
        what_it_says=(
            "Sicht des Servers; sie gilt für ein anderes Zeitfenster als die Datei des Clients.",
            f"{completed} Anfragen waren erfolgreich.",
        ),
        what_it_cannot_say=(
            "Die Datei nennt keine fehlgeschlagenen Anfragen; eine Fehlerquote wird nicht gebildet.",
            _NO_NAMES,
            NO_HARDWARE,
            NO_COST,
            ONE_RUN,
        ),
        completed=completed,
    )


def _latencies(found: Mapping[str, Any], n: int, note: str) -> list[Metric]:
    result: list[Metric] = []
    for stem, key in _STEMS.items():
        seconds = {
            percent: number(mapping(found, stem), name, name=f"{stem}.{name}")
            for name, percent in _PERCENTS.items()
        }
        values = {percent: value and value * 1e3 for percent, value in seconds.items()}
        result += figures.percentiles(key, values, n, note)
    return result
