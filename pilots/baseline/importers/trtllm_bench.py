"""The report `trtllm-bench` prints: a block PERFORMANCE OVERVIEW with labelled lines. Every label states its unit.

Release 0.16 calls the rate of generated tokens "Token Throughput"; from 1.0 on "Total Output Throughput" is that rate
and "Total Token Throughput" counts input and output together, which is not taken.
"""

from __future__ import annotations

import re
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    NO_COST,
    ONE_RUN,
    BenchmarkRefused,
    ImportedBenchmark,
    figure,
    needed,
    refuse_all_failed,
    short,
)
from pilots.baseline.importers.reading import Source, lines
from qms.core.values import Metric, Unit

NAME: Final = "TensorRT-LLM trtllm-bench"
_BLOCK: Final = "PERFORMANCE OVERVIEW"
_LINE: Final = re.compile(r"([A-Z][^:\t]{1,78}?)\s*:\s+(\S.{0,119}?)\s*")
_SECTION: Final = re.compile(
    r"-- .{0,60}?(?:\[(TTFT|TPOT)\] |Request (Latency) )Breakdown \((\w{1,10})\)[ -]*"
)
_PERCENTILE: Final = re.compile(r"\[(TTFT|TPOT|Latency)\] (P50|P90|P95|P99|MAXIMUM)\s*:\s+(\S{1,40})\s*")
_KEYS: Final = {"TTFT": "ttft_ms", "TPOT": "tpot_ms", "Latency": "e2e_latency_ms"}
_MEANS: Final = {
    "Average request latency (ms)": "e2e_latency_ms",
    "Average time-to-first-token [TTFT] (ms)": "ttft_ms",
    "Average time-per-output-token [TPOT] (ms)": "tpot_ms",
}
_OUTPUT: Final = ("Total Output Throughput (tokens/sec)", "Token Throughput (tokens/sec)")


def recognise(source: Source) -> bool:
    """Say whether a file holds such a report."""
    return _BLOCK in source.start and "Throughput (req/sec)" in source.start


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a report; raises BenchmarkRefused with one German sentence."""
    found = lines(source.text())
    if sum(_BLOCK in line for line in found) != 1:
        raise BenchmarkRefused("SEVERAL_BLOCKS", "Die Datei enthält nicht genau einen Ergebnisblock.")
    values = _labels(found)
    rate = needed(_value(values, "Request Throughput (req/sec)"), "Request Throughput (req/sec)")
    asked = _value(values, "Number of requests")
    if asked is not None and asked != int(asked):
        raise BenchmarkRefused("NOT_A_COUNT", "Die Zahl der Anfragen ist nicht ganz.")
    n = None if asked is None else int(asked)
    if rate == 0 or n == 0:
        raise refuse_all_failed(n or None)
    metrics = [*_rates(values, rate, n), *_means(values, n), *_percentiles(found, n)]
    if not any(label in values for label in _OUTPUT):
        raise BenchmarkRefused("MISSING_FIELD", "Der Datei fehlt der Durchsatz der Ausgabetoken.")
    version = short(values.get("TensorRT-LLM Version", ""), 40)
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(metrics),
            what_it_says=(
                f"Modell laut Datei: {short(values.get('Model', 'ohne Angabe'), 120)}.",
                f"Aufteilung laut Datei: TP {short(values.get('TP Size', '?'), 9)}, PP {short(values.get('PP Size', '?'), 9)}.",
            ),
            what_it_cannot_say=_cannot_say(n),
            completed=n,
            version=version,
        ),
    )


def _labels(found: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in found:
        match = _LINE.fullmatch(line)
        if match and values.setdefault(match[1], match[2]) != match[2]:
            raise BenchmarkRefused("CONTRADICTION", f"Die Datei nennt zwei Werte für {short(match[1])}.")
    return values


def _value(values: dict[str, str], label: str) -> float | None:
    return figure(values[label], label) if label in values else None


def _rates(values: dict[str, str], rate: float, n: int | None) -> list[Metric]:
    tokens = next((_value(values, label) for label in _OUTPUT if label in values), None)
    total, length = (
        _value(values, "Total Latency (ms)"),
        _value(values, "Average Output Length (tokens)"),
    )
    if n is not None and total is not None:
        figures.check_product(rate, total / 1000, n, "Durchsatz, Dauer und Zahl der Anfragen")
    if tokens and length:
        figures.check_product(rate, length, tokens, "Durchsatz der Anfragen und der Token")
    return [
        figures.metric("throughput_samples_s", rate, Unit.SAMPLES_PER_SECOND, n),
        *figures.tokens_rate(tokens, n),
    ]


def _means(values: dict[str, str], n: int | None) -> list[Metric]:
    return [item for label, key in _MEANS.items() for item in figures.averaged(key, _value(values, label), n)]


def _percentiles(found: list[str], n: int | None) -> list[Metric]:
    """Return the percentiles of the sections whose heading states milliseconds."""
    values: dict[str, dict[str, float]] = {}
    section = unit = ""
    for line in found:
        heading = _SECTION.fullmatch(line)
        if heading:
            section, unit = heading[1] or heading[2], heading[3]
        row = _PERCENTILE.fullmatch(line)
        if not row:
            continue
        if row[1] != section or unit != "ms":
            raise BenchmarkRefused("UNIT", f"Die Einheit der Perzentile von {row[1]} ist nicht angegeben.")
        percent = "100" if row[2] == "MAXIMUM" else row[2][1:]
        if percent in values.setdefault(row[1], {}):
            raise BenchmarkRefused("CONTRADICTION", f"Die Datei nennt {row[1]} {row[2]} zweimal.")
        values[row[1]][percent] = figure(row[3], f"{row[1]} {row[2]}")
    result: list[Metric] = []
    for name, by_percent in values.items():
        figures.check_order(by_percent, name)
        shown = {percent: value for percent, value in by_percent.items() if percent != "100"}
        result += figures.percentiles(_KEYS[name], shown, n)
    return result


def _cannot_say(n: int | None) -> tuple[str, ...]:
    sentences = [
        "Die Datei nennt keine fehlgeschlagenen Anfragen; eine Fehlerquote wird nicht gebildet.",
        "Die Datei nennt weder Hardware noch Treiber noch Messzeitpunkt.",
        NO_COST,
        ONE_RUN,
    ]
    if n is None:
        sentences.append(
            "Die Datei nennt die Zahl der Anfragen nicht; Perzentile gelten deshalb als nicht belastbar."
        )
    return tuple(sentences)
