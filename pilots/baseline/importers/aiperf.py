"""Results of AIPerf as JSON: one object per measure with its unit, mean, percentiles and count.

Latencies are those of successful requests. The unit of each measure is the one it states. The CSV and the list of single
requests of the same tool are read by `aiperf_csv` and `aiperf_records`.
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
    iso,
    mapping,
    needed,
    number,
    refuse_all_failed,
    requests_sentence,
    text_of,
    until,
)
from pilots.baseline.importers.reading import Source, json_object
from qms.core.values import Metric

NAME: Final = "AIPerf"
TO_MS: Final = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "sec": 1e3, "s": 1e3}
TO_SECONDS: Final = {unit: factor / 1e3 for unit, factor in TO_MS.items()}
LATENCIES: Final = {
    "request_latency": "e2e_latency_ms",
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "tpot_ms",
}
PERCENTS: Final = ("50", "90", "95", "99")
REQUEST_RATE: Final = {"requests/sec": 1.0}
TOKEN_RATE: Final = {"tokens/sec": 1.0}
COUNT: Final = {"requests": 1.0}


def recognise(source: Source) -> bool:
    """Say whether a file looks like JSON of this tool."""
    return source.start.lstrip().startswith("{") and '"aiperf_version"' in source.start[:100_000]


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a file; raises BenchmarkRefused with one German sentence."""
    value = json_object(source)
    completed = _whole(needed(_figure(value, "request_count", "avg", COUNT), "request_count"))
    everything = _figure(value, "completed_request_count", "avg", COUNT)
    failed = _failed(completed, everything, _figure(value, "request_error_rate", "avg", {"%": 0.01}))
    if completed == 0:
        raise refuse_all_failed(failed or 0)
    duration = needed(_figure(value, "benchmark_duration", "avg", TO_SECONDS), "benchmark_duration")
    models = mapping(mapping(value, "input_config"), "models").get("items")
    first = models[0] if isinstance(models, list) and models and isinstance(models[0], dict) else {}
    complete = not value.get("was_cancelled") and bool(value.get("is_complete", True))
    return (
        run_of(
            completed,
            failed,
            duration=duration,
            rate=_figure(value, "request_throughput", "avg", REQUEST_RATE),
            tokens=_figure(value, "output_token_throughput", "avg", TOKEN_RATE),
            latencies=_latencies(value, completed),
            version=text_of(value, "aiperf_version", ""),
            model=text_of(first, "name"),
            measured_at=iso(value.get("start_time")),
            valid=complete,
        ),
    )


def run_of(
    completed: int,
    failed: int | None,
    *,
    duration: float,
    rate: float | None,
    tokens: float | None,
    latencies: list[Metric],
    version: str = "",
    model: str = "ohne Angabe",
    measured_at: str | None = None,
    valid: bool | None = None,
) -> ImportedBenchmark:
    """Return a run from what the three kinds of file all say; rates are per second."""
    errors = () if failed is None else (figures.error_rate(completed, failed),)
    unfinished = (
        [] if valid is not False else ["Der Lauf wurde abgebrochen; er zählt nicht als gültige Messung."]
    )
    return ImportedBenchmark(
        tool=NAME,
        metrics=(
            figures.requests_rate(completed, duration, rate),
            *figures.tokens_rate(tokens, completed),
            *latencies,
            *errors,
        ),
        what_it_says=(
            f"Modell laut Datei: {model}.",
            requests_sentence(completed, failed)
            if failed is not None
            else f"{completed} Anfragen waren erfolgreich.",
        ),
        what_it_cannot_say=(NO_HARDWARE, NO_COST, ONE_RUN),
        measured_at=measured_at,
        measured_until=until(measured_at, duration),
        completed=completed,
        failed=failed,
        valid=valid,
        warnings=(*failure_warning(completed, failed or 0), *unfinished),
        version=version,
    )


def _figure(value: Mapping[str, Any], name: str, statistic: str, units: Mapping[str, float]) -> float | None:
    """Return a statistic of a measure in the wanted unit; raises BenchmarkRefused for a unit that is not known."""
    measure = mapping(value, name)
    found = number(measure, statistic, name=f"{name}.{statistic}")
    if found is None:
        return None
    factor = units.get(str(measure.get("unit")))
    if factor is None:
        raise BenchmarkRefused("UNIT", f"Die Einheit von {name} wird nicht gelesen oder fehlt.")
    return found * factor


def _latencies(value: Mapping[str, Any], completed: int) -> list[Metric]:
    found: list[Metric] = []
    for name, key in LATENCIES.items():
        values = {percent: _figure(value, name, f"p{percent}", TO_MS) for percent in PERCENTS}
        found += figures.percentiles(key, values, completed)
    return found


def _failed(completed: int, everything: float | None, rate: float | None) -> int | None:
    """Return the failed requests; the count of all and the error rate must agree where both are there."""
    if everything is None:
        return round(completed * rate / (1 - rate)) if rate is not None and rate < 1 else None
    failed = _whole(everything) - completed
    if failed < 0 or (rate is not None and abs(failed - rate * everything) > 0.01 * everything):
        sentence = "Zahl der Anfragen und Fehlerquote passen nicht zusammen."
        raise BenchmarkRefused("CONTRADICTION", sentence)
    return failed


def _whole(value: float) -> int:
    if value != int(value):
        raise BenchmarkRefused("NOT_A_COUNT", "Eine Zahl von Anfragen ist nicht ganz.")
    return int(value)
