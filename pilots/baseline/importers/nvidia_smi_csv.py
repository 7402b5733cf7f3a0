"""Series of `nvidia-smi --query-gpu=... --format=csv -l`: one row per device and tick, units in the heading.

Without `nounits` the cells repeat the unit, and both must agree. A heading that comes again is an appended call.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, figure, short
from pilots.baseline.importers.devices import CANNOT_SAY, Readings
from pilots.baseline.importers.reading import Source, csv_rows

NAME: Final = "nvidia-smi (CSV)"
_COLUMNS: Final = {
    "utilization.gpu [%]": ("busy", "%"),
    "memory.used [MiB]": ("memory", "MiB"),
    "power.draw [W]": ("power", "W"),
    "temperature.gpu": ("temperature", ""),
}
_MISSING: Final = ("[N/A]", "[Not Supported]", "N/A", "[Unknown Error]", "[GPU requires reset]")
_TITLE: Final = re.compile(r"[a-z_.]{2,60}(?: \[[A-Za-z%]{1,6}\])?")


def recognise(source: Source) -> bool:
    """Say whether a file looks like such a series."""
    heading = source.start.partition("\n")[0]
    return (
        "utilization.gpu" in heading or "power.draw" in heading or "memory.used" in heading
    ) and "," in heading


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return means and maxima of a series; raises BenchmarkRefused with one German sentence."""
    rows = [row for row in csv_rows(source.text()) if row]
    heading = rows[0]
    if len(set(heading)) != len(heading) or not all(map(_TITLE.fullmatch, heading)):
        raise BenchmarkRefused("DUPLICATE_KEY", "Die Überschriften der Tabelle sind nicht eindeutig.")
    if not set(heading) & set(_COLUMNS):
        raise BenchmarkRefused("UNIT", "Die Überschriften der Tabelle nennen keine Einheiten.")
    body = [row for row in rows[1:] if row != heading]
    if not body:
        raise BenchmarkRefused("EMPTY", "Die Tabelle enthält keine Messwerte.")
    readings, names, times = Readings(), set(), []
    for index, row in enumerate(body, 2):
        if len(row) != len(heading):
            raise BenchmarkRefused(
                "TRUNCATED", f"Zeile {index} der Tabelle hat nicht so viele Zellen wie die Überschrift."
            )
        cells = dict(zip(heading, row, strict=True))
        names.add(cells.get("name", ""))
        times.append(_time(cells.get("timestamp", "")))
        _take(readings, cells, index)
    known = [time for time in times if time is not None]
    window = f", {min(known)} bis {max(known)}" if known else ""
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(readings.metrics(snapshot=False)),
            what_it_says=(
                f"{len(body)} Ablesungen{window}.",
                f"Geräte laut Datei: {short(', '.join(sorted(names - {''})), 120) or 'ohne Angabe'}.",
            ),
            what_it_cannot_say=(*CANNOT_SAY, "Die Zeiten sind Ortszeit ohne Angabe der Zeitzone."),
            measured_at=min(known).isoformat() if known else None,
            measured_until=max(known).isoformat() if known else None,
        ),
    )


def _take(readings: Readings, cells: dict[str, str], line: int) -> None:
    for title, (name, unit) in _COLUMNS.items():
        text = cells.get(title, "")
        if not text or text in _MISSING:
            continue
        value, _gap, stated = text.partition(" ")
        if stated and stated != unit:
            raise BenchmarkRefused("UNIT", f"Zeile {line} nennt für {title} die Einheit {short(stated, 10)}.")
        getattr(readings, name).append(figure(value, f"Zeile {line}, {title}"))


def _time(text: str) -> datetime | None:
    """Return the local time of a tick, None if it is not readable."""
    try:
        return datetime.strptime(text, "%Y/%m/%d %H:%M:%S.%f")  # noqa: DTZ007 - the file gives no zone
    except ValueError:
        return None
