"""Results of LLMPerf: a summary with flat keys, or the list of single requests. All times are seconds.

Its inter_token_latency includes the first token and is therefore not taken as time per output token. In the list of
single requests there is no clock, so a throughput cannot be formed.
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
    moment,
    needed,
    needed_count,
    number,
    refuse_all_failed,
    requests_sentence,
    text_of,
)
from pilots.baseline.importers.reading import Source, parse_json
from qms.core.values import Unit

NAME: Final = "LLMPerf"
_STEMS: Final = {"ttft_s": "ttft_ms", "end_to_end_latency_s": "e2e_latency_ms"}
_PERCENTS: Final = ("50", "90", "95", "99")
_TOO_SHORT: Final = -100
_NO_TPOT: Final = "Die Zeit je Token dieses Werkzeugs enthält das erste Token; sie wird nicht übernommen."


def recognise(source: Source) -> bool:
    """Say whether a file looks like results of this tool."""
    text = source.start.lstrip()
    single = text.startswith("[") and '"ttft_s"' in text and '"end_to_end_latency_s"' in text
    return single or (text.startswith("{") and '"results_ttft_s_' in text)


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a file; raises BenchmarkRefused with one German sentence."""
    value = parse_json(source.text())
    if isinstance(value, dict):
        return (_summary(value),)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BenchmarkRefused("NOT_THIS_TOOL", "Die Datei ist kein Ergebnis von LLMPerf.")
    return (_single(value),)


def _summary(value: Mapping[str, Any]) -> ImportedBenchmark:
    completed, failed = (
        needed_count(value, "results_num_completed_requests"),
        needed_count(value, "results_number_errors"),
    )
    started = needed_count(value, "results_num_requests_started")
    rate = needed(number(value, "results_error_rate"), "results_error_rate")
    if completed + failed > started or abs(rate * started - failed) > max(figures.TOLERANCE * started, 0.5):
        raise BenchmarkRefused("CONTRADICTION", "Die Zahlen der Anfragen passen nicht zusammen.")
    failed = started - completed
    if completed == 0:
        raise refuse_all_failed(started)
    per_minute = needed(
        number(value, "results_num_completed_requests_per_min"), "results_num_completed_requests_per_min"
    )
    metrics = [
        figures.metric("throughput_samples_s", per_minute / 60, Unit.SAMPLES_PER_SECOND, completed),
        *figures.tokens_rate(number(value, "results_mean_output_throughput_token_per_s"), completed),
    ]
    for stem, key in _STEMS.items():
        seconds = {percent: number(value, f"results_{stem}_quantiles_p{percent}") for percent in _PERCENTS}
        values = {percent: found and found * 1e3 for percent, found in seconds.items()}
        metrics += figures.percentiles(key, values, completed)
    model = f"Modell laut Datei: {text_of(value, 'model')}, Anbieter: {text_of(value, 'framework')}."
    return ImportedBenchmark(
        tool=NAME,
        metrics=(*metrics, figures.error_rate(completed, failed)),
        what_it_says=(model, requests_sentence(completed, failed)),
        what_it_cannot_say=(NO_HARDWARE, NO_COST, ONE_RUN, _NO_TPOT),
        measured_at=moment(number(value, "timestamp")),
        completed=completed,
        failed=failed,
        warnings=tuple(failure_warning(completed, failed)),
        version=text_of(value, "version", ""),
    )


def _single(rows: list[dict[str, Any]]) -> ImportedBenchmark:
    good = [row for row in rows if row.get("error_code") is None and number(row, "number_output_tokens") != 0]
    if not good:
        raise refuse_all_failed(len(rows))
    failed = len(rows) - len(good)
    metrics = []
    for stem, key in _STEMS.items():
        seconds = [needed(number(row, stem), stem) for row in good]
        metrics += figures.observed(key, [found * 1e3 for found in seconds if found])
    if any((row.get("ttft_s") or 0) > (row.get("end_to_end_latency_s") or 0) for row in good):
        raise BenchmarkRefused("CONTRADICTION", "Ein erstes Token käme später als die ganze Antwort.")
    warnings = failure_warning(len(good), failed)
    too_short = sum(row.get("error_code") == _TOO_SHORT for row in rows)
    if too_short:
        warnings.append(
            f"{too_short} der fehlgeschlagenen Antworten hatten zu wenige Token (kein Fehler des Servers)."
        )
    return ImportedBenchmark(
        tool=NAME,
        metrics=(*metrics, figures.error_rate(len(good), failed)),
        what_it_says=(requests_sentence(len(good), failed),),
        what_it_cannot_say=(
            "Die Liste einzelner Anfragen nennt keine Zeitpunkte; ein Durchsatz wird nicht gebildet.",
            "Die Datei nennt weder Modell noch Messzeitpunkt.",
            NO_HARDWARE,
            NO_COST,
            _NO_TPOT,
        ),
        completed=len(good),
        failed=failed,
        warnings=tuple(warnings),
    )
