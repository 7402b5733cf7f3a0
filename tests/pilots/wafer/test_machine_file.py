from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from pilots.wafer import machine_file
from pilots.wafer.machine import MACHINES, WSE_2, Machine, find, lab_mesh
from pilots.wafer.machine_file import dump, load
from pilots.wafer.machine_rules import RANGES
from pilots.wafer.strict import (
    BadValue,
    Contradiction,
    DuplicateField,
    FileError,
    MissingField,
    NotReadable,
    UnknownField,
)

OWN = "meine-maschine"


def own() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(dump(WSE_2))
    return data | {"id": OWN, "name": "Eigene Maschine", "calibrated": False}


def figure(name: str, value: Any) -> dict[str, Any]:
    return {name: own()[name] | {"value": value}}


def refused(change: dict[str, Any], kind: type[FileError] = FileError) -> FileError:
    with pytest.raises(kind) as caught:
        load(json.dumps(own() | change))
    sentence = caught.value.message_de
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert caught.value.field.partition(".")[0].partition("[")[0] in sentence
    return caught.value


@pytest.mark.parametrize(
    "machine",
    [*MACHINES.values(), find("wse-2@research"), find("wse-3@unconstrained"), lab_mesh(3, 5)],
    ids=lambda item: item.id,
)
def test_a_machine_survives_its_file(machine: Machine) -> None:
    assert load(dump(machine)) == machine
    assert load(dump(machine)).sha256() == machine.sha256()


def test_an_own_machine_is_loaded() -> None:
    machine = load(json.dumps(own() | figure("hop_cycles", 2)))
    assert (machine.id, machine.hop_cycles.value, machine.calibrated) == (OWN, 2, False)


def test_optional_figures_may_be_missing() -> None:
    data = own()
    for name in machine_file.OPTIONAL:
        data.pop(name, None)
    machine = load(json.dumps(data))
    assert machine.stated_sram_bytes is None
    assert load(dump(machine)) == machine


@pytest.mark.parametrize("name", machine_file.REQUIRED)
@pytest.mark.parametrize("end", ["low", "high"])
def test_every_figure_is_bounded_at_both_ends(name: str, end: str) -> None:
    low, high, unit = RANGES[name]
    error = refused(figure(name, low - 1 if end == "low" else high + 1), BadValue)
    assert error.field == name
    assert f"Das Feld „{name}“ hat den Wert" in error.message_de
    assert "eine ganze Zahl von" in error.message_de
    assert unit in error.message_de
    with suppress(Contradiction):  # the bound itself is inside; it may still contradict another figure
        load(json.dumps(own() | figure(name, low if end == "low" else high)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-1, "−1"),
        (10**12, "1.000.000.000.000"),
        ("750", "„750“"),
        (None, "null"),
        (True, "true"),
        ([750], "[750]"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_an_absurd_width_is_named_with_its_value(value: Any, shown: str) -> None:
    assert f"„width_pes“ hat den Wert {shown}; erlaubt ist" in refused(figure("width_pes", value)).message_de


@pytest.mark.parametrize(
    "number", ["850000000.0", "8.5e8", "1E9", "NaN", "Infinity", "-Infinity", "9" * 5000]
)
def test_numbers_that_are_no_plain_integers_are_refused(number: str) -> None:
    text = json.dumps(own()).replace('"clock_hz": {"value": 850000000', f'"clock_hz": {{"value": {number}')
    with pytest.raises(BadValue) as caught:
        load(text)
    assert caught.value.field == "clock_hz"
    assert f"„clock_hz“ hat den Wert {number[:57]}" in caught.value.message_de
    assert "10.000.000.000 Hz" in caught.value.message_de


@pytest.mark.parametrize(
    "name", [*machine_file.REQUIRED, "format", "id", "name", "calibrated", "clocks", "peaks"]
)
def test_a_missing_field_is_named(name: str) -> None:
    data = own()
    del data[name]
    with pytest.raises(MissingField) as caught:
        load(json.dumps(data))
    assert caught.value.message_de == f"In der Datei fehlt das Feld „{name}“."


@pytest.mark.parametrize("part", ["value", "provenance", "source"])
def test_a_figure_without_one_of_its_parts_is_refused(part: str) -> None:
    data = own()
    del data["colors"][part]
    with pytest.raises(MissingField) as caught:
        load(json.dumps(data))
    assert caught.value.field == f"colors.{part}"


def test_an_unknown_field_is_named() -> None:
    assert refused({"farben": 24}, UnknownField).field == "farben"
    nested = own()["colors"] | {"unit": "Farben"}
    assert refused({"colors": nested}, UnknownField).field == "colors.unit"


@pytest.mark.parametrize("name", ["x" * 5000, "\x00\n", "\ud800", ""])
def test_a_hostile_field_name_stays_a_short_readable_sentence(name: str) -> None:
    with pytest.raises(UnknownField) as caught:
        load(json.dumps(own() | {name: 1}))
    first = caught.value.message_de.partition("; erlaubt")[0]
    assert len(first) < 120
    assert first.isprintable()
    caught.value.message_de.encode()


def test_a_duplicate_field_is_named_however_deep() -> None:
    text = json.dumps(own())
    for wrong in (
        text.replace('"format":', '"id": "x", "format":', 1),
        text.replace('"value":', '"value": 1, "value":', 1),
    ):
        with pytest.raises(DuplicateField, match="zweimal"):
            load(wrong)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (figure("colors", 65), "colors"),
        (figure("clock_hz", 0), "clock_hz"),
        ({"format": "wmachine-2"}, "format"),
        ({"id": "Meine Maschine"}, "id"),
        ({"id": "a" * 41}, "id"),
        ({"id": ""}, "id"),
        ({"id": OWN + "@nirgends"}, "id"),
        ({"id": OWN + "@sdk"}, "id"),
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 301}, "name"),
        ({"name": "Zeile\nZeile"}, "name"),
        ({"name": "u\u0308ber"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"name": 7}, "name"),
        ({"calibrated": 0}, "calibrated"),
        ({"calibrated": True}, "calibrated"),
        ({"clocks": []}, "clocks"),
        ({"clocks": {}}, "clocks"),
        ({"powers": [{"name": "max"}] * 9}, "powers"),
        ({"clocks": [7]}, "clocks[0]"),
        ({"peaks": "125"}, "peaks"),
    ],
)
def test_wrong_forms_are_refused_by_name(change: dict[str, Any], field: str) -> None:
    assert refused(change, BadValue).field == field


@pytest.mark.parametrize("value", ["EMULIERT", "gemessen", "", None, 3, ["GESCHAETZT"]])
def test_a_provenance_is_one_of_four(value: Any) -> None:
    error = refused({"colors": own()["colors"] | {"provenance": value}}, BadValue)
    assert error.field == "colors.provenance"
    assert "HERSTELLERANGABE" in error.message_de


@pytest.mark.parametrize("value", ["", 3, None, "x" * 301, "a\x00b"])
def test_a_source_is_a_short_text(value: Any) -> None:
    assert refused({"colors": own()["colors"] | {"source": value}}, BadValue).field == "colors.source"


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("code_bytes_per_pe", 49152 - 4096 - 1, 49152 - 4096),
        ("physical_width_pes", 750, 749),
        ("physical_height_pes", 994, 993),
        ("cores_total", 745_500, 745_499),
        ("reserved_colors", 23, 24),
        ("reserved_input_queues", 7, 8),
        ("power_watts_typical", 20_000, 20_001),
        ("fp16_flops_per_cycle_per_pe", 8, 9),
        ("fp32_flops_per_cycle_per_pe", 4, 5),
        ("fma_fp16_millielements_per_cycle", 4000, 4001),
        ("fma_fp32_millielements_per_cycle", 2000, 2001),
        ("copy_fp16_millielements_per_cycle", 4000, 4001),
        ("copy_fp32_millielements_per_cycle", 2000, 2001),
        ("banks", 8, 7),
        ("clock_hz", 850_000_000, 850_000_001),
    ],
)
def test_figures_that_contradict_one_another_are_refused_at_the_boundary(
    name: str, inside: int, outside: int
) -> None:
    load(json.dumps(own() | figure(name, inside)))
    error = refused(figure(name, outside), Contradiction)
    assert "erlaubt ist" in error.message_de
    assert "(hier " in error.message_de


def test_a_shipped_id_cannot_be_taken_for_other_figures() -> None:
    for machine_id in ("wse-2", "wse-2@research", "wse-2@neu", "lab-8x8", "lab-9x9"):
        data = own() | {"id": machine_id}
        if machine_id == "wse-2@neu":
            data["clocks"] = [*data["clocks"], data["clocks"][0] | {"name": "neu"}]
        if machine_id == "wse-2@research":
            data["clock_hz"] = data["clocks"][1]["hz"]
        with pytest.raises(Contradiction) as caught:
            load(json.dumps(data))
        assert f"„{machine_id}“ gehört einer mitgelieferten Maschine" in caught.value.message_de


def test_profiles_have_names_of_their_own_and_known_powers() -> None:
    clock = own()["clocks"][0]
    assert refused({"clocks": [clock, clock]}, Contradiction).field == "clocks"
    power = own()["powers"][0]
    assert refused({"powers": [power, power]}, Contradiction).field == "powers"
    assert refused({"clocks": [clock | {"power": "turbo"}]}, BadValue).field == "clocks[0].power"
    assert refused({"clocks": [clock | {"name": "Überlast"}]}, BadValue).field == "clocks[0].name"


@pytest.mark.parametrize("part", ["precision", "density", "note_de"])
def test_a_peak_states_precision_density_and_note(part: str) -> None:
    peak = own()["peaks"][0]
    assert refused({"peaks": [peak | {part: ""}]}, BadValue).field == f"peaks[0].{part}"
    with pytest.raises(MissingField):
        load(json.dumps(own() | {"peaks": [{key: peak[key] for key in peak if key != part}]}))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", '"x"', "[" * 200_000, "{" * 5, "\ufeff{}", "{'a': 1}", "x" * (2**20 + 1)],
)
def test_what_is_no_json_object_is_refused_with_one_sentence(text: str) -> None:
    with pytest.raises(NotReadable) as caught:
        load(text)
    assert caught.value.message_de.startswith("Die Datei ")
    assert caught.value.message_de.endswith(".")


def test_a_file_of_exactly_the_allowed_size_is_read() -> None:
    text = dump(WSE_2)
    assert load(text + " " * (machine_file.MAX_CHARACTERS - len(text))) == WSE_2


@pytest.mark.parametrize("field", ["format", "name", "colors", "clocks"])
def test_a_value_nested_to_any_depth_is_one_sentence(field: str) -> None:
    """Writing a value out takes more of the stack than reading it did; somewhere only the one of them fails."""
    text = json.dumps(own() | {field: "HERE"})
    for depth in range(1, 1500, 7):
        with pytest.raises(FileError) as caught:
            load(text.replace('"HERE"', "[" * depth + "]" * depth))
        assert caught.value.message_de.endswith(".")
