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


UNKNOWN = (
    "Das Format der Datei ist unbekannt; gelesen werden Ergebnisse von vLLM, SGLang, MLPerf und weiteren Werkzeugen. "
    "Eine eigene Tabelle (CSV) lesen Sie über „Eigene Tabelle zuordnen“ ein."
)
REFUSED = {
    "empty": (lambda: b"", "Die Datei ist leer."),
    "blank": (lambda: b" \n\t\n", "Die Datei ist leer."),
    "not finite": (
        lambda: load(GOOD).replace(b'"duration": 1', b'"duration": NaN, "was": 1', 1),
        "Die Datei enthält NaN statt einer Zahl.",
    ),
    "truncated": (lambda: load(GOOD)[:700], "Die Datei ist kein gültiges JSON."),
    "cut gzip": (
        lambda: gzip.compress(load(GOOD))[:-20],
        "Die gepackte Datei bricht mitten im Inhalt ab.",
    ),
    "bomb": (
        lambda: gzip.compress(load(GOOD) + b" " * (64 * 2**20)),
        "Die Datei ist größer als 8 MiB; größere Dateien liest „python -m pilots.baseline import“.",
    ),
    "model": (
        lambda: load("meta-llama--Meta-Llama-3.1-8B_config.json"),
        (
            "Das ist die Konfiguration eines Modells (config.json), keine Messung; geben Sie sie bei der Suche nach einer "
            "passenden Maschine oder beim Workload als Modell an."
        ),
    ),
    "invalid run": (
        lambda: load("loadgen6.0_Server_tok_mlperf_log_summary.txt"),
        (
            "Das Werkzeug selbst bewertet den Lauf als ungültig oder nicht beendet; er ist keine Vergleichsbasis, bitte "
            "wiederholen Sie die Messung."
        ),
    ),
    "several runs": (
        lambda: load("sglang-0.4_h200x8_llama_405b_online.jsonl"),
        (
            "Die Datei enthält 6 Läufe; bitte nennen Sie die Nummer des Laufs (1: Anfragerate 1.0, 318 s; 2: "
            "Anfragerate 2.0, 339 s; 3: Anfragerate 4.0, 380 s; 4: Anfragerate 8.0, 669 s; 5: Anfragerate 4.0, 322 s; 6: "
            "Anfragerate 8.0, 377 s)."
        ),
    ),
    "page": (
        lambda: b"<!DOCTYPE html><html><script>alert(1)</script></html>",
        UNKNOWN,
    ),
    "all failed": (
        lambda: load("vllm-0.33.0_serve_all_failed.json"),
        "Alle 8 Anfragen sind fehlgeschlagen; die Datei enthält keine verwertbaren Messwerte.",
    ),
    "binary": (lambda: b"\xff\xfe\x00\x01" * 50, UNKNOWN),
    "deep": (
        lambda: load(GOOD).replace(b"{", b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b", ", 1),
        "Die Datei ist tiefer als 12 Ebenen verschachtelt.",
    ),
    "too large": (
        lambda: b" " * (8 * 2**20) + b"{}",
        "Die Datei ist größer als 8 MiB; größere Dateien liest „python -m pilots.baseline import“.",
    ),
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


def test_one_run_of_several_is_taken_by_its_number(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    data = upload(load("sglang-0.4_h200x8_llama_405b_online.jsonl"), "sweep.jsonl") | {"number": "2"}
    with recorded("NACHWEIS_EINGEREICHT", "LAUF_BEENDET"):
        answer = world.browser("pl01").post(url, data)
    assert answer.status_code == 302
    run = Run.objects.get()
    assert run.parameters == {"files": ["sweep.jsonl"], "run": 2}
    assert run.summary["metrics"][0]["n"] == 600
    assert EvidenceItem.objects.get().raw_name == "sweep.jsonl"


def test_packed_trace_becomes_evidence_as_it_is(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    data = load("nccl_world128_sampled_rank0.json.gz")
    with recorded("NACHWEIS_EINGEREICHT", "LAUF_BEENDET"):
        answer = world.browser("pl01").post(url, upload(data, "trace.json.gz"))
    assert answer.status_code == 302
    assert [item["key"] for item in Run.objects.get().summary["metrics"]] == ["comm_share", "gpu_busy_share"]
    page = world.browser("pl01").get(answer["Location"])
    assert "Kommunikationsanteil" in screen(page)
