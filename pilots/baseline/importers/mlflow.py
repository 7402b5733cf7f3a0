"""One run of MLflow: the answer of its REST interface (last value of each series), or its folder packed as ZIP.

In the folder every series is a file of lines "ms value step"; its path is its name. Nothing is unpacked to disk, members
are read one by one within limits.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Final

from pilots.baseline.importers import tracked
from pilots.baseline.importers.common import (
    BenchmarkRefused,
    ImportedBenchmark,
    figure,
    mapping,
    moment,
    number,
    short,
    text_of,
)
from pilots.baseline.importers.reading import ZIP, Source, json_object, lines

NAME: Final = "MLflow"
_MAX_MEMBERS: Final = 10_000
_MAX_MEMBER_BYTES: Final = 2**20
_MAX_ALL_BYTES: Final = 16 * 2**20
_PLACE: Final = re.compile(r"(?:.{0,200}/)?([0-9a-f]{32})/(meta\.yaml|metrics/(.{1,250}))")
_WORDS: Final = {"nan", "inf", "-inf", "NaN", "Infinity", "-Infinity"}
_FINISHED: Final = {"FINISHED", "3"}


def recognise(source: Source) -> bool:
    """Say whether a file is an answer of MLflow or a packed folder."""
    if source.head.startswith(ZIP):
        return True
    text = source.start
    return text.lstrip().startswith("{") and all(
        f'"{key}"' in text for key in ("run", "info", "artifact_uri")
    )


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the runs of a file; raises BenchmarkRefused with one German sentence."""
    return _folder(source.data()) if source.head.startswith(ZIP) else (_answer(json_object(source)),)


def _answer(value: Mapping[str, Any]) -> ImportedBenchmark:
    run = mapping(value, "run")
    info, found = mapping(run, "info"), mapping(run, "data").get("metrics", [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BenchmarkRefused("MISSING_FIELD", "Der Datei fehlt das Feld metrics.")
    series: dict[str, list[float]] = {}
    for item in found:
        name = item.get("key")
        if not isinstance(name, str) or name in series:
            raise BenchmarkRefused("DUPLICATE_KEY", "Eine Messgröße fehlt oder kommt doppelt vor.")
        word = isinstance(item.get("value"), str) and item["value"] in _WORDS
        known = None if word else number(item, "value")
        series[name] = [] if known is None else [known]
    start = number(info, "start_time")
    return _run(
        series,
        name=text_of(info, "run_name"),
        status=text_of(info, "status", ""),
        start_ms=start,
        only_last=True,
    )


def _folder(data: bytes) -> tuple[ImportedBenchmark, ...]:
    runs: dict[str, dict[str, str]] = {}
    for name, text in _members(data).items():
        place = _PLACE.fullmatch(name)
        if place:
            runs.setdefault(place[1], {})[place[2]] = text
    if not runs:
        sentence = "Die ZIP-Datei enthält keinen Lauf von MLflow; bitte packen Sie den Ordner des Laufs."
        raise BenchmarkRefused("UNKNOWN_FORMAT", sentence)
    return tuple(_packed(members) for _name, members in sorted(runs.items()))


def _packed(members: Mapping[str, str]) -> ImportedBenchmark:
    meta = dict(line.split(": ", 1) for line in members.get("meta.yaml", "").splitlines() if ": " in line)
    if "start_time" not in meta or "status" not in meta:
        raise BenchmarkRefused("MISSING_FIELD", "Dem Lauf fehlt meta.yaml mit Anfang und Zustand.")
    series = {
        name.removeprefix("metrics/"): _series(name, text)
        for name, text in members.items()
        if name.startswith("metrics/")
    }
    return _run(
        series,
        name=short(meta.get("run_name", "ohne Angabe"), 120),
        status=meta["status"].strip(),
        start_ms=figure(meta["start_time"], "start_time"),
        only_last=False,
    )


def _series(name: str, text: str) -> list[float]:
    """Return the finite values of a series; raises BenchmarkRefused naming it."""
    found = []
    for line in lines(text):
        if not line:
            continue
        cells = line.split(" ")
        if len(cells) != 3:
            raise BenchmarkRefused("TRUNCATED", f"Einer Zeile von {short(name)} fehlen Angaben.")
        figure(cells[0], name)
        if not re.fullmatch(r"-?[0-9]{1,18}", cells[2]):
            raise BenchmarkRefused("TRUNCATED", f"Ein Schritt von {short(name)} ist keine Zahl.")
        if cells[1] not in _WORDS and not cells[1].startswith("-"):
            found.append(figure(cells[1], name))
        elif cells[1] not in _WORDS:
            figure(cells[1].removeprefix("-"), name)  # a loss may be negative; nothing taken is
    return found


def _members(data: bytes) -> dict[str, str]:
    """Return the small text members of an archive by name; raises BenchmarkRefused beyond a limit."""
    found: dict[str, str] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            if len(entries) > _MAX_MEMBERS or len(set(names)) != len(names):
                raise BenchmarkRefused("TOO_LARGE", "Die ZIP-Datei enthält zu viele oder doppelte Namen.")
            left = _MAX_ALL_BYTES
            for entry in entries:
                if not _PLACE.fullmatch(entry.filename):
                    continue
                with archive.open(entry) as member:
                    content = member.read(min(_MAX_MEMBER_BYTES, left) + 1)
                left -= len(content)
                if len(content) > _MAX_MEMBER_BYTES or left < 0:
                    raise BenchmarkRefused("BOMB", "Die ZIP-Datei wird beim Entpacken zu groß.")
                found[entry.filename] = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BenchmarkRefused("NOT_TEXT", "Eine Datei des Laufs ist kein Text in UTF-8.") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
    ) as error:
        if isinstance(error, BenchmarkRefused):
            raise
        raise BenchmarkRefused("TRUNCATED", "Die ZIP-Datei ist beschädigt.") from error
    return found


def _run(
    series: Mapping[str, list[float]], *, name: str, status: str, start_ms: float | None, only_last: bool
) -> ImportedBenchmark:
    last = ("Die Antwort enthält nur den letzten Wert jeder Reihe, keinen Verlauf.",) if only_last else ()
    finished = status in _FINISHED
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(tracked.metrics_of(series)),
        what_it_says=(f"Lauf {name}.", tracked.names_sentence(series)),
        what_it_cannot_say=(*last, *tracked.CANNOT_SAY),
        measured_at=moment(start_ms / 1e3) if start_ms else None,
        valid=finished,
        warnings=()
        if finished
        else ("Der Lauf ist nicht als beendet vermerkt; er zählt nicht als gültige Messung.",),
        label=name,
    )
