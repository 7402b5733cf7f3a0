"""Disk full and TSA down while sealing: visible, with the cause, repeatable, and wirksam in the end.

One document goes through both faults; what is stored of it before each is used again.
"""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from qms.approvals import selectors
from qms.audit.models import AuditEvent
from qms.core import canonical, jobs, store
from qms.core.models import Job
from qms.signing import selectors as signing
from qms.signing import tsa
from qms.signing.models import Document, DocumentState
from qms.signing.services import SEAL_JOB
from tests.system_parts import require_system
from tests.walk import JSON, World, address, assert_refused, kinds_since, log_size, nothing_but, screen

STAGE = "decided"
FULL = "Die Siegelung ist nicht möglich: Der Speicherplatz reicht nicht."
SILENT = "Die Siegelung ist nicht möglich: Dateiablage oder Zeitstempel sind nicht erreichbar (keine Antwort der TSA)."
pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango")]


@dataclass
class Failure:
    """What one fault left: events, the page for the reviewer and for the owner, whether the Freigabe is wirksam."""

    kinds: list[str]
    page: str
    owner_page: str
    in_force: bool
    cause: str
    revisions: int


@dataclass
class Course:
    """Both faults and the end of the story."""

    full: Failure
    silent: Failure
    repeated: list[int]
    kinds: list[str]
    decision: int


@contextmanager
def _worker() -> Iterator[None]:
    """Run sealing as a worker does, retries included, but in this process."""
    here = replace(jobs._kinds[SEAL_JOB], isolated=False)
    with mock.patch.dict(jobs._kinds, {SEAL_JOB: here}):
        yield


def _attempts() -> None:
    """Start the waiting sealing job until it has ended."""
    while job := Job.objects.filter(kind=SEAL_JOB, state="QUEUED").first():
        assert jobs.run(job.pk)


def _failure(world: World, size: int) -> Failure:
    page = address("approval", world.approval_id)
    document = Document.objects.get()
    assert document.state == DocumentState.FAILED
    return Failure(
        kinds_since(size),
        screen(world.browser("pr01").get(page)),
        screen(world.browser("wo01").get(page)),
        selectors.force(world.approval).in_force,
        document.error,
        document.revisions.count(),
    )


def _repeat(world: World) -> int:
    answer = world.browser("pr01").post(address("approval_document", world.approval_id), {"repeat": "1"})
    return int(answer.status_code)


@pytest.fixture(scope="module")
def course(world: World) -> Course:
    require_system("pango")
    decision, size = world.approval.decision_sha256, log_size()
    disk = OSError(errno.ENOSPC, "No space left on device")
    with _worker(), mock.patch.object(store, "put", side_effect=disk):
        _attempts()
    full = _failure(world, size)
    repeated = [_repeat(world)]
    size = log_size()
    with _worker(), mock.patch.object(tsa, "issue_token", side_effect=OSError("keine Antwort der TSA")):
        _attempts()
    silent = _failure(world, size)
    repeated.append(_repeat(world))
    size = log_size()
    with _worker():
        _attempts()
    assert world.approval.decision_sha256 == decision
    return Course(
        full, silent, repeated, kinds_since(size), AuditEvent.objects.filter(kind="FREIGABE_ERTEILT").count()
    )


def test_full_disk_is_named_and_leaves_one_event(course: Course) -> None:
    assert course.full.cause == FULL
    assert course.full.kinds.count("SIEGELUNG_FEHLGESCHLAGEN") == 1
    assert "DOKUMENT_GESIEGELT" not in course.full.kinds
    assert course.full.revisions == 0
    assert not course.full.in_force


def test_silent_time_stamping_authority_is_named_and_leaves_one_event(course: Course) -> None:
    assert course.silent.cause == SILENT
    assert course.silent.kinds.count("SIEGELUNG_FEHLGESCHLAGEN") == 1
    assert not course.silent.in_force
    assert course.silent.revisions >= 1


@pytest.mark.parametrize("fault", ["full", "silent"])
def test_page_shows_the_pending_seal_with_its_cause(course: Course, fault: str) -> None:
    found: Failure = getattr(course, fault)
    for page in (found.page, found.owner_page):
        assert "Siegel ausstehend" in page
        assert "Die Siegelung ist fehlgeschlagen." in page
        assert found.cause in page
    assert "Erneut siegeln" in found.page
    assert "Erneut siegeln" not in found.owner_page


def test_repeating_ends_in_a_sealed_document(world: World, course: Course) -> None:
    assert course.repeated == [302, 302]
    assert course.kinds.count("DOKUMENT_GESIEGELT") == 1
    assert course.decision == 1
    assert selectors.force(world.approval).in_force
    rows = list(Document.objects.get().revisions.values_list("number", flat=True))
    assert rows == list(range(len(rows)))
    assert signing.verify_file(signing.final_pdf(Document.objects.get())).valid


def test_sealed_document_is_not_sealed_again(world: World, course: Course) -> None:
    with nothing_but("AENDERUNG_VERWEIGERT", id="G7-9"):
        answer = world.browser("pr01").post(
            address("approval_document", world.approval_id), {"repeat": "1"}, headers=JSON
        )
    assert_refused(
        answer,
        status=409,
        code="AENDERUNG_VERWEIGERT",
        id="G7-9",
        message="Nur eine fehlgeschlagene Siegelung lässt sich wiederholen.",
    )


def test_owner_may_not_ask_for_the_seal(world: World, course: Course) -> None:
    with nothing_but("ZUGRIFF_VERWEIGERT", id="P32"):
        answer = world.browser("wo01").post(
            address("approval_document", world.approval_id), {"repeat": "1"}, headers=JSON
        )
    assert answer.status_code == 403


def test_changed_pdf_is_refused_by_the_verifier(world: World, course: Course, tmp_path: Path) -> None:
    good = signing.final_pdf(Document.objects.get())
    root = signing.root_certificate()
    assert root is not None
    (tmp_path / "root.pem").write_bytes(root.public_bytes(Encoding.PEM))
    changed = bytearray(good)
    changed[len(changed) // 3] ^= 0x10
    for name, data, code in (("gut.pdf", good, 0), ("anders.pdf", bytes(changed), 1)):
        (tmp_path / name).write_bytes(data)
        command = [sys.executable, "-m", "qms.signing.verify", name, "--root", "root.pem"]
        result = subprocess.run(
            command,
            cwd=tmp_path,
            env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == code, result.stdout + result.stderr
    assert signing.verify_file(good).valid
    assert not signing.verify_file(bytes(changed)).valid


def test_changed_stored_document_is_not_handed_out(world: World, course: Course) -> None:
    document = Document.objects.get()
    path, page = store.path(document.final_sha256), address("approval_verification", world.approval_id)
    good = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    try:
        with nothing_but("DOKUMENT_VERWEIGERT", id="G7-4"):
            answer = world.browser("wo01").get(address("approval_document", world.approval_id), headers=JSON)
        assert_refused(
            answer,
            status=409,
            code="DOKUMENT_VERWEIGERT",
            id="G7-4",
            message="Die gespeicherte Datei des Freigabedokuments passt nicht mehr zu ihrer Prüfsumme (G7-4).",
        )
        text = screen(world.browser("au01").get(page))
        assert "Die gespeicherte Datei passt nicht mehr zu ihrer Prüfsumme. Verwenden Sie sie nicht." in text
    finally:
        path.write_bytes(good)
    assert canonical.sha256_hex(good) == document.final_sha256
    assert world.browser("wo01").get(address("approval_document", world.approval_id)).status_code == 200
