"""Golden values of Megatron-LM: one series per measure with the figures of each step. iteration-time is seconds,
memory is bytes, as its own tests define them; "nan" stands for steps that were not logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    NO_HARDWARE,
    BenchmarkRefused,
    ImportedBenchmark,
    mapping,
    needed_count,
    number,
)
from pilots.baseline.importers.reading import Source, json_object
from qms.core.values import Metric, Unit

NAME: Final = "Megatron-LM (golden values)"
_TIME: Final = "iteration-time"
_MEMORY: Final = "mem-max-allocated-bytes"


def recognise(source: Source) -> bool:
    """Say whether a file looks like such values."""
    text = source.start
    return text.lstrip().startswith("{") and all(
        f'"{key}"' in text for key in ("start_step", "step_interval", _TIME)
    )


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a file; raises BenchmarkRefused with one German sentence."""
    value = json_object(source)
    times, memory = _series(value, _TIME), _series(value, _MEMORY)
    if not times:
        raise BenchmarkRefused("MISSING_FIELD", f"Der Datei fehlt die Reihe {_TIME}.")
    metrics: list[Metric] = figures.observed("step_time_ms", [time * 1e3 for time in times])
    if memory:
        peak = figures.metric("peak_memory_bytes", max(memory), Unit.BYTES, len(memory), note="je Gerät")
        metrics.append(peak)
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(metrics),
            what_it_says=(f"{len(times)} gemessene Schritte, der erste enthält das Aufwärmen.",),
            what_it_cannot_say=(
                "Die Datei nennt weder Modell noch Batch; ein Durchsatz wird nicht gebildet.",
                "Die Datei nennt keinen Messzeitpunkt.",
                NO_HARDWARE,
            ),
        ),
    )


def _series(value: Mapping[str, Any], name: str) -> list[float]:
    """Return the figures of a series without the steps that say "nan"; raises BenchmarkRefused for a gap."""
    if name not in value:
        return []
    series = mapping(value, name)
    steps = mapping(series, "values")
    first, last, gap = (needed_count(series, key) for key in ("start_step", "end_step", "step_interval"))
    if (
        gap < 1
        or last - first > 1_000_000
        or list(steps) != [str(step) for step in range(first, last + 1, gap)]
    ):
        raise BenchmarkRefused("TRUNCATED", f"Der Reihe {name} fehlen Schritte.")
    found = [number(steps, step, name=f"{name} {step}") for step in steps if steps[step] != "nan"]
    return [figure for figure in found if figure]
