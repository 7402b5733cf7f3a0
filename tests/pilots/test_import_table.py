"""A table whose columns a person names, handed in as the baseline in two steps."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.models import Run
from qms.core import store
from qms.evidence.models import EvidenceItem
from tests.walk import JSON, World, address, nothing_but, platform, recorded, screen, world

__all__ = ["world"]
STAGE: Final = "classified"
pytestmark = pytest.mark.django_db
TABLE: Final = b"Dauer;Erfolg;Leistung\r\n0,10;1;300\r\n0,30;1;310\r\n"


def first(world: World, data: bytes = TABLE, **fields: str) -> Any:
    sent = {"file": SimpleUploadedFile("messung.csv", data), "platform": platform("DISKRET-4GPU")}
    layout = {"separator": "SEMIKOLON", "decimal": "KOMMA", "headed": "on"}
    return world.browser("pl01").post(address("pilot_table", world.workload_id), sent | layout | fields)


def hidden_fields(page: Any) -> dict[str, str]:
    html = page.content.decode()
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html)
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def second(world: World, given: dict[str, str], name: str = "pl01", **columns: str) -> Any:
    return world.browser(name).post(address("pilot_table", world.workload_id), given | columns)


MAPPED: Final = {
    "key_1": "e2e_latency_ms",
    "unit_1": "s",
    "key_2": "success",
    "key_3": "power_watts",
    "unit_3": "W",
}


def test_the_first_step_shows_rows_and_asks_for_every_column(world: World):
    with nothing_but(""):
        page = first(world)
    assert page.status_code == 200
    shown = screen(page)
    for text in (
        "Die ersten Zeilen",
        "0,10",
        "Größe in Spalte Dauer",
        "Einheit in Spalte Leistung",
        "nicht übernehmen",
    ):
        assert text in shown


def test_a_mapped_table_is_a_baseline_with_its_bytes_and_what_was_said_of_it(world: World):
    given = hidden_fields(first(world))
    with recorded("NACHWEIS_EINGEREICHT", "LAUF_BEENDET"):
        answer = second(world, given, **MAPPED)
    assert answer.status_code == 302
    item = EvidenceItem.objects.get()
    assert store.get(item.raw_sha256) == TABLE
    assert item.raw_name == "messung.csv"
    facts = item.facts()
    assert facts["mapping"]["separator"] == "SEMIKOLON"
    assert facts["mapping"]["columns"][0] == {
        "column": "Dauer",
        "place": 1,
        "key": "e2e_latency_ms",
        "unit": "s",
    }
    assert facts["failed_requests"] == 0
    figures = {(row["key"], row.get("percentile")): row["value"] for row in facts["metrics"]}
    assert figures["e2e_latency_ms", "p50"] == "100"
    assert figures["power_watts", None] == "305"
    assert "hat die einreichende Person angegeben" in screen(world.browser("pl01").get(answer["Location"]))


def test_a_column_in_two_units_is_refused_and_the_answers_stay(world: World):
    given = hidden_fields(first(world, TABLE.replace(b"310", b"310000 mW")))
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        page = second(world, given, **MAPPED)
    assert page.status_code == 422
    shown = screen(page)
    assert "Zeile 3, Spalte Leistung nennt die Einheit mW" in shown
    assert re.search(r'<option value="e2e_latency_ms" selected', page.content.decode())
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("data", "fields", "sentence"),
    [
        (b"", {}, "Die Tabelle enthält keine Messwerte."),
        (
            TABLE,
            {"separator": "KOMMA", "decimal": "KOMMA"},
            "Das Komma trennt entweder Spalten oder Nachkommastellen",
        ),
        (b"a;b\n1\n", {}, "Zeile 2 der Tabelle hat 1 statt 2 Zellen"),
        (b"\xff\xfe\x00", {}, "Die Datei ist kein Text in UTF-8."),
    ],
)
def test_a_table_that_cannot_be_cut_is_refused_at_the_first_step(
    world: World, data: bytes, fields: dict[str, str], sentence: str
):
    with nothing_but(""):
        page = first(world, data, **fields)
    assert page.status_code == 422
    assert sentence in screen(page)


@pytest.mark.parametrize(("size", "status"), [(4 * 2**20, 200), (4 * 2**20 + 1, 422)])
def test_a_table_is_taken_up_to_its_limit(world: World, size: int, status: int):
    data = b"a\n" + b"1\n" * 100
    page = first(world, data + b" " * (size - len(data)))
    assert page.status_code == status


@pytest.mark.parametrize("content", ["***", "x" * 5])
def test_a_table_changed_on_its_way_is_refused(world: World, content: str):
    given = hidden_fields(first(world)) | {"content": content}
    with nothing_but("NACHWEIS_VERWEIGERT"):
        answer = second(world, given, **MAPPED)
    assert answer.status_code == 422


def test_who_may_not_measure_hands_in_no_table(world: World):
    given = hidden_fields(first(world))
    with nothing_but("ZUGRIFF_VERWEIGERT"):
        answer = world.browser("au01").post(
            address("pilot_table", world.workload_id), given | MAPPED, headers=JSON
        )
    assert answer.status_code == 403


def test_the_baseline_page_leads_to_the_table(world: World):
    page = world.browser("pl01").get(address("pilot_baseline", world.workload_id)).content.decode()
    assert f'href="{address("pilot_table", world.workload_id)}"' in page
