"""Single requests of AIPerf: JSON lines with the times of a request (ns since 1970) and its measures with their units.

Only the phase of the measurement counts, not the warm-up. Figures are computed from good requests over the whole window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pilots.baseline.importers import aiperf, figures
from pilots.baseline.importers.common import (
    BenchmarkRefused,
    ImportedBenchmark,
    mapping,
    moment,
    needed,
    number,
    refuse_all_failed,
)
from pilots.baseline.importers.reading import Source, json_lines

NAME: Final = "AIPerf (Einzelanfragen)"
_LATEST_NS: Final = 1e19
Record = Mapping[str, Any]


def recognise(source: Source) -> bool:
    """Say whether a file looks like single requests of this tool."""
    first = source.start.lstrip().partition("\n")[0]
    return first.startswith("{") and '"request_start_ns"' in first and '"benchmark_phase"' in first


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a file; raises BenchmarkRefused with one German sentence."""
    records = [record for record in json_lines(source) if _phase(record) == "profiling"]
    good = [record for record in records if _is_good(record)]
    if not good:
        raise refuse_all_failed(len(records))
    starts = [_time(record, "request_start_ns") for record in records]
    ends = [_time(record, "request_end_ns") for record in records]
    if any(end < start for start, end in zip(starts, ends, strict=True)):
        raise BenchmarkRefused("CONTRADICTION", "Eine Anfrage endet vor ihrem Anfang.")
    duration = (max(ends) - min(starts)) / 1e9
    tokens = sum(
        needed(_measure(record, "output_sequence_length", {"tokens": 1.0}), "output_sequence_length")
        for record in good
    )
    latencies = []
    for name, key in aiperf.LATENCIES.items():
        samples = [_measure(record, name, aiperf.TO_MS) for record in good]
        latencies += figures.observed(key, [sample for sample in samples if sample])
    if duration <= 0:
        raise BenchmarkRefused("BAD_NUMBER", "Die Dauer der Messung ist null.")
    return (
        aiperf.run_of(
            len(good),
            len(records) - len(good),
            duration=duration,
            rate=None,
            tokens=tokens / duration,
            latencies=latencies,
            measured_at=moment(min(starts) / 1e9),
        ),
    )


def _phase(record: Record) -> Any:
    metadata = mapping(record, "metadata")
    if "request_start_ns" not in metadata:
        raise BenchmarkRefused("MISSING_FIELD", "Einer Anfrage fehlt request_start_ns.")
    return metadata.get("benchmark_phase", "profiling")


def _is_good(record: Record) -> bool:
    """Say whether a request succeeded and its answer holds a token."""
    metadata = mapping(record, "metadata")
    if record.get("error") or metadata.get("was_cancelled"):
        return False
    length = _measure(record, "output_sequence_length", {"tokens": 1.0})
    return length is None or length > 0


def _time(record: Record, key: str) -> float:
    return needed(number(mapping(record, "metadata"), key, most=_LATEST_NS), key)


def _measure(record: Record, name: str, units: Mapping[str, float]) -> float | None:
    measure = mapping(mapping(record, "metrics"), name)
    value = number(measure, "value", name=name)
    if value is None:
        return None
    factor = units.get(str(measure.get("unit")))
    if factor is None:
        raise BenchmarkRefused("UNIT", f"Die Einheit von {name} wird nicht gelesen oder fehlt.")
    return value * factor
