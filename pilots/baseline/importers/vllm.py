"""Result files of `vllm bench serve`: one JSON object. Names ending in _ms are milliseconds, the same names without
that suffix (older and derived files) are seconds, as are duration, latencies and the detailed arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from pilots.baseline.importers.common import (
    BenchmarkRefused,
    ImportedBenchmark,
    check_order,
    checked_text,
    count,
    metric,
    number,
    parse_json,
    refuse_all_failed,
)
from pilots.baseline.stats import is_reliable
from qms.core.values import Metric, Unit

NAME: Final = "vLLM bench serve"
_REQUIRED: Final = ("duration", "completed", "request_throughput")
_STEMS: Final = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2el": "e2e_latency_ms"}
_PERCENTS: Final = {"median": "50", "p50": "50", "p90": "90", "p95": "95", "p99": "99"}
_TOLERANCE: Final = 0.02  # throughput is printed from the same two figures; more than 2 % off is another run


def recognise(text: str, filename: str) -> bool:
    """Say whether a text looks like a result of this tool; the file name is not decisive."""
    head = text.lstrip()[:1]
    return head == "{" and all(f'"{key}"' in text for key in _REQUIRED)


def read(data: bytes) -> ImportedBenchmark:
    """Return the metrics of a result file; raises BenchmarkRefused with one German sentence."""
    value = parse_json(checked_text(data))
    if not isinstance(value, dict):
        raise BenchmarkRefused("NOT_THIS_TOOL", "Die Datei ist kein Ergebnis von vLLM bench serve.")
    missing = [key for key in _REQUIRED if key not in value]
    if missing:
        raise BenchmarkRefused("MISSING_FIELD", f"Der Datei fehlt das Feld {missing[0]}.")
    completed, failed, duration = _totals(value)
    metrics = [
        metric("throughput_samples_s", completed / duration, Unit.SAMPLES_PER_SECOND, completed),
        *_latencies(value, completed),
        *_tokens(value, completed),
        metric("error_rate", failed / (completed + failed), Unit.RATIO, completed + failed),
    ]
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(metrics),
        what_it_says=_says(value, completed, failed),
        what_it_cannot_say=(
            "Die Datei nennt weder Hardware noch Treiber noch Topologie.",
            "Die Datei enthält keinen Speicherverbrauch und keine Kosten.",
            "Die Datei ist eine einzelne Wiederholung; über die Streuung sagt sie nichts.",
        ),
        measured_at=_date(value.get("date")),
        completed=completed,
        failed=failed,
        valid=None,
        warnings=_warnings(value, completed, failed),
    )


def _totals(value: Mapping[str, Any]) -> tuple[int, int, float]:
    completed, duration = count(value, "completed"), number(value, "duration")
    prompts, failed = count(value, "num_prompts"), count(value, "failed")
    if completed is None or duration is None:
        raise BenchmarkRefused("MISSING_FIELD", "Der Datei fehlen die Zahl der Anfragen oder die Dauer.")
    if failed is None:
        failed = max(0, (prompts or completed) - completed)
    if prompts is not None and completed + failed != prompts:
        sentence = (
            f"Erfolgreiche und fehlgeschlagene Anfragen ergeben nicht die {prompts} gestellten Anfragen."
        )
        raise BenchmarkRefused("CONTRADICTION", sentence)
    if completed == 0:
        raise (
            refuse_all_failed(failed)
            if failed
            else BenchmarkRefused("EMPTY", "Die Datei enthält keine Anfragen.")
        )
    if duration <= 0:
        raise BenchmarkRefused("BAD_NUMBER", "Die Dauer der Messung ist null.")
    stated = number(value, "request_throughput") or 0.0
    if abs(stated * duration - completed) > _TOLERANCE * completed:
        sentence = "Durchsatz, Dauer und Zahl der Anfragen passen nicht zusammen."
        raise BenchmarkRefused("CONTRADICTION", sentence)
    return completed, failed, duration


def _latencies(value: Mapping[str, Any], completed: int) -> list[Metric]:
    found: list[Metric] = []
    for stem, key in _STEMS.items():
        by_percent: dict[str, float] = {}
        for name, percent in _PERCENTS.items():
            milliseconds, seconds = number(value, f"{name}_{stem}_ms"), number(value, f"{name}_{stem}")
            figure = milliseconds if milliseconds is not None else seconds and seconds * 1000.0
            if figure:  # a figure of exactly zero means "not measured" in this tool
                by_percent.setdefault(percent, figure)
        check_order(by_percent, stem)
        for percent, figure in by_percent.items():
            enough = is_reliable(completed, Fraction(percent) / 100)
            found.append(
                metric(key, figure, Unit.MILLISECONDS, completed, percentile=f"p{percent}", reliable=enough)
            )
    return found


def _tokens(value: Mapping[str, Any], completed: int) -> list[Metric]:
    rate = number(value, "output_throughput")
    return [metric("throughput_tokens_s", rate, Unit.TOKENS_PER_SECOND, completed)] if rate else []


def _says(value: Mapping[str, Any], completed: int, failed: int) -> tuple[str, ...]:
    model = str(value.get("model_id", "ohne Angabe"))[:120]
    return (
        f"Modell laut Datei: {model}.",
        f"{completed} von {completed + failed} Anfragen waren erfolgreich.",
    )


def _date(value: Any) -> str | None:
    try:
        return datetime.strptime(value, "%Y%m%d-%H%M%S").isoformat()  # noqa: DTZ007 - the file gives no zone
    except (TypeError, ValueError):
        return None


def _warnings(value: Mapping[str, Any], completed: int, failed: int) -> tuple[str, ...]:
    found = [f"{failed} von {completed + failed} Anfragen sind fehlgeschlagen."] if failed else []
    if "mean_e2el_ms" not in value and "median_e2el" not in value and "median_e2el_ms" not in value:
        found.append("Die Datei enthält keine Gesamtlatenz (e2el).")
    if _date(value.get("date")) is None:
        found.append("Die Datei nennt keinen lesbaren Messzeitpunkt.")
    return tuple(found)
