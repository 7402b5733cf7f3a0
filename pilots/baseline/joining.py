"""Several files of one run as one measurement: load from one, memory and power from another, quality from a third.

A figure comes from one file. Files whose times cannot belong to one run are refused; what the times leave open is said.
Scores and profiler traces are never recorded while the load is measured, so their times are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Final

from pilots.baseline.importers import pytorch_chrome_trace
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, short
from qms.core.values import Metric

MAX_FILES: Final = 5
SPEED: Final = frozenset(
    {
        *("throughput_samples_s", "throughput_items_s", "throughput_tokens_s", "e2e_latency_ms", "ttft_ms"),
        *("tpot_ms", "itl_ms", "step_time_ms", "time_to_quality_h", "cycle_time_h"),
    }
)
LOAD: Final = SPEED | {"error_rate"}
# The nouns of a sentence; a metric without one keeps its key.
NAMES: Final = {
    "throughput_samples_s": "den Durchsatz in Anfragen",
    "throughput_tokens_s": "den Durchsatz in Token",
    "e2e_latency_ms": "die Antwortzeit",
    "ttft_ms": "die Zeit bis zum ersten Token",
    "tpot_ms": "die Zeit je Ausgabetoken",
    "itl_ms": "den Abstand der Token",
    "step_time_ms": "die Schrittzeit",
    "error_rate": "die Fehlerquote",
    "peak_memory_bytes": "den Speicher",
    "power_watts": "die Leistungsaufnahme",
    "temp_c": "die Temperatur",
    "gpu_busy_share": "die beschäftigte Zeit",
    "comm_share": "den Kommunikationsanteil",
    "eval_score": "den Bewertungswert",
}
SCORE: Final = "eval_score"
SHARE: Final = "comm_share"
# A clock without a zone may stand anywhere from UTC-12 to UTC+14; a run of unknown length may have lasted a day.
EAST: Final = timedelta(hours=14)
WEST: Final = timedelta(hours=12)
LONGEST: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a run: the name it was handed in under, and what it says."""

    name: str
    benchmark: ImportedBenchmark

    @property
    def is_trace(self) -> bool:
        """Whether the file is a profiler trace: of its figures only the share of communication describes the run."""
        return self.benchmark.tool == pytorch_chrome_trace.NAME

    @property
    def has_load(self) -> bool:
        """Whether the file says how fast or how reliable the run was."""
        return any(item.key in LOAD for item in self.benchmark.metrics)

    @property
    def was_recorded_apart(self) -> bool:
        """Whether such a file is recorded at another time than the load: scores and traces."""
        return self.is_trace or all(item.key == SCORE for item in self.benchmark.metrics)


@dataclass(frozen=True, slots=True)
class Joined:
    """What the files say together. main: index of the file with the load, whose counts and time hold for the run.

    keys: which figures each file brought, in the order of the files; notes: German sentences on what stays open.
    """

    benchmark: ImportedBenchmark
    main: int
    keys: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def says_how_fast(self) -> bool:
        """Whether throughput or a time stands in the files: telemetry, scores and network tests alone describe no run."""
        return any(item.key in SPEED for item in self.benchmark.metrics)


def join(parts: Sequence[Part]) -> Joined:
    """Return several files of one run as one; raises BenchmarkRefused with one German sentence naming the files."""
    if not 1 <= len(parts) <= MAX_FILES:
        raise BenchmarkRefused("TOO_MANY", f"Ein Lauf besteht aus 1 bis {MAX_FILES} Dateien.")
    main = next((index for index, part in enumerate(parts) if part.has_load), 0)
    brought = [_figures(part, alone=len(parts) == 1) for part in parts]
    for (left, mine), (right, theirs) in combinations(zip(parts, brought, strict=True), 2):
        _check_figures((left.name, mine), (right.name, theirs))
    notes = _times(parts) if len(parts) > 1 else ()
    first = parts[main].benchmark
    return Joined(
        replace(
            first,
            metrics=_without_repeats(item for rows in brought for item in rows),
            what_it_says=_sentences(parts, [part.benchmark.what_it_says for part in parts]),
            what_it_cannot_say=_sentences(parts, [part.benchmark.what_it_cannot_say for part in parts]),
            warnings=(*_sentences(parts, [part.benchmark.warnings for part in parts]), *notes),
        ),
        main,
        tuple(tuple(dict.fromkeys(item.key for item in rows)) for rows in brought),
        notes,
    )


def _figures(part: Part, *, alone: bool) -> tuple[Metric, ...]:
    """Return what a file contributes: the profiler slows the run down, so a trace beside others gives one share."""
    found = part.benchmark.metrics
    return tuple(item for item in found if item.key == SHARE) if part.is_trace and not alone else found


def _check_figures(left: tuple[str, Sequence[Metric]], right: tuple[str, Sequence[Metric]]) -> None:
    """Refuse a figure that two files give differently, or whose percentiles come from two files."""
    (left_name, mine), (right_name, theirs) = left, right
    for key in sorted({_subject(item) for item in mine} & {_subject(item) for item in theirs}):
        first = {(item.percentile, item.value) for item in mine if _subject(item) == key}
        second = {(item.percentile, item.value) for item in theirs if _subject(item) == key}
        if not (first <= second or second <= first):
            sentence = (
                f"{short(left_name)} und {short(right_name)} nennen {NAMES.get(key[0], key[0])} verschieden; bitte lassen Sie die Datei weg, "
                "die nicht zu diesem Lauf gehört."
            )
            raise BenchmarkRefused("CONTRADICTION", sentence)


def _subject(item: Metric) -> tuple[str, str]:
    """Return what a figure is about: its key, and for a score its task, which stands in the note."""
    return item.key, item.note if item.key == SCORE else ""


def _without_repeats(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    seen: dict[tuple[tuple[str, str], str | None, object], Metric] = {}
    for item in metrics:
        seen.setdefault((_subject(item), item.percentile, item.value), item)
    return tuple(seen.values())


def _sentences(parts: Sequence[Part], said: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return what the files say, each sentence with the name of its file where there are several."""
    if len(parts) == 1:
        return tuple(said[0])
    return tuple(
        f"{short(part.name)}: {text}" for part, texts in zip(parts, said, strict=True) for text in texts
    )


def _times(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return what stays open about the times; raises BenchmarkRefused for two files that cannot be of one run."""
    notes: list[str] = []
    together = [part for part in parts if not part.was_recorded_apart]
    for left, right in combinations(together, 2):
        windows = _window(left.benchmark), _window(right.benchmark)
        if windows[0] is None or windows[1] is None:
            continue
        if windows[0][1] < windows[1][0] or windows[1][1] < windows[0][0]:
            sentence = (
                f"{short(left.name)} und {short(right.name)} wurden zu verschiedenen Zeiten gemessen und gehören nicht zu "
                "einem Lauf; bitte wählen Sie Dateien desselben Laufs."
            )
            raise BenchmarkRefused("OTHER_TIME", sentence)
    for part in parts:
        notes += _time_note(part)
    return tuple(notes)


def _time_note(part: Part) -> list[str]:
    name, found = short(part.name), part.benchmark
    if part.was_recorded_apart:
        return [f"{name} wurde getrennt von der Last aufgenommen; die Zeit wird nicht verglichen."]
    if found.measured_at is None:
        return [f"{name} nennt keinen Messzeitpunkt; dass sie zu diesem Lauf gehört, ist nicht geprüft."]
    if datetime.fromisoformat(found.measured_at).tzinfo is None:
        return [f"{name} nennt keine Zeitzone; die Zeit ist nur auf den Tag genau verglichen."]
    return []


def _window(found: ImportedBenchmark) -> tuple[datetime, datetime] | None:
    """Return the earliest start and the latest end a run can have had in UTC, None where the file gives no time."""
    try:
        return _bounds(found) if found.measured_at else None
    except OverflowError:  # a year no calendar has
        return None


def _bounds(found: ImportedBenchmark) -> tuple[datetime, datetime]:
    assert found.measured_at is not None
    start, first = _utc(found.measured_at)
    end, last = _utc(found.measured_until) if found.measured_until else (start, first)
    if found.measured_until is None:  # the time may be that of the start or of the end
        length = LONGEST if found.lasted_s is None else timedelta(seconds=found.lasted_s)
        start, last = start - length, last + length
    return min(start, end), max(first, last)


def _utc(text: str) -> tuple[datetime, datetime]:
    """Return the earliest and latest UTC time a text can mean: one and the same where it names its zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        return moment.astimezone(UTC), moment.astimezone(UTC)
    moment = moment.replace(tzinfo=UTC)
    return moment - EAST, moment + WEST
