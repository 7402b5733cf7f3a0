"""Logs of MLPerf LoadGen: `mlperf_log_summary.txt` ("name : value") and `mlperf_log_detail.txt` (":::MLLOG" and JSON
per line). All times are nanoseconds. Both forms are brought to the key names of the detail log, then read alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from pilots.baseline.importers.common import (
    MAX_LINES,
    BenchmarkRefused,
    ImportedBenchmark,
    check_order,
    checked_text,
    count,
    metric,
    number,
    parse_json,
)
from pilots.baseline.stats import is_reliable
from qms.core.values import Metric, Unit

NAME: Final = "MLPerf LoadGen"
_PREFIX: Final = ":::MLLOG "
_TITLE: Final = "MLPerf Results Summary"
_LINE: Final = re.compile(r"\s*([^:]{1,80}?)\s*:\s*(.{0,200}?)\s*$")
_PROCESSED: Final = re.compile(
    r" \* Processed (?:at least [0-9]{1,12} queries \(([0-9]{1,12})\)|([0-9]{1,12}) queries)\."
)
_PERCENTILE: Final = re.compile(
    r"([0-9]{1,2}\.[0-9]{2}) percentile (latency|first token latency|time to output token)"
)
_PLACES: Final = {
    "latency": "result_{}_percentile_latency_ns",
    "first token latency": "result_first_token_{}_percentile_latency_ns",
    "time to output token": "result_time_per_output_token_{}_percentile_ns",
}
_SUMMARY_KEYS: Final = {
    "Scenario": "effective_scenario",
    "Mode": "effective_test_mode",
    "SUT name": "sut_name",
    "Result is": "result_validity",
    "Samples per second": "result_samples_per_second",
    "Completed samples per second": "result_completed_samples_per_sec",
    "QPS w/o loadgen overhead": "result_qps_without_loadgen_overhead",
    "Completed tokens per second": "result_completed_tokens_per_second",
}
_RATES: Final = {
    "Offline": "result_samples_per_second",
    "Server": "result_completed_samples_per_sec",
    "SingleStream": "result_qps_without_loadgen_overhead",
}
_TEXTS: Final = {"effective_scenario", "effective_test_mode", "sut_name", "result_validity"}
_PERCENTS: Final = ("50", "90", "95", "99", "99.9")


def recognise(text: str, filename: str) -> bool:
    """Say whether a text is a summary or detail log; the file name is not decisive."""
    return text.lstrip().startswith(_PREFIX) or _TITLE in text[:400]


def read(data: bytes) -> ImportedBenchmark:
    """Return the metrics of a log; raises BenchmarkRefused with one German sentence."""
    text = checked_text(data)
    if text.count("\n") > MAX_LINES:
        raise BenchmarkRefused("TOO_LARGE", f"Die Datei hat mehr als {MAX_LINES} Zeilen.")
    values = _detail(text) if text.lstrip().startswith(_PREFIX) else _summary(text)
    scenario = values.get("effective_scenario")
    if values.get("effective_test_mode") != "PerformanceOnly":
        raise BenchmarkRefused(
            "NOT_PERFORMANCE", "Das Protokoll stammt nicht aus einem Leistungslauf (PerformanceOnly)."
        )
    if scenario not in _RATES:
        raise BenchmarkRefused("SCENARIO", "Das Szenario des Protokolls wird nicht unterstützt.")
    completed = count(values, "result_query_count")
    rate = number(values, _RATES[scenario])
    if rate is None:
        raise BenchmarkRefused("MISSING_FIELD", "Dem Protokoll fehlt der Durchsatz.")
    if rate == 0 or completed == 0:
        raise BenchmarkRefused(
            "ALL_FAILED", "Der Durchsatz ist null; die Datei enthält keine verwertbaren Messwerte."
        )
    validity = values.get("result_validity")
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(_metrics(values, scenario, rate, completed)),
        what_it_says=(
            f"Szenario {scenario}, getestetes System laut Datei: {str(values.get('sut_name', ''))[:120]}.",
        ),
        what_it_cannot_say=_cannot_say(scenario, completed),
        measured_at=_date(values.get("test_datetime")),
        completed=completed,
        failed=None,
        valid=None if validity is None else validity == "VALID",
        warnings=_warnings(values, validity),
    )


def _detail(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        if not line.startswith(_PREFIX):
            raise BenchmarkRefused("NOT_THIS_TOOL", "Eine Zeile des Protokolls beginnt nicht mit :::MLLOG.")
        entry = parse_json(line[len(_PREFIX) :])
        if not isinstance(entry, dict) or not isinstance(entry.get("key"), str) or "value" not in entry:
            raise BenchmarkRefused("MISSING_FIELD", "Einer Zeile des Protokolls fehlen Schlüssel oder Wert.")
        key, value = entry["key"], entry["value"]
        if key.startswith(("result_", "effective_", "num_")) and values.get(key, value) != value:
            raise BenchmarkRefused("CONTRADICTION", "Das Protokoll nennt für denselben Schlüssel zwei Werte.")
        values[key] = value
    return values


def _summary(text: str) -> dict[str, Any]:
    if _TITLE not in text:
        raise BenchmarkRefused("NOT_THIS_TOOL", "Die Datei ist kein Protokoll von MLPerf LoadGen.")
    values: dict[str, Any] = {}
    for line in text.splitlines():
        processed = _PROCESSED.match(line)
        if processed:
            _put(values, "result_query_count", int(processed[1] or processed[2]))
            continue
        found = _LINE.fullmatch(line)
        key = found and _summary_key(found[1])
        if found and key:
            _put(values, key, found[2] if key in _TEXTS else _figure(found[2]))
    if "No errors encountered" not in text:
        values["num_errors"] = None
    return values


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    if key in values and values[key] != value:
        raise BenchmarkRefused("CONTRADICTION", "Das Protokoll nennt für denselben Schlüssel zwei Werte.")
    values[key] = value


def _summary_key(name: str) -> str | None:
    found = _PERCENTILE.match(name)
    if found and name.endswith("(ns)"):
        return _PLACES[found[2]].format(found[1])
    return _SUMMARY_KEYS.get(name)


def _figure(text: str) -> float | int:
    try:
        return int(text) if text.isdecimal() and len(text) < 20 else float(text[:40])
    except ValueError as error:
        raise BenchmarkRefused(
            "NOT_A_NUMBER", "Das Protokoll enthält einen Messwert, der keine Zahl ist."
        ) from error


def _metrics(values: Mapping[str, Any], scenario: str, rate: float, completed: int | None) -> list[Metric]:
    found = [metric("throughput_samples_s", rate, Unit.SAMPLES_PER_SECOND, completed)]
    tokens = number(values, "result_completed_tokens_per_second")
    if tokens:
        found.append(metric("throughput_tokens_s", tokens, Unit.TOKENS_PER_SECOND, completed))
    names = {"first token latency": "ttft_ms", "time to output token": "tpot_ms"}
    if scenario != "Offline":
        names["latency"] = "e2e_latency_ms"
    for name, key in names.items():
        by_percent: dict[str, float] = {}
        for percent in _PERCENTS:
            nanoseconds = number(values, _PLACES[name].format(f"{float(percent):.2f}"))
            if nanoseconds:
                by_percent[percent] = nanoseconds / 1e6
        check_order(by_percent, name)
        for percent, value in by_percent.items():
            enough = completed is not None and is_reliable(completed, Fraction(percent) / 100)
            found.append(
                metric(key, value, Unit.MILLISECONDS, completed, percentile=f"p{percent}", reliable=enough)
            )
    return found


def _cannot_say(scenario: str, completed: int | None) -> tuple[str, ...]:
    sentences = [
        "Das Protokoll nennt weder Hardware noch Treiber noch Topologie.",
        "Das Protokoll enthält keinen Speicherverbrauch, keine Kosten und keine Fehlerquote.",
        "Das Protokoll ist eine einzelne Wiederholung; über die Streuung sagt es nichts.",
    ]
    if scenario == "Offline":
        sentences.append(
            "Im Szenario Offline zählt die Latenz ab Start der einen großen Anfrage; sie wird nicht übernommen."
        )
    if completed is None:
        sentences.append(
            "Die Kurzfassung nennt die Zahl der Anfragen nicht; Perzentile gelten deshalb als nicht belastbar."
        )
    return tuple(sentences)


def _warnings(values: Mapping[str, Any], validity: Any) -> tuple[str, ...]:
    found = []
    if validity != "VALID":
        found.append("Das Werkzeug selbst bewertet den Lauf als ungültig (INVALID).")
    if values.get("num_errors", 0) != 0:
        found.append("Das Protokoll meldet Fehler während des Laufs.")
    if "test_datetime" not in values:
        found.append("Die Datei nennt keinen Messzeitpunkt.")
    return tuple(found)


def _date(value: Any) -> str | None:
    pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
    return value if isinstance(value, str) and re.fullmatch(pattern, value) else None
