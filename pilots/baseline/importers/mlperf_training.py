"""Logs of MLPerf training: lines with ":::MLLOG" and JSON. One file is one run; times are ms since 1970.

What the figure `throughput` counts depends on the benchmark, so it is taken only where that is known and step time and
batch bear it out. Step times are seconds (their name in v4.1 says so), memory is GB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    BenchmarkRefused,
    ImportedBenchmark,
    mapping,
    moment,
    number,
    text_of,
)
from pilots.baseline.importers.reading import Source, lines, parse_json
from qms.core.values import Metric, Unit

NAME: Final = "MLPerf Training"
_PREFIX: Final = ":::MLLOG "
_STEPS: Final = ("train_step_timing in s", "train_step_time")
_TOKENS: Final = ("gpt3",)
_SAMPLES: Final = ("llama2_70b_lora", "llama31_405b", "llama31_8b")
_KEPT: Final = ("submission_", "global_", "max_sequence")
_SLACK: Final = 0.25  # the rate may include evaluation, the step time does not
_GB: Final = 1e9


@dataclass(slots=True)
class _Log:
    """What matters of a log: last value and time per key, scores, and the series of tracked figures."""

    values: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    status: str = ""
    scores: list[float] = field(default_factory=list)
    tracked: dict[str, list[float]] = field(default_factory=dict)


def recognise(source: Source) -> bool:
    """Say whether a file is such a log."""
    text = source.start
    return _PREFIX in text[:100_000] and '"loadgen_version"' not in text and '"submission_benchmark"' in text


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a log; raises BenchmarkRefused with one German sentence."""
    log = _log(source.text())
    seconds = (_time(log, "run_stop") - _time(log, "run_start")) / 1e3
    if seconds <= 0:
        raise BenchmarkRefused("CONTRADICTION", "Der Lauf endet vor seinem Anfang.")
    if log.status != "success":
        sentence = "Der Lauf wurde nicht erfolgreich beendet (run_stop); er ist keine Vergleichsbasis."
        raise BenchmarkRefused("ALL_FAILED", sentence)
    benchmark = text_of(log.values, "submission_benchmark")
    hours = figures.metric("time_to_quality_h", seconds / 3600, Unit.HOURS, 1)
    memory = log.tracked.get("max_memory_usage", [])
    metrics = [*_speed(log, benchmark), hours]
    if memory:
        metrics.append(
            figures.metric("peak_memory_bytes", max(memory) * _GB, Unit.BYTES, len(memory), note="je Gerät")
        )
    if log.scores:
        note = f"eval_accuracy am Ende, {benchmark}"
        metrics.append(figures.metric("eval_score", log.scores[-1], Unit.NONE, len(log.scores), note=note))
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(metrics),
            what_it_says=(
                f"Benchmark {benchmark} auf {text_of(log.values, 'submission_platform')}.",
                f"Eingereicht von {text_of(log.values, 'submission_org')}.",
            ),
            what_it_cannot_say=_cannot_say(metrics),
            measured_at=moment(_time(log, "run_start") / 1e3),
            valid=True,
            label=benchmark,
        ),
    )


def _log(text: str) -> _Log:
    log = _Log()
    for line in lines(text):
        _before, mark, rest = line.partition(_PREFIX)
        if not mark:
            continue
        entry = parse_json(rest)
        if not isinstance(entry, dict) or not isinstance(entry.get("key"), str) or "value" not in entry:
            raise BenchmarkRefused("MISSING_FIELD", "Einer Zeile des Protokolls fehlen Schlüssel oder Wert.")
        _take(log, entry)
    return log


def _take(log: _Log, entry: Mapping[str, Any]) -> None:
    key, value = entry["key"], entry["value"]
    if key == "eval_accuracy":
        score = number(entry, "value", name=key)
        log.scores += [] if score is None else [score]
    elif key == "tracked_stats":
        figures_of = mapping(entry, "value")
        for name in figures_of:
            found = number(figures_of, name)
            log.tracked.setdefault(name, []).extend([] if found is None else [found])
    elif key in {"run_start", "run_stop"}:
        if key in log.times:
            raise BenchmarkRefused("CONTRADICTION", f"Das Protokoll enthält {key} mehrmals.")
        log.times[key] = number(entry, "time_ms") or 0.0
        if key == "run_stop":
            log.status = text_of(mapping(entry, "metadata"), "status", "")
    elif key.startswith(_KEPT) and log.values.setdefault(key, value) != value:
        raise BenchmarkRefused("CONTRADICTION", f"Das Protokoll nennt für {key} zwei Werte.")


def _time(log: _Log, key: str) -> float:
    if not log.times.get(key):
        raise BenchmarkRefused("TRUNCATED", f"Dem Protokoll fehlt {key}; der Lauf ist nicht vollständig.")
    return log.times[key]


def _speed(log: _Log, benchmark: str) -> list[Metric]:
    steps = next((log.tracked[name] for name in _STEPS if log.tracked.get(name)), [])
    found = figures.averaged("step_time_ms", fmean(steps) * 1e3, len(steps)) if steps else []
    rates = log.tracked.get("throughput", [])
    batch, length = number(log.values, "global_batch_size"), number(log.values, "max_sequence_length")
    if not rates or not steps or not batch:
        return found
    tokens = benchmark in _TOKENS and length
    amount = batch * length if tokens and length else batch
    if benchmark not in (*_TOKENS, *_SAMPLES) or (benchmark in _TOKENS and not length):
        return found
    if abs(fmean(rates) * fmean(steps) / amount - 1) > _SLACK:
        raise BenchmarkRefused("CONTRADICTION", "Durchsatz, Schrittzeit und Batch passen nicht zusammen.")
    if tokens:
        return [*figures.tokens_rate(fmean(rates), len(rates)), *found]
    return [
        figures.metric("throughput_samples_s", fmean(rates), Unit.SAMPLES_PER_SECOND, len(rates)),
        *found,
    ]


def _cannot_say(metrics: list[Metric]) -> tuple[str, ...]:
    keys = {item.key for item in metrics}
    sentences = ["Die Datei ist ein einzelner Lauf; die Wertung von MLPerf mittelt über mehrere."]
    if not keys & {"throughput_tokens_s", "throughput_samples_s"}:
        sentences.append("Der Durchsatz wird nicht übernommen, weil seine Zähleinheit nicht feststeht.")
    if "peak_memory_bytes" not in keys:
        sentences.append("Die Datei enthält keinen Speicherverbrauch.")
    return (*sentences, "Die Datei enthält keine Kosten und keine Leistungsaufnahme.")
