"""Results of GuideLLM as JSON: a list of benchmarks, each with totals and distributions per outcome of a request.

Only the distributions of successful requests are read. request_latency is seconds, names ending in _ms are milliseconds.
The CSV of the same tool is read by `guidellm_csv`.
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
    failure_warning,
    mapping,
    moment,
    needed,
    needed_count,
    number,
    refuse_all_failed,
    requests_sentence,
    text_of,
    until,
)
from pilots.baseline.importers.reading import Source, json_object
from qms.core.values import Metric

NAME: Final = "GuideLLM"
TPOT_NOTE: Final = "ohne das erste Token (inter_token_latency)"
FACTORS: Final = {"Sec": 1000.0, "ms": 1.0}
LATENCIES: Final = {
    "request_latency": ("e2e_latency_ms", FACTORS["Sec"], ""),
    "time_to_first_token_ms": ("ttft_ms", FACTORS["ms"], ""),
    "inter_token_latency_ms": ("tpot_ms", FACTORS["ms"], TPOT_NOTE),
}
PERCENTS: Final = {"p50": "50", "p90": "90", "p95": "95", "p99": "99"}


def recognise(source: Source) -> bool:
    """Say whether a file looks like JSON of this tool."""
    return source.start.lstrip().startswith("{") and '"guidellm_version"' in source.start[:100_000]


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the benchmarks of a file; raises BenchmarkRefused with one German sentence."""
    value = json_object(source)
    version = text_of(mapping(value, "metadata"), "guidellm_version", "")
    found = value.get("benchmarks")
    if not isinstance(found, list) or not found or not all(isinstance(item, dict) for item in found):
        raise BenchmarkRefused("MISSING_FIELD", "Der Datei fehlt die Liste benchmarks.")
    return tuple(_run(item, version) for item in found)


def _run(value: Mapping[str, Any], version: str) -> ImportedBenchmark:
    metrics = mapping(value, "metrics")
    totals = mapping(metrics, "request_totals")
    counts = {name: needed_count(totals, name) for name in ("successful", "errored", "incomplete", "total")}
    rates = {
        name: number(_good(metrics, name), "mean", name=name)
        for name in ("requests_per_second", "output_tokens_per_second")
    }
    latencies: list[Metric] = []
    for name, (key, factor, note) in LATENCIES.items():
        found = mapping(_good(metrics, name), "percentiles")
        values = {
            percent: figure * factor
            for place, percent in PERCENTS.items()
            if (figure := number(found, place, name=f"{name}.{place}")) is not None
        }
        latencies += figures.percentiles(key, values, counts["successful"] or None, note)
    config = mapping(value, "config")
    return run_of(
        counts,
        duration=needed(number(value, "duration"), "duration"),
        rates=(rates["requests_per_second"], rates["output_tokens_per_second"]),
        latencies=latencies,
        version=version,
        model=text_of(mapping(config, "backend"), "model"),
        label=text_of(mapping(config, "strategy"), "type_"),
        measured_at=moment(number(value, "start_time")),
    )


def _good(metrics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return mapping(mapping(metrics, name), "successful")


def run_of(
    counts: Mapping[str, int],
    *,
    duration: float,
    rates: tuple[float | None, float | None],
    latencies: list[Metric],
    version: str,
    model: str,
    label: str,
    measured_at: str | None,
) -> ImportedBenchmark:
    """Return a run from what JSON and CSV both say. counts: successful, errored, incomplete, total; rates: requests, tokens."""
    completed, failed = counts["successful"], counts["errored"]
    if completed + failed + counts["incomplete"] != counts["total"]:
        raise BenchmarkRefused("CONTRADICTION", "Die Zahlen der Anfragen ergeben nicht ihre Summe.")
    if completed == 0:
        raise refuse_all_failed(failed)
    warnings = failure_warning(completed, failed)
    if counts["incomplete"]:
        warnings.append(
            f"{counts['incomplete']} Anfragen waren am Ende der Messung offen und zählen nicht mit."
        )
    return ImportedBenchmark(
        tool=NAME,
        metrics=(
            figures.requests_rate(completed, duration, rates[0]),
            *figures.tokens_rate(rates[1], completed),
            *latencies,
            figures.error_rate(completed, failed),
        ),
        what_it_says=(
            f"Modell laut Datei: {model}, Last: {label}.",
            requests_sentence(completed, failed),
        ),
        what_it_cannot_say=(NO_HARDWARE, NO_COST, ONE_RUN),
        measured_at=measured_at,
        measured_until=until(measured_at, duration),
        completed=completed,
        failed=failed,
        warnings=tuple(warnings),
        version=version,
        label=label,
    )
