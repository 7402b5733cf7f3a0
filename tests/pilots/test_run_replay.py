"""A target run computed again: by the button on its page, and on an own computer from what it lets download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError
from django.urls import reverse

from pilots import pages_proof
from pilots.models import Replay, Run
from pilots.replay import PARTS_DE
from pilots.wafer import __main__ as main
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock, jobs
from qms.evidence.models import EvidenceItem
from qms.workloads.models import Workload
from tests.pilots.capture_house import DATA, SHA256, changed, page, run_of, start_run, world
from tests.walk import JSON, World, assert_refused, events_since, log_size, recorded, screen

__all__ = ["world"]
pytestmark = pytest.mark.django_db


def replay_url() -> str:
    return reverse("run_replay", args=[run_of("ZIEL").pk])


def start(world: World, name: str = "pr01") -> Any:
    return world.browser(name).post(replay_url())


@pytest.mark.parametrize("name", ["wo01", "pl01", "pr01", "fg01", "au01"])
def test_who_may_read_the_record_may_compute_again(world: World, name: str) -> None:
    with recorded("NACHRECHNUNG_GESTARTET", "NACHRECHNUNG_BEENDET"):
        assert start(world, name).status_code == 302
        jobs.run_pending()
    found = Replay.objects.get()
    assert (found.equal, found.differs, found.failure) == (True, [], "")
    assert found.expected == found.actual == run_of("ZIEL").result_digest
    assert found.started_by == world.user(name).person


def test_an_equal_replay_says_what_it_proves_and_what_not(world: World) -> None:
    size = log_size()
    start(world)
    jobs.run_pending()
    shown = page(world, run_of("ZIEL"))
    assert "Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit." in shown
    assert "Prüfsumme im Laufmanifest" in shown
    assert "· Prüfung 1" in shown
    assert "Erneut nachrechnen" in shown
    (event,) = events_since(size, "NACHRECHNUNG_BEENDET")
    assert event["data"]["equal"] is True


def test_a_replay_under_another_emulator_is_unequal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilots.wafer.manifest.EMULATOR_VERSION", "9.9.9")
    start(world)
    jobs.run_pending()
    found = Replay.objects.get()
    assert (found.equal, found.differs) == (False, ["emulator_version"])
    shown = page(world, run_of("ZIEL"))
    assert "Die Prüfsumme des Ergebnisses ist gleich, aber das Laufmanifest nennt andere Angaben" in shown
    assert "Verschieden: Version des Emulators." in shown


def test_another_result_names_its_parts_in_the_words_of_the_command(world: World) -> None:
    start(world)
    jobs.run_pending()
    run, found = run_of("ZIEL"), Replay.objects.get()
    with unit(actor=SYSTEM):
        Replay.objects.filter(pk=found.pk).update(
            equal=False, actual="0" * 64, differs=["kernels", "prediction", "note"]
        )
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject=run)
    sentence = "Nachgerechnet, anderes Ergebnis. Verschieden: erlaubte Kernel, vorhergesagte Zeiten, „note“."
    assert sentence in page(world, run)
    assert {name: str(label) for name, label in pages_proof.PARTS.items()} == PARTS_DE


def test_only_one_replay_of_a_run_is_open(world: World) -> None:
    start(world)
    shown = page(world, run_of("ZIEL"))
    assert "Wartet auf den Start" in shown
    assert "Erneut nachrechnen" not in shown
    answer = world.browser("fg01").post(replay_url(), headers=JSON)
    assert_refused(
        answer,
        status=409,
        code="AENDERUNG_VERWEIGERT",
        id="EM-14",
        message="Dieser Lauf wird gerade nachgerechnet.",
    )
    jobs.run_pending()
    assert start(world).status_code == 302


def test_the_database_refuses_a_second_open_replay(world: World) -> None:
    start(world)
    values = {"run": run_of("ZIEL"), "started_by": world.user("pr01").person, "started_at": clock.now()}
    with pytest.raises(IntegrityError), unit(actor=SYSTEM):
        Replay.objects.create(**values)


def test_only_a_finished_target_run_is_computed_again(world: World) -> None:
    message = "Nachrechnen lässt sich nur ein beendeter Ziellauf mit Laufmanifest (EV-16)."
    refusal = {"status": 409, "code": "AENDERUNG_VERWEIGERT", "id": "EM-14", "message": message}
    url = reverse("run_replay", args=[run_of("BASELINE").pk])
    assert_refused(world.browser("pr01").post(url, headers=JSON), **refusal)
    start_run(world, "pilot_target")
    assert_refused(world.browser("pr01").post(replay_url(), headers=JSON), **refusal)


@pytest.mark.parametrize(("data", "sentence"), [(b"{}", "wurde verändert"), (None, "fehlt im Speicher")])
def test_a_damaged_model_file_fails_the_replay(world: World, data: bytes | None, sentence: str) -> None:
    start(world)
    with changed(SHA256, data), recorded("NACHRECHNUNG_FEHLGESCHLAGEN"):
        jobs.run_pending()
    found = Replay.objects.get()
    assert (found.equal, found.expected) == (None, "")
    assert sentence in found.failure
    assert f"Die Nachrechnung kam zu keinem Ergebnis: {found.failure}" in page(world, run_of("ZIEL"))


def test_a_changed_manifest_fails_the_replay_and_marks_the_evidence(world: World) -> None:
    item = EvidenceItem.objects.get(type="EV-16")
    start(world)
    with changed(item.facts_sha256), recorded("NACHWEIS_MANIPULIERT", "NACHRECHNUNG_FEHLGESCHLAGEN"):
        jobs.run_pending()
    item.refresh_from_db()
    assert item.status == "MANIPULIERT"
    assert "EV-16 wurde verändert" in Replay.objects.get().failure


def test_the_progress_reloads_the_page_once_the_replay_has_ended(world: World) -> None:
    url = reverse("replay_progress", args=[run_of("ZIEL").pk])
    browser = world.browser("pr01")
    assert browser.get(url).status_code == 404
    start(world)
    waiting = browser.get(url)
    assert "HX-Refresh" not in waiting.headers
    assert "hx-get" in waiting.content.decode()
    jobs.run_pending()
    assert browser.get(url).headers["HX-Refresh"] == "true"


# on an own computer


def test_downloads_and_the_command_on_the_page_give_the_same_digest(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = world.browser("pl01")
    shown = page(world, run_of("ZIEL"), "pl01")
    item = EvidenceItem.objects.get(type="EV-16")
    urls = (reverse("evidence_file", args=[item.pk]), reverse("run_model", args=[run_of("ZIEL").pk]))
    with recorded("NACHWEIS_ABGERUFEN", "ARTEFAKT_ABGERUFEN"):
        answers = [browser.get(url) for url in urls]
    for answer in answers:
        name = answer.headers["Content-Disposition"].split('"')[1]
        (tmp_path / name).write_bytes(answer.content)
    assert answers[1].content == DATA
    command = f"python -m pilots.wafer replay EV-16-{item.facts_sha256[:12]}.json --evidence ."
    assert command in shown
    monkeypatch.chdir(tmp_path)
    assert main.main([*command.split()[3:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["actual"] == run_of("ZIEL").result_digest


def test_the_file_of_a_damaged_model_is_not_handed_out(world: World) -> None:
    url = reverse("run_model", args=[run_of("ZIEL").pk])
    with changed(SHA256):
        answer = world.browser("pl01").get(url)
    assert answer.status_code == 422
    assert "Prüfsumme stimmt nicht mehr" in screen(answer)


@pytest.mark.parametrize("name", ["pr01", "fg01", "au01"])
def test_who_only_reads_the_record_checks_here_and_takes_no_weights(world: World, name: str) -> None:
    url = reverse("run_model", args=[run_of("ZIEL").pk])
    shown = world.browser(name).get(reverse("run", args=[run_of("ZIEL").pk])).content.decode()
    assert url not in shown
    assert reverse("run_replay", args=[run_of("ZIEL").pk]) in shown
    answer = world.browser(name).get(url, headers=JSON)
    assert (answer.status_code, answer.json()["id"]) == (403, "P13")


@pytest.mark.parametrize("name", ["pr01", "fg01", "au01"])
def test_public_weights_go_to_every_reader_of_the_record(world: World, name: str) -> None:
    with unit(actor=SYSTEM):
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
        world.workload.classifications.filter(object_class="MODELLGEWICHTE").update(level="K0")
        Workload.objects.filter(pk=world.workload_id).update(model_file_level="K0")
    answer = world.browser(name).get(reverse("run_model", args=[run_of("ZIEL").pk]))
    assert (answer.status_code, answer.content) == (200, DATA)


def test_a_model_text_is_no_file(world: World) -> None:
    run = run_of("ZIEL")
    with unit(actor=SYSTEM):
        Run.objects.filter(pk=run.pk).update(parameters={"model_text": "8-4"})
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject=run)
    assert world.browser("pr01").get(reverse("run_model", args=[run.pk])).status_code == 404
