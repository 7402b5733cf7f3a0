"""Nachweise als ZIP: what a stranger needs to check a Freigabe and compute its run again, without us."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pilots import demo
from qms.approvals import dossier
from qms.core import jobs, store
from qms.evidence.models import EvidenceItem
from qms.signing.models import Document
from tests.qms.web.evidence_zip import commands, download, type_in, unpack, url
from tests.walk import JSON, World, address, assert_refused, kinds_since, log_size, nothing_but, screen, world

__all__ = ["world"]
STAGE = "sealed"
pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango")]
REPLAYED = "Nachrechnung: gleich – Nachgerechnet, gleiches Ergebnis."


@contextmanager
def changed(sha256: str) -> Iterator[None]:
    """Inside, the stored file holds other bytes."""
    path = store.path(sha256)
    good = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(good + b" ")
    try:
        yield
    finally:
        path.write_bytes(good)


def pinned(world: World) -> list[EvidenceItem]:
    rows = dossier.current(world.approval)["evidence"]
    return list(EvidenceItem.objects.filter(pk__in=[row["id"] for row in rows]))


def test_unpacked_and_typed_in_as_it_says_the_run_gives_the_same_digest(world: World, tmp_path: Path) -> None:
    files = unpack(download(world, "au01"), tmp_path)
    first, second = commands(files)
    verified = type_in(first, tmp_path)
    assert (verified.returncode, verified.stderr) == (3, "")  # no trust anchor was given
    assert REPLAYED in verified.stdout
    replayed = type_in(second, tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "Eine Modelldatei gibt es nicht" in files["LIESMICH.txt"].decode()


def test_holds_the_document_and_every_pinned_file_byte_by_byte(world: World, tmp_path: Path) -> None:
    files = unpack(download(world, "wo01"), tmp_path)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert digests.pop("LIESMICH.txt")
    assert digests.pop("freigabe.pdf") == Document.objects.get(subject_id=world.approval_id).final_sha256
    assert sorted(digests.values()) == sorted(sha256 for item in pinned(world) for sha256 in item.hashes())
    for item in pinned(world):
        assert digests[f"{item.type}-{item.facts_sha256[:12]}.json"] == item.facts_sha256
    for name, sha256 in digests.items():
        assert f"  {sha256}  {name}\n" in files["LIESMICH.txt"].decode()


def test_a_later_run_changes_nothing_in_it(world: World) -> None:
    before = download(world, "wo01")
    demo.start_target(world.demo, world.workload)
    jobs.run_pending()
    assert EvidenceItem.objects.filter(workload=world.workload_id, replaced_by__isnull=False).exists()
    assert download(world, "wo01") == before


def test_every_thing_retrieved_is_recorded_once(world: World) -> None:
    size = log_size()
    download(world, "pr01")
    assert kinds_since(size) == ["DOKUMENT_ABGERUFEN", *["NACHWEIS_ABGERUFEN"] * len(pinned(world))]


def test_the_link_stands_beside_the_signed_document(world: World) -> None:
    page = world.browser("au01").get(address("approval", world.approval_id))
    assert "Nachweise als ZIP" in screen(page)
    assert f'href="{url(world)}"' in page.content.decode()


def test_outsiders_learn_nothing(world: World) -> None:
    with nothing_but():
        answer = world.browser("ad01").get(url(world))
    assert answer.status_code == 404


@pytest.mark.parametrize("kind", ["EV-02", "EV-16"])
def test_changed_evidence_is_marked_and_nothing_handed_out(world: World, kind: str) -> None:
    item = next(item for item in pinned(world) if item.type == kind)
    size = log_size()
    with changed(item.facts_sha256):
        answer = world.browser("pr01").get(url(world), headers=JSON)
    message = f"Nachweis verändert: Die Datei zu {kind} stimmt nicht mit ihrer Prüfsumme überein (G7-4)."
    assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G7-4", message=message)
    assert kinds_since(size) == ["GATE_NICHT_ERFUELLT", "NACHWEIS_MANIPULIERT"]
    item.refresh_from_db()
    assert item.status == "MANIPULIERT"


def test_a_changed_document_is_not_handed_out(world: World) -> None:
    with changed(Document.objects.get(subject_id=world.approval_id).final_sha256):
        answer = world.browser("pr01").get(url(world), headers=JSON)
    message = "Die gespeicherte Datei des Freigabedokuments passt nicht mehr zu ihrer Prüfsumme (G7-4)."
    assert_refused(answer, status=409, code="DOKUMENT_VERWEIGERT", id="G7-4", message=message)
