"""Answers of the HTTP interface of Prometheus: vectors and matrices of [seconds, "text"] with their labels.

Taken are the fields of DCGM, whose units are fixed by their names. The result of an expression has no name and so no
unit; it is refused rather than guessed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pilots.baseline.importers.common import (
    BenchmarkRefused,
    ImportedBenchmark,
    mapping,
    moment,
    short,
    text_of,
)
from pilots.baseline.importers.devices import CANNOT_SAY, Readings
from pilots.baseline.importers.exposition import DEVICE_FIELDS, Sample
from pilots.baseline.importers.reading import Source, json_object

NAME: Final = "Prometheus (HTTP)"


def recognise(source: Source) -> bool:
    """Say whether a file is such an answer."""
    text = source.start.lstrip()
    return (
        text.startswith("{")
        and '"status"' in text[:200]
        and ('"resultType"' in text or '"errorType"' in text)
    )


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the readings of an answer; raises BenchmarkRefused with one German sentence."""
    value = json_object(source)
    if value.get("status") != "success":
        raise BenchmarkRefused(
            "QUERY_FAILED",
            "Die Abfrage an Prometheus ist fehlgeschlagen; die Datei enthält nur die Fehlermeldung.",
        )
    result = mapping(value, "data").get("result")
    if not isinstance(result, list):
        raise BenchmarkRefused("MISSING_FIELD", "Der Datei fehlt das Feld result.")
    if not result:
        raise BenchmarkRefused("EMPTY", "Die Abfrage war erfolgreich, hat aber keine Messwerte ergeben.")
    readings, times, devices = Readings(), [], set()
    for series in result:
        if not isinstance(series, dict):
            raise BenchmarkRefused(
                "MISSING_FIELD", "Eine Reihe der Antwort ist anders aufgebaut als erwartet."
            )
        labels = mapping(series, "metric")
        name = _name(labels)
        devices.add(text_of(labels, "modelName"))
        for time, text in _points(series):
            times.append(time)
            reading = Sample(name, {}, text).value()
            if reading is not None:
                getattr(readings, DEVICE_FIELDS[name]).append(reading)
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(readings.metrics(snapshot=len(times) == len(result))),
            what_it_says=(
                f"{len(result)} Reihen mit {len(times)} Werten, Geräte: {short(', '.join(sorted(devices)), 120)}.",
            ),
            what_it_cannot_say=CANNOT_SAY,
            measured_at=moment(min(times, default=None)),
            measured_until=moment(max(times, default=None)),
        ),
    )


def _name(labels: Mapping[str, Any]) -> str:
    name = labels.get("__name__")
    if name is None:
        sentence = "Die Abfrage ist ein Ausdruck ohne Namen; ihre Einheit steht nirgends. Bitte fragen Sie die Messgröße selbst ab."
        raise BenchmarkRefused("UNIT", sentence)
    if not isinstance(name, str) or name not in DEVICE_FIELDS:
        known = ", ".join(DEVICE_FIELDS)
        raise BenchmarkRefused(
            "UNIT", f"Die Messgröße {short(str(name))} wird nicht gelesen; gelesen werden {known}."
        )
    return name


def _points(series: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    """Yield time in seconds and text of each value; raises BenchmarkRefused for another shape or falling times."""
    found = series.get("values", [series.get("value")])
    last = 0.0
    for point in found if isinstance(found, list) else [None]:
        if (
            not isinstance(point, list)
            or len(point) != 2
            or isinstance(point[0], bool)
            or not isinstance(point[0], int | float)
            or not isinstance(point[1], str)
        ):
            raise BenchmarkRefused("MISSING_FIELD", "Ein Wert der Antwort ist anders aufgebaut als erwartet.")
        if not last < point[0] < 1e12:
            raise BenchmarkRefused("CONTRADICTION", "Die Zeiten einer Reihe steigen nicht.")
        last = float(point[0])
        yield last, point[1]
