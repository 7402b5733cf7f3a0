"""Logs of MLPerf LoadGen: `mlperf_log_summary.txt` ("name : value") and `mlperf_log_detail.txt` (":::MLLOG" and JSON
per line). All times are nanoseconds. Both forms are brought to the key names of the detail log, then read alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    ONE_RUN,
    BenchmarkRefused,
    ImportedBenchmark,
    count,
    number,
    text_of,
)
from pilots.baseline.importers.reading import Source, lines, parse_json
from qms.core.values import Metric, Unit

NAME: Final = "MLPerf LoadGen"
_PREFIX: Final = ":::MLLOG "
_TITLE: Final = "MLPerf Results Summary"
_LINE: Final = re.compile(r"\s*([^:]{1,80}?)\s*:\s*(.{0,200}?)\s*$")
_PROCESSED: Final = re.compile(
    r" \* Processed (?:at least [0-9]{1,12} queries \(([0-9]{1,12})\)|([0-9]{1,12}) queries)\."
)
_PERCENTILE: Final = re.compile(
    r"([0-9]{1,2}\.[0-9]{2}) percentile (latency|first token latency|time to output token) \(ns\)"
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


def recognise(source: Source) -> bool:
    """Say whether a file is a summary or a detail log."""
    text = source.start
    return _TITLE in text[:400] or (text.lstrip().startswith(_PREFIX) and '"loadgen_version"' in text[:4000])


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a log; raises BenchmarkRefused with one German sentence."""
    text = source.text()
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
    if validity not in {"VALID", "INVALID"}:
        raise BenchmarkRefused("TRUNCATED", "Dem Protokoll fehlt das Urteil des Werkzeugs (Result is).")
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(_metrics(values, scenario, rate, completed)),
            what_it_says=(
                f"Szenario {scenario}, getestetes System laut Datei: {text_of(values, 'sut_name')}.",
            ),
            what_it_cannot_say=_cannot_say(scenario, completed),
            measured_at=_date(values.get("test_datetime")),
            completed=completed,
            valid=validity == "VALID",
            warnings=_warnings(values, validity),
            version=text_of(values, "loadgen_version", "").partition(" ")[0],
        ),
    )


def _detail(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for line in lines(text):
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
    for line in lines(text):
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
    found = _PERCENTILE.fullmatch(name)
    if found:
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
    found = [figures.metric("throughput_samples_s", rate, Unit.SAMPLES_PER_SECOND, completed)]
    found += figures.tokens_rate(number(values, "result_completed_tokens_per_second"), completed)
    names = {"first token latency": "ttft_ms", "time to output token": "tpot_ms"}
    if scenario != "Offline":
        names["latency"] = "e2e_latency_ms"
    for name, key in names.items():
        nanoseconds = {
            percent: number(values, _PLACES[name].format(f"{float(percent):.2f}")) for percent in _PERCENTS
        }
        by_percent = {percent: value and value / 1e6 for percent, value in nanoseconds.items()}
        found += figures.percentiles(key, by_percent, completed)
    return found


def _cannot_say(scenario: str, completed: int | None) -> tuple[str, ...]:
    sentences = [
        "Das Protokoll nennt weder Hardware noch Treiber noch Topologie.",
        "Das Protokoll enthält keinen Speicherverbrauch, keine Kosten und keine Fehlerquote.",
        ONE_RUN,
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
        found.append("Das Werkzeug selbst bewertet den Lauf als ungültig (INVALID); er zählt in keinem Gate.")
    if values.get("num_errors", 0) != 0:
        found.append("Das Protokoll meldet Fehler während des Laufs.")
    if "test_datetime" not in values:
        found.append("Die Datei nennt keinen Messzeitpunkt.")
    return tuple(found)


def _date(value: Any) -> str | None:
    pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
    return value if isinstance(value, str) and re.fullmatch(pattern, value) else None
