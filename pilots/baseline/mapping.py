"""Any other table: a person says which column is which figure, in which unit, and how the table is written.

Nothing is guessed: separator, decimal sign, headings and units are asked. A column in two units is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    NO_HARDWARE,
    BenchmarkRefused,
    ImportedBenchmark,
    failure_warning,
    figure,
    refuse_all_failed,
    requests_sentence,
    short,
)
from pilots.baseline.importers.reading import MAX_BYTES, Source, csv_rows, too_large
from qms.core.values import Metric, Unit

NAME: Final = "Eigene Tabelle"
SEPARATORS: Final = {"KOMMA": ",", "SEMIKOLON": ";", "TAB": "\t"}
DECIMALS: Final = {"PUNKT": ".", "KOMMA": ","}
PREVIEW_ROWS: Final = 8
MAX_COLUMNS: Final = 60
SUCCESS: Final = "success"
_MS: Final = {"ms": 1.0, "s": 1e3, "us": 1e-3}
_BYTES: Final = {"B": 1.0, "MiB": 2.0**20, "GiB": 2.0**30, "MB": 1e6, "GB": 1e9}
_SHARE: Final = {"%": 0.01, "ratio": 1.0}
_CELL: Final = {
    sign: re.compile(
        rf"([+-]?[0-9]+(?:{re.escape(sign)}[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?)\s*((?:[^\s0-9.,]\S*)?)"
    )
    for sign in ".,"
}
_WORDS: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a column may be: the unit its figure gets, units it may be written in with their factor, and its summary."""

    unit: Unit
    units: Mapping[str, float]
    summary: Callable[[str, Sequence[float], Unit], list[Metric]]


def _observed(key: str, values: Sequence[float], unit: Unit) -> list[Metric]:
    return figures.observed(key, values)


def _mean(key: str, values: Sequence[float], unit: Unit) -> list[Metric]:
    return [figures.metric(key, fmean(values), unit, len(values), note=figures.MEAN)]


def _highest(key: str, values: Sequence[float], unit: Unit) -> list[Metric]:
    return [figures.metric(key, max(values), unit, len(values), note="höchster Wert")]


MEANINGS: Final[dict[str, Meaning]] = {
    "e2e_latency_ms": Meaning(Unit.MILLISECONDS, _MS, _observed),
    "ttft_ms": Meaning(Unit.MILLISECONDS, _MS, _observed),
    "tpot_ms": Meaning(Unit.MILLISECONDS, _MS, _observed),
    "step_time_ms": Meaning(Unit.MILLISECONDS, _MS, _observed),
    "throughput_samples_s": Meaning(Unit.SAMPLES_PER_SECOND, {"1/s": 1.0}, _mean),
    "throughput_tokens_s": Meaning(Unit.TOKENS_PER_SECOND, {"1/s": 1.0}, _mean),
    "peak_memory_bytes": Meaning(Unit.BYTES, _BYTES, _highest),
    "power_watts": Meaning(Unit.WATTS, {"W": 1.0, "mW": 1e-3, "kW": 1e3}, _mean),
    "temp_c": Meaning(Unit.CELSIUS, {"°C": 1.0}, _highest),
    "gpu_busy_share": Meaning(Unit.RATIO, _SHARE, _mean),
    "comm_share": Meaning(Unit.RATIO, _SHARE, _mean),
    "eval_score": Meaning(Unit.NONE, {"": 1.0}, _mean),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is written. separator and decimal: keys of SEPARATORS and DECIMALS; headed: its first row names."""

    separator: str
    decimal: str
    headed: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column that is read: its place from 0, the figure it is, and the unit its cells are written in.

    key: of MEANINGS, or SUCCESS for a column of 1 and 0 that says which requests succeeded; then without unit.
    """

    place: int
    key: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table cut into cells: names of its columns, rows with the number of their line."""

    names: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def table_of(data: bytes, layout: Layout) -> Table:
    """Cut a file into cells; raises BenchmarkRefused for one that is no table of this layout."""
    if len(data) > MAX_BYTES:
        raise too_large(MAX_BYTES)
    separator, decimal = SEPARATORS[layout.separator], DECIMALS[layout.decimal]
    if separator == decimal:
        sentence = "Das Komma trennt entweder Spalten oder Nachkommastellen; bitte wählen Sie ein anderes Trennzeichen."
        raise BenchmarkRefused("UNIT", sentence)
    found = [(line, tuple(row)) for line, row in enumerate(csv_rows(_text(data), separator), 1) if any(row)]
    if len(found) < 1 + layout.headed:
        raise BenchmarkRefused("EMPTY", "Die Tabelle enthält keine Messwerte.")
    width = len(found[0][1])
    if not 1 <= width <= MAX_COLUMNS:
        raise BenchmarkRefused("TOO_LARGE", f"Die Tabelle hat mehr als {MAX_COLUMNS} Spalten.")
    for line, row in found:
        if len(row) != width:
            sentence = f"Zeile {line} der Tabelle hat {len(row)} statt {width} Zellen; bitte prüfen Sie das Trennzeichen."
            raise BenchmarkRefused("TRUNCATED", sentence)
    names = tuple(short(name) for name in found[0][1]) if layout.headed else ("",) * width
    named = tuple(name or str(place) for place, name in enumerate(names, 1))
    return Table(named, tuple(found[layout.headed :]))


def read_table(data: bytes, layout: Layout, columns: Sequence[Column]) -> ImportedBenchmark:
    """Return the run a table holds, one row per observation; raises BenchmarkRefused with one German sentence."""
    table = table_of(data, layout)
    _check_columns(table, columns)
    good = _good(table, columns)
    known = any(column.key == SUCCESS for column in columns)
    failed = len(table.rows) - len(good)
    if not good:
        raise refuse_all_failed(len(table.rows))
    metrics: list[Metric] = []
    says, empty = [], []
    for column in columns:
        if column.key == SUCCESS:
            continue
        name, meaning = table.names[column.place], MEANINGS[column.key]
        values = _values(good, column, name, DECIMALS[layout.decimal])
        if not values:
            raise BenchmarkRefused("NO_FIGURES", f"Die Spalte {name} enthält keinen Wert.")
        metrics += meaning.summary(column.key, values, meaning.unit)
        says.append(
            f"Spalte {name}: {column.key}{f' in {column.unit}' if column.unit else ''}, {len(values)} Werte."
        )
        empty += (
            [f"Spalte {name}: {len(good) - len(values)} leere Zellen zählen nicht mit."]
            if len(values) < len(good)
            else []
        )
    if known:
        metrics.append(figures.error_rate(len(good), failed))
    return figures.checked(
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(metrics),
            what_it_says=(*says, *([requests_sentence(len(good), failed)] if known else [])),
            what_it_cannot_say=_cannot_say(known=known),
            completed=len(good),
            failed=failed if known else None,
            warnings=(*empty, *failure_warning(len(good), failed)),
        )
    )


def columns_from(texts: Sequence[str], table: Table) -> tuple[Column, ...]:
    """Return columns named as "column=figure:unit", the column by heading or number; raises BenchmarkRefused."""
    found = []
    for text in texts:
        name, gap, rest = text.rpartition("=")
        key, _colon, unit = rest.partition(":")
        if not gap or not key:
            sentence = f"„{short(text)}“ ist keine Zuordnung; erwartet wird Spalte=Größe:Einheit."
            raise BenchmarkRefused("UNIT", sentence)
        if name not in table.names and not name.isdecimal():
            sentence = f"Die Tabelle hat keine Spalte {short(name)}; sie hat: {', '.join(table.names[:20])}."
            raise BenchmarkRefused("MISSING_FIELD", sentence)
        place = table.names.index(name) if name in table.names else int(name[:6]) - 1
        found.append(Column(place, key, unit))
    return tuple(found)


def to_json(layout: Layout, columns: Sequence[Column], names: Sequence[str]) -> dict[str, Any]:
    """Return what the person said of the table, for the evidence."""
    return {
        "separator": layout.separator,
        "decimal": layout.decimal,
        "headed": layout.headed,
        "columns": [
            {"column": names[item.place], "place": item.place + 1, "key": item.key, "unit": item.unit}
            for item in columns
        ],
    }


def _text(data: bytes) -> str:
    text = Source.of_bytes(data).text()
    if "\0" in text:
        raise BenchmarkRefused("NOT_TEXT", "Die Datei ist keine Tabelle in UTF-8.")
    return text


def _check_columns(table: Table, columns: Sequence[Column]) -> None:
    figures_of = [column for column in columns if column.key != SUCCESS]
    if not figures_of:
        raise BenchmarkRefused("NO_FIGURES", "Bitte ordnen Sie mindestens einer Spalte eine Größe zu.")
    keys = [column.key for column in columns]
    twice = next((key for key in keys if keys.count(key) > 1), "")
    if twice:
        raise BenchmarkRefused(
            "DUPLICATE_KEY", f"Zwei Spalten sind als {twice} zugeordnet; eine Größe kommt aus einer Spalte."
        )
    for column in columns:
        if not 0 <= column.place < len(table.names):
            raise BenchmarkRefused("MISSING_FIELD", f"Die Tabelle hat keine Spalte {column.place + 1}.")
        if column.key != SUCCESS and column.key not in MEANINGS:
            raise BenchmarkRefused("UNIT", f"Die Größe {short(column.key)} gibt es nicht.")
        if column.key != SUCCESS and column.unit not in MEANINGS[column.key].units:
            name, units = table.names[column.place], ", ".join(filter(None, MEANINGS[column.key].units))
            raise BenchmarkRefused(
                "UNIT", f"Bitte nennen Sie für die Spalte {name} eine dieser Einheiten: {units or 'keine'}."
            )


def _good(table: Table, columns: Sequence[Column]) -> list[tuple[int, tuple[str, ...]]]:
    """Return the rows of good requests; every row where no column says which succeeded."""
    place = next((column.place for column in columns if column.key == SUCCESS), None)
    if place is None:
        return list(table.rows)
    good = []
    for line, row in table.rows:
        word = row[place].lower()
        if word not in _WORDS:
            raise BenchmarkRefused(
                "NOT_A_NUMBER", f"Zeile {line}, Spalte {table.names[place]}: Der Erfolg ist weder 1 noch 0."
            )
        good += [(line, row)] if _WORDS[word] else []
    return good


def _values(rows: Sequence[tuple[int, tuple[str, ...]]], column: Column, name: str, sign: str) -> list[float]:
    """Return the figures of a column in the unit of the catalogue; empty cells are left out."""
    factor = MEANINGS[column.key].units[column.unit]
    return [
        _cell(row[column.place], f"Zeile {line}, Spalte {name}", column.unit, sign) * factor
        for line, row in rows
        if row[column.place]
    ]


def _cell(text: str, place: str, unit: str, sign: str) -> float:
    """Return the figure of a cell; one that states another unit than the column is refused."""
    found = _CELL[sign].fullmatch(text)
    if found is None:
        word = "Komma" if sign == "," else "Punkt"
        raise BenchmarkRefused(
            "NOT_A_NUMBER",
            f"{place}: „{short(text, 20)}“ ist keine Zahl mit {word} vor den Nachkommastellen.",
        )
    digits, stated = found.groups()
    if stated not in {"", unit}:
        raise BenchmarkRefused(
            "UNIT",
            f"{place} nennt die Einheit {short(stated, 10)}, die Spalte ist in {unit or 'keiner Einheit'}.",
        )
    return figure(digits.replace(",", "."), place)


def _cannot_say(*, known: bool) -> tuple[str, ...]:
    unknown = ("Die Tabelle nennt keine fehlgeschlagenen Anfragen; eine Fehlerquote wird nicht gebildet.",)
    return (
        "Die Tabelle nennt weder Werkzeug noch Messzeitpunkt; was die Spalten bedeuten, hat die einreichende Person angegeben.",
        NO_HARDWARE,
        *(() if known else unknown),
    )
