"""Defect maps as files: JSON with the machine they belong to, spare rows and columns, dead elements and links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pilots.wafer import strict
from pilots.wafer.defects import Defects, Link, Pe, ordered
from pilots.wafer.machine import Machine
from pilots.wafer.strict import BadValue, Contradiction

FORMAT: Final = "wdefects-1"
MAX_CHARACTERS: Final = 2**24
MAX_SPARES: Final = 1024
MAX_DEFECTS: Final = 2**20
_FIELDS: Final = ("format", "machine", "spare_rows", "spare_columns", "dead_pes", "dead_links")
_PAIR: Final = "[Spalte, Zeile]"
_Entry = TypeVar("_Entry", Pe, Link)


def dump(machine: Machine, defects: Defects) -> str:
    """Return the map as the text of a file for this machine; `load` reads it back as an equal map."""
    data = {"format": FORMAT, "machine": machine.id} | defects.to_json()
    return json.dumps(data, separators=(",", ":")) + "\n"


def load(text: str, machine: Machine) -> Defects:
    """Return the map of a file's text; spare_columns null: the margin of the machine.

    Raises a `strict.FileError` naming the first wrong entry, or TooManyElements.
    """
    data = strict.fields_of("", strict.parsed(text, max_characters=MAX_CHARACTERS), _FIELDS)
    for name, expected in (("format", FORMAT), ("machine", machine.id)):
        if data[name] != expected:
            raise BadValue(name, data[name], f"„{expected}“")
    spare_rows = strict.whole_number("spare_rows", data["spare_rows"], 0, MAX_SPARES, "Zeilen")
    spare_columns = data["spare_columns"]
    if spare_columns is not None:
        strict.whole_number("spare_columns", spare_columns, 0, MAX_SPARES, "Spalten")
    extent = Defects(frozenset(), spare_rows=spare_rows, spare_columns=spare_columns).extent(machine)
    pes = [_pe(path, item, extent) for path, item in _entries("dead_pes", data["dead_pes"])]
    links = [_link(path, item, extent) for path, item in _entries("dead_links", data["dead_links"])]
    return Defects(_distinct("dead_pes", pes), _distinct("dead_links", links), spare_rows, spare_columns)


def _entries(path: str, value: Any) -> list[tuple[str, Any]]:
    return strict.items(path, value, least=0, most=MAX_DEFECTS)


def _pe(path: str, value: Any, extent: tuple[int, int]) -> Pe:
    if not isinstance(value, list) or len(value) != 2:
        raise BadValue(path, value, f"ein Paar {_PAIR}")
    column = strict.whole_number(f"{path}[0]", value[0], 0, extent[0] - 1, "(Spalte)")
    return column, strict.whole_number(f"{path}[1]", value[1], 0, extent[1] - 1, "(Zeile)")


def _link(path: str, value: Any, extent: tuple[int, int]) -> Link:
    if not isinstance(value, list) or len(value) != 2:
        raise BadValue(path, value, f"ein Link [{_PAIR}, {_PAIR}]")
    first, second = _pe(f"{path}[0]", value[0], extent), _pe(f"{path}[1]", value[1], extent)
    if abs(first[0] - second[0]) + abs(first[1] - second[1]) != 1:
        raise BadValue(path, value, "ein Link zwischen zwei benachbarten Rechenelementen")
    return ordered((first, second))


def _distinct(path: str, entries: Sequence[_Entry]) -> frozenset[_Entry]:
    seen: set[_Entry] = set()
    for index, entry in enumerate(entries):
        if entry in seen:
            field = f"{path}[{index}]"
            raise Contradiction(field, f"Der Eintrag „{field}“ steht schon weiter vorn in der Liste.")
        seen.add(entry)
    return frozenset(seen)
