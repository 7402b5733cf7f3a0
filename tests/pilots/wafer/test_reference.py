from __future__ import annotations

import json

import pytest

from pilots.wafer import reference
from pilots.wafer.reference import ReferenceFileError, inputs_of, load, question_of, stripped
from tests.pilots.wafer.small_model import entry, file_of, one

SENTENCES = (
    ("", "kein gültiges JSON"),
    ("[" * 100_000, "kein gültiges JSON"),
    ('{"measured": [1' + "0" * 5000 + "]}", "zu lang"),
    ("[]", "Liste „measured“"),
    ("{}", "Liste „measured“"),
    ('{"measured": {}}', "Liste „measured“"),
    ('{"measured": [3]}', "Eintrag 1 der Referenzdatei ist kein JSON-Objekt"),
    ('{"measured": [{"id": "a", "id": "b"}]}', "doppelt"),
    ('{"measured": [NaN]}', "NaN"),
    (file_of(entry(value=True)), "Eintrag 1 muss eine Zahl oder ein Text"),
    (file_of(entry(value=[1])), "muss eine Zahl oder ein Text"),
    (file_of(entry()).replace("10.0,", "1e999,"), "keine endliche Zahl"),
    (file_of(entry(value=10**400)), "keine endliche Zahl"),
    (file_of(entry(), entry()), "„a“ kommt in der Referenzdatei mehrfach vor"),
    (
        file_of(entry(), entry(id=5)),
        "Das Feld „id“ von Eintrag 2 muss ein Text von höchstens 1000 Zeichen sein",
    ),
    (file_of(entry(id=" ")), "Kennung von Eintrag 1 ist leer"),
    (file_of(entry(params=[])), "„params“ von Eintrag 1"),
    (file_of(entry(quote=7)), "„quote“"),
    (file_of(entry(workload="x" * 1_001)), "„workload“"),
)


@pytest.mark.parametrize(("text", "sentence"), SENTENCES, ids=[item[1][:30] for item in SENTENCES])
def test_malformed_file_is_one_german_sentence(text, sentence):
    with pytest.raises(ReferenceFileError) as error:
        load(text)
    assert sentence in error.value.message_de
    assert error.value.message_de.endswith(".")
    assert "\n" not in error.value.message_de


@pytest.mark.parametrize("name", ["id", "workload"])
def test_missing_field_is_named(name):
    row = entry()
    for without in (row | {name: None}, {key: value for key, value in row.items() if key != name}):
        with pytest.raises(ReferenceFileError, match=f"kein Feld „{name}“"):
            load(file_of(without))


def test_all_but_id_and_workload_may_be_absent_and_more_fields_may_be_there():
    found = load(file_of({"id": "x", "workload": "y", "colour": "blue"})).entries[0]
    assert (found.system, found.metric, found.unit, found.source, found.quote) == ("",) * 5
    assert (found.value, found.confidence, found.params, found.extra) == (None, "", {}, ("colour",))


@pytest.mark.parametrize(
    "name", ["system", "metric", "unit", "source", "quote", "params", "value", "confidence"]
)
def test_null_says_as_little_as_nothing(name):
    row = entry()
    assert load(file_of(row | {name: None})) == load(
        file_of({key: value for key, value in row.items() if key != name})
    )


@pytest.mark.parametrize("confidence", ["certain", "MEASURED", "", None, 7, ["measured"]])
def test_a_confidence_nobody_knows_is_none_at_all(confidence):
    assert one(confidence=confidence).confidence == ""


@pytest.mark.parametrize(
    ("value", "number"), [(10, 10.0), ("7/8", None), (0, None), (-1, None), (None, None)]
)
def test_number_is_one_figure_above_zero(value, number):
    assert one(value=value).number == number


def test_too_many_entries_are_refused(monkeypatch):
    monkeypatch.setattr(reference, "MAX_ENTRIES", 1)
    with pytest.raises(ReferenceFileError, match="mehr als 1 Einträge"):
        load(file_of(entry(), entry(id="b")))


def test_too_large_a_file_is_refused(monkeypatch):
    monkeypatch.setattr(reference, "MAX_BYTES", 10)
    with pytest.raises(ReferenceFileError, match="16 MiB"):
        load(file_of(entry()))


def test_inputs_hold_the_allow_list_alone():
    params = {
        "P": 4,
        "tile": 8,
        "cycles": 1234,
        "cycles@0.85": 1,
        "derived_PFLOPs": 3.3,
        "fraction_of_peak": 0.9,
        "outlier": True,
        "A100_ms": {"1": 0.3},
        "A100/WSE-2 energy ratio": "7.47",
        "instantaneous": 3,
        "dtype": ["f32"],
        "cores": "x" * 300,
        "batch": True,
    }
    found = one(params=params, extra=1)
    assert dict(inputs_of(found).params) == {"p": 4, "tile": 8}
    assert stripped(found) == (
        "id",
        "value",
        "confidence",
        "source",
        "quote",
        *(f"params.{name}" for name in sorted(params) if name not in {"P", "tile"}),
        "extra",
    )


def test_inputs_have_no_room_for_the_answer():
    assert set(type(inputs_of(one())).__dataclass_fields__) == {
        "system",
        "workload",
        "metric",
        "unit",
        "params",
    }


def _scrambled(row: dict, number: int) -> dict:
    params = {
        name: value for name, value in row["params"].items() if name.casefold() in reference.ALLOWED_PARAMS
    }
    noise = {
        "cycles": number,
        "derived_x": -1,
        "fraction_of_peak": 9,
        "outlier": number % 2 == 0,
        "A100_ms": {"1": number},
    }
    changed = {name: row[name] for name in ("unit", "metric", "workload", "system")}
    return {
        "quote": "nothing",
        "source": f"elsewhere {number}",
        **changed,
        "value": 1 + number,
        "confidence": "derived",
        "id": f"x{number}",
        "params": noise | dict(reversed(params.items())),
    }


def test_scrambling_all_but_the_allow_list_changes_no_question():
    rows = json.loads(reference.OWN.read_text(encoding="utf-8"))["measured"]
    changed = load(file_of(*(_scrambled(row, number) for number, row in enumerate(rows))))
    for before, after in zip(reference.published().entries, changed.entries, strict=True):
        assert question_of(before) == question_of(after), before.id


def test_a_file_without_values_asks_the_same_questions():
    rows = json.loads(reference.OWN.read_text(encoding="utf-8"))["measured"]
    bare = [
        {name: row[name] for name in ("id", "system", "workload", "params", "metric", "unit")} for row in rows
    ]
    for before, after in zip(reference.published().entries, load(file_of(*bare)).entries, strict=True):
        assert question_of(before) == question_of(after)
