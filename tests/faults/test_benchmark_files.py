"""Files that are no benchmark, or one in which nothing worked: each refused with its sentence and one event."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.models import Run
from qms.evidence.models import EvidenceItem
from tests.walk import JSON, World, address, assert_refused, nothing_but, platform, recorded, screen

STAGE = "classified"
FILES = Path(__file__).resolve().parents[1] / "pilots" / "baseline" / "files"
GOOD = "vllm-0.33.0_serve_ok_20req.json"
pytestmark = pytest.mark.django_db


def load(name: str) -> bytes:
    return (FILES / name).read_bytes()


def upload(content: bytes, name: str = GOOD) -> dict[str, Any]:
    return {"file": SimpleUploadedFile(name, content), "platform": platform("DISKRET-4GPU")}


REFUSED = {
    "empty": (lambda: b"", "Die Datei ist leer."),
    "blank": (lambda: b" \n\t\n", "Die Datei ist leer."),
    "not finite": (
        lambda: load(GOOD).replace(b'"duration": 1', b'"duration": NaN, "was": 1', 1),
        "Die Datei enthält NaN statt einer Zahl.",
    ),
    "truncated": (lambda: load(GOOD)[:700], "Die Datei ist kein gültiges JSON."),
    "gzip": (
        lambda: gzip.compress(load(GOOD)),
        "Die Datei ist komprimiert; bitte laden Sie die entpackte Datei hoch.",
    ),
    "page": (
        lambda: b"<!DOCTYPE html><html><script>alert(1)</script></html>",
        "Das Format der Datei ist unbekannt; gelesen werden: MLPerf LoadGen, vLLM bench serve.",
    ),
    "all failed": (
        lambda: load("vllm-0.33.0_serve_all_failed.json"),
        "Alle 8 Anfragen sind fehlgeschlagen; die Datei enthält keine verwertbaren Messwerte.",
    ),
    "binary": (lambda: b"\xff\xfe\x00\x01" * 50, "Die Datei ist kein Text in UTF-8."),
    "deep": (
        lambda: load(GOOD).replace(b"{", b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b", ", 1),
        "Die Datei ist tiefer als 12 Ebenen verschachtelt.",
    ),
    "too large": (lambda: b" " * (8 * 2**20) + b"{}", "Die Datei ist größer als 8 MiB."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unusable_benchmark_file_is_refused(world: World, name: str) -> None:
    make, sentence = REFUSED[name]
    url = address("pilot_baseline", world.workload_id)
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        page = world.browser("pl01").post(url, upload(make()))
    assert page.status_code == 422
    assert sentence in screen(page)
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        answer = world.browser("pl01").post(url, upload(make()), headers=JSON)
    assert_refused(
        answer, status=422, code="NACHWEIS_VERWEIGERT", id="EV-02", message=sentence, next_step=False
    )
    assert not Run.objects.exists()
    assert not EvidenceItem.objects.exists()


def test_button_for_a_file_without_a_file_starts_no_measurement(world: World) -> None:
    with nothing_but(""):
        page = world.browser("pl01").post(
            address("pilot_baseline", world.workload_id),
            {"only_file": "1", "platform": platform("DISKRET-4GPU")},
        )
    assert page.status_code == 422
    assert "Bitte wählen Sie eine Datei." in screen(page)


def test_usable_benchmark_file_becomes_evidence(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    with recorded("NACHWEIS_EINGEREICHT", "LAUF_BEENDET"):
        answer = world.browser("pl01").post(url, upload(load(GOOD)))
    assert answer.status_code == 302
    item = EvidenceItem.objects.get()
    assert (item.type, item.assurance, item.raw_name) == ("EV-02", "EINGEREICHT", GOOD)
    assert item.producer == world.user("pl01").person


def test_name_of_an_upload_is_only_a_name(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    world.browser("pl01").post(url, upload(load(GOOD), "..\\..\\etc\\passwd.json"))
    assert EvidenceItem.objects.get().raw_name == "passwd.json"


def test_file_of_a_platform_that_is_not_in_use_is_no_baseline(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    data = upload(load(GOOD)) | {"platform": platform("WSE-2")}
    with nothing_but(""):
        answer = world.browser("pl01").post(url, data, headers=JSON)
    assert answer.status_code == 422
    assert "platform" in answer.json()["errors"]


def test_taking_a_file_over_without_a_file_starts_no_measurement(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    with nothing_but(""):
        page = world.browser("pl01").post(url, {"only_file": "1"})
    assert page.status_code == 422
    assert "Bitte wählen Sie eine Datei." in screen(page)
