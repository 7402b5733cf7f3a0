"""Result files of `vllm bench serve`: one JSON object, or a list of them for a sweep. Names ending in _ms are
milliseconds, the same names without that suffix (older and derived files) are seconds, as are duration and arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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
    needed,
    needed_count,
    number,
    refuse_all_failed,
    requests_sentence,
    text_of,
)
from pilots.baseline.importers.reading import Source, parse_json
from pilots.baseline.importers.timing import check_latency
from qms.core.values import Metric

NAME: Final = "vLLM bench serve"
_REQUIRED: Final = ("duration", "completed", "request_throughput")
_STEMS: Final = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2el": "e2e_latency_ms"}
_PERCENTS: Final = {"median": "50", "p50": "50", "p90": "90", "p95": "95", "p99": "99"}
_RATES: Final = ("request_rate",)
_OTHERS: Final = ("total_output_tokens_retokenized", "load_summary")


def recognise(source: Source) -> bool:
    """Say whether a file looks like a result of this tool."""
    text = source.start
    known = all(f'"{key}"' in text for key in _REQUIRED) and not any(f'"{key}"' in text for key in _OTHERS)
    return text.lstrip()[:1] in {"{", "["} and known


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the runs of a file; raises BenchmarkRefused with one German sentence."""
    value = parse_json(source.text(), constants=_RATES)
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(item, dict) for item in found):
        raise BenchmarkRefused("NOT_THIS_TOOL", "Die Datei ist kein Ergebnis von vLLM bench serve.")
    return tuple(_run(item) for item in found)


def _run(value: Mapping[str, Any]) -> ImportedBenchmark:
    for key in _REQUIRED:
        if key not in value:
            raise BenchmarkRefused("MISSING_FIELD", f"Der Datei fehlt das Feld {key}.")
    completed, failed, empty = _totals(value)
    duration = needed(number(value, "duration"), "duration")
    stated = number(value, "request_throughput")
    rate = figures.requests_rate(completed, duration, None if empty else stated)
    if stated is not None and empty:
        figures.check_product(stated, duration, completed + empty, "Durchsatz, Dauer und Zahl der Anfragen")
    check_latency(_mean_ms(value, completed), completed, duration, _most_at_once(value))
    metrics = [rate, *_latencies(value, completed), *_tokens(value, completed, duration)]
    if failed is not None:
        metrics.append(figures.error_rate(completed, failed))
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(metrics),
        what_it_says=_says(value, completed, failed),
        what_it_cannot_say=_cannot_say(failed),
        measured_at=_date(value.get("date")),
        lasted_s=duration,  # the tool writes its date once the requests are done
        completed=completed,
        failed=failed,
        warnings=_warnings(value, completed, failed, empty),
        label=f"Anfragerate {text_of(value, 'request_rate')}",
    )


def _totals(value: Mapping[str, Any]) -> tuple[int, int | None, int]:
    """Return requests with an answer, failed requests (None if unknown), and those of them whose answer was empty."""
    completed = needed_count(value, "completed")
    prompts, failed = count(value, "num_prompts"), count(value, "failed")
    if failed is None and prompts is not None:
        failed = max(0, prompts - completed)
    if prompts is not None and completed + (failed or 0) != prompts:
        sentence = (
            f"Erfolgreiche und fehlgeschlagene Anfragen ergeben nicht die {prompts} gestellten Anfragen."
        )
        raise BenchmarkRefused("CONTRADICTION", sentence)
    empty = _empty_answers(value)
    if completed - empty <= 0 or count(value, "total_output_tokens") == 0:
        raise refuse_all_failed(completed + (failed or 0))
    return completed - empty, failed + empty if failed is not None else empty or None, empty


def _empty_answers(value: Mapping[str, Any]) -> int:
    """Return how many requests count as completed although their answer has no token (detailed files only)."""
    lengths, errors = value.get("output_lens"), value.get("errors")
    if not isinstance(lengths, list) or not isinstance(errors, list) or len(lengths) != len(errors):
        return 0
    return sum(length == 0 and not error for length, error in zip(lengths, errors, strict=True))


def _latencies(value: Mapping[str, Any], completed: int) -> list[Metric]:
    found: list[Metric] = []
    for stem, key in _STEMS.items():
        by_percent: dict[str, float | None] = {}
        for name, percent in _PERCENTS.items():
            milliseconds, seconds = number(value, f"{name}_{stem}_ms"), number(value, f"{name}_{stem}")
            if milliseconds is None and seconds is not None:
                milliseconds = seconds * 1000.0
            if by_percent.get(percent) is None:
                by_percent[percent] = milliseconds
            elif milliseconds is not None and milliseconds != by_percent[percent]:
                raise BenchmarkRefused(
                    "CONTRADICTION", f"Die Datei nennt zwei Werte für {percent} % von {stem}."
                )
        found += figures.percentiles(key, by_percent, completed)
    return found


def _mean_ms(value: Mapping[str, Any], completed: int) -> float | None:
    """Return the mean latency: as stated, else first token and the others; None where the file lacks a part."""
    stated = _in_ms(value, "mean_e2el")
    if stated is not None:
        return stated
    first, each, tokens = (
        _in_ms(value, "mean_ttft"),
        _in_ms(value, "mean_tpot"),
        count(value, "total_output_tokens"),
    )
    if first is None or each is None or tokens is None:
        return None
    return first + each * max(0.0, tokens / completed - 1)


def _in_ms(value: Mapping[str, Any], name: str) -> float | None:
    milliseconds, seconds = number(value, f"{name}_ms"), number(value, name)
    return milliseconds if milliseconds is not None or seconds is None else seconds * 1000.0


def _most_at_once(value: Mapping[str, Any]) -> int | None:
    """Return the requests in flight at most: as observed, else as many as were let in without waiting."""
    observed = count(value, "max_concurrent_requests")
    if observed is not None:
        return observed
    if value.get("request_rate") not in {"inf", float("inf")}:
        return None
    allowed, prompts = count(value, "max_concurrency"), count(value, "num_prompts")
    found = [item for item in (allowed, prompts) if item is not None]
    return min(found, default=None)


def _tokens(value: Mapping[str, Any], completed: int, duration: float) -> list[Metric]:
    rate, total = number(value, "output_throughput"), number(value, "total_output_tokens")
    if rate is not None and total is not None:
        figures.check_product(rate, duration, total, "Tokendurchsatz, Dauer und Zahl der Token")
    return figures.tokens_rate(rate, completed)


def _says(value: Mapping[str, Any], completed: int, failed: int | None) -> tuple[str, ...]:
    model = f"Modell laut Datei: {text_of(value, 'model_id')}."
    if failed is None:
        return (model, f"{completed} Anfragen waren erfolgreich.")
    return (model, requests_sentence(completed, failed))


def _cannot_say(failed: int | None) -> tuple[str, ...]:
    unknown = ("Die Datei nennt keine fehlgeschlagenen Anfragen; eine Fehlerquote wird nicht gebildet.",)
    return (NO_HARDWARE, NO_COST, ONE_RUN, *(unknown if failed is None else ()))


def _date(value: Any) -> str | None:
    try:
        return datetime.strptime(value, "%Y%m%d-%H%M%S").isoformat()  # noqa: DTZ007 - the file gives no zone
    except (TypeError, ValueError):
        return None


def _warnings(value: Mapping[str, Any], completed: int, failed: int | None, empty: int) -> tuple[str, ...]:
    found = failure_warning(completed, failed or 0)
    if empty:
        found.append(f"{empty} Antworten waren leer und zählen als fehlgeschlagen.")
    if not any(key in value for key in ("median_e2el", "median_e2el_ms", "p99_e2el_ms", "p50_e2el_ms")):
        found.append("Die Datei enthält keine Gesamtlatenz (e2el).")
    if _date(value.get("date")) is None:
        found.append("Die Datei nennt keinen lesbaren Messzeitpunkt.")
    return tuple(found)
