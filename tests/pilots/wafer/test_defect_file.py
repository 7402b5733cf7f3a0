from __future__ import annotations

import json
from typing import Any

import pytest

from pilots.wafer.defect_file import MAX_SPARES, dump, load
from pilots.wafer.defects import Defects, TooManyElements, random_defects
from pilots.wafer.machine import WSE_2, lab_mesh
from pilots.wafer.strict import (
    BadValue,
    Contradiction,
    DuplicateField,
    FileError,
    MissingField,
    NotReadable,
    UnknownField,
)

LAB = lab_mesh(4, 3)
PLAIN: dict[str, Any] = {
    "format": "wdefects-1",
    "machine": "lab-4x3",
    "spare_rows": 1,
    "spare_columns": 2,
    "dead_pes": [[0, 0], [5, 3]],
    "dead_links": [[[1, 0], [0, 0]], [[2, 2], [2, 3]]],
}


def refused(change: dict[str, Any], kind: type[FileError], field: str) -> str:
    with pytest.raises(kind) as caught:
        load(json.dumps(PLAIN | change), LAB)
    assert caught.value.field == field
    assert f"„{field}“" in caught.value.message_de
    return caught.value.message_de


def test_a_map_is_read_with_its_links_in_order() -> None:
    found = load(json.dumps(PLAIN), LAB)
    assert found.dead_pes == {(0, 0), (5, 3)}
    assert found.dead_links == {((0, 0), (1, 0)), ((2, 2), (2, 3))}
    assert (found.spare_rows, found.spare_columns) == (1, 2)


@pytest.mark.parametrize(
    "defects",
    [
        Defects(frozenset()),
        Defects(frozenset({(3, 2)}), frozenset({((0, 0), (0, 1))}), 4, 0),
        random_defects(LAB, seed=1, yield_permille=800),
    ],
)
def test_a_map_survives_its_file(defects: Defects) -> None:
    assert load(dump(LAB, defects), LAB) == defects


def test_a_whole_wafer_survives_its_file() -> None:
    defects = random_defects(WSE_2, seed=1)
    assert load(dump(WSE_2, defects), WSE_2) == defects


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(MissingField) as caught:
        load(json.dumps({key: PLAIN[key] for key in PLAIN if key != name}), LAB)
    assert caught.value.field == name


def test_unknown_and_duplicate_fields_are_named() -> None:
    refused({"dead": []}, UnknownField, "dead")
    with pytest.raises(DuplicateField):
        load(json.dumps(PLAIN).replace('"spare_rows"', '"spare_rows": 0, "spare_rows"'), LAB)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": "wdefects-2"}, "format"),
        ({"machine": "wse-2"}, "machine"),
        ({"spare_rows": -1}, "spare_rows"),
        ({"spare_rows": MAX_SPARES + 1}, "spare_rows"),
        ({"spare_rows": None}, "spare_rows"),
        ({"spare_rows": 1.0}, "spare_rows"),
        ({"spare_columns": -1}, "spare_columns"),
        ({"spare_columns": True}, "spare_columns"),
        ({"dead_pes": {}}, "dead_pes"),
        ({"dead_pes": [7]}, "dead_pes[0]"),
        ({"dead_pes": [[0, 0], [1]]}, "dead_pes[1]"),
        ({"dead_pes": [[0, 0, 0]]}, "dead_pes[0]"),
        ({"dead_pes": [[6, 0]]}, "dead_pes[0][0]"),
        ({"dead_pes": [[0, 4]]}, "dead_pes[0][1]"),
        ({"dead_pes": [[-1, 0]]}, "dead_pes[0][0]"),
        ({"dead_pes": [["0", 0]]}, "dead_pes[0][0]"),
        ({"dead_pes": [[0, 0.5]]}, "dead_pes[0][1]"),
        ({"dead_links": [[[0, 0]]]}, "dead_links[0]"),
        ({"dead_links": [[[0, 0], [0, 0]]]}, "dead_links[0]"),
        ({"dead_links": [[[0, 0], [1, 1]]]}, "dead_links[0]"),
        ({"dead_links": [[[5, 0], [6, 0]]]}, "dead_links[0][1][0]"),
    ],
)
def test_a_wrong_entry_is_named_by_its_place(change: dict[str, Any], field: str) -> None:
    assert "erlaubt ist" in refused(change, BadValue, field)


def test_the_range_of_a_place_is_the_manufactured_fabric() -> None:
    assert "von 0 bis 5 (Spalte)" in refused({"dead_pes": [[6, 0]]}, BadValue, "dead_pes[0][0]")
    assert load(json.dumps(PLAIN | {"spare_columns": None, "dead_pes": [[10, 3]]}), LAB).extent(LAB) == (
        11,
        4,
    )


def test_an_entry_that_stands_twice_is_named() -> None:
    refused({"dead_pes": [[0, 0], [1, 0], [0, 0]]}, Contradiction, "dead_pes[2]")
    refused({"dead_links": [[[0, 0], [1, 0]], [[1, 0], [0, 0]]]}, Contradiction, "dead_links[1]")


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"format": }'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(NotReadable):
        load(text, LAB)


def test_spares_at_their_limit_are_read_and_a_fabric_beyond_it_is_not() -> None:
    big = PLAIN | {"spare_rows": MAX_SPARES, "spare_columns": MAX_SPARES}
    assert load(json.dumps(big), LAB).extent(LAB) == (4 + MAX_SPARES, 3 + MAX_SPARES)
    machine = lab_mesh(4096, 4096)
    with pytest.raises(TooManyElements):
        load(json.dumps(PLAIN | {"machine": machine.id, "dead_pes": [], "dead_links": []}), machine)
