from __future__ import annotations

import json
import zipfile

import pytest

from qms.audit import access, pruefen, selectors, services
from qms.audit import checkpoints as notes
from qms.audit.actors import SYSTEM, Actor
from qms.audit.models import Anchor, Export
from qms.core import errors, jobs
from qms.core.models import JobState
from tests.qms.audit.helpers import PERSON, kinds, last, log

pytestmark = pytest.mark.django_db


class Account:
    """An account whose role the check below decides on."""

    def audit_actor(self, role: str = "") -> Actor:
        return Actor("b" * 32, role)


@pytest.fixture
def finished() -> Export:
    log(3)
    export = services.request_export(actor=PERSON, purpose="Jahresprüfung mit Namen", with_disclosures=True)
    jobs.run_pending()
    export.refresh_from_db()
    return export


def test_finished_export_holds_its_own_request_and_verifies(finished):
    path = services.export_path(finished)
    assert finished.job.state == JobState.SUCCEEDED
    assert finished.sha256
    assert pruefen.check(path, [notes.vkey()])[0] == []
    with zipfile.ZipFile(path) as archive:
        content = archive.read(next(name for name in archive.namelist() if name.endswith("events.jsonl")))
    assert b'"EXPORT_ERSTELLT"' in content
    assert b"Jahrespr" not in content
    assert kinds()[-1] == "EXPORT_ABGESCHLOSSEN"
    assert list(path.parent.iterdir()) == [path]


def test_export_without_purpose_is_refused():
    with pytest.raises(errors.CriterionNotMet):
        services.request_export(actor=PERSON, purpose="  ")
    assert not Export.objects.exists()


def test_handed_out_export_is_a_pin(finished):
    path = services.hand_out_export(actor=PERSON, export_id=finished.pk, recipient="Prüfstelle 1")
    assert path == services.export_path(finished)
    anchor = Anchor.objects.get()
    assert (anchor.size, anchor.kind) == (finished.log_size, "export")
    assert json.loads(last().body)["refs"] == [finished.sha256]
    assert "Prüfstelle" not in last().body


def test_deleted_export_is_gone_and_not_handed_out(finished):
    services.delete_export(actor=PERSON, export_id=finished.pk)
    assert not services.export_path(finished).exists()
    with pytest.raises(errors.WrongState):
        services.hand_out_export(actor=PERSON, export_id=finished.pk)
    with pytest.raises(errors.WrongState):
        services.delete_export(actor=PERSON, export_id=finished.pk)


def test_unknown_export_is_not_visible(finished):
    count = len(kinds())
    for command in (services.hand_out_export, services.delete_export):
        with pytest.raises(errors.NotVisible):
            command(actor=PERSON, export_id=finished.job_id)
    assert len(kinds()) == count


def test_failed_export_says_so(monkeypatch):
    from qms.audit import jobs as audit_jobs

    def broken(*args, **options):
        raise jobs.JobFailed("Kein Platz auf dem Datenträger.")

    monkeypatch.setattr(audit_jobs, "build_bundle", broken)
    export = services.request_export(actor=PERSON, purpose="Zweck")
    jobs.run_pending()
    export.refresh_from_db()
    assert export.failed_at
    assert kinds()[-1] == "EXPORT_FEHLGESCHLAGEN"
    with pytest.raises(errors.WrongState):
        services.hand_out_export(actor=PERSON, export_id=export.pk)


def test_account_needs_the_permission(monkeypatch):
    monkeypatch.setattr(access, "_checks", [])
    with pytest.raises(errors.PermissionMissing):
        services.request_export(actor=Account(), purpose="Zweck")
    asked = []

    def check(actor, permission):
        asked.append(permission)
        return "AU"

    access.set_require(check)
    services.request_export(actor=Account(), purpose="Zweck")
    assert asked == ["P34"]
    assert json.loads(last().body)["acting_role"] == "AU"


def test_timer_signs_only_a_grown_log():
    from qms.audit import tasks

    tasks.sign_checkpoint({})
    assert notes.newest() == ""
    log(2)
    tasks.sign_checkpoint({})
    first = notes.newest()
    tasks.sign_checkpoint({})
    assert notes.newest() == first
    assert len(kinds()) == 3


def test_erasure_of_nothing_is_refused():
    from qms.audit.models import AuditEvent
    from qms.core.ids import uuid7

    log()
    with pytest.raises(errors.WrongState):
        services.erase_disclosures(
            actor=SYSTEM, event_uid=AuditEvent.objects.get().uid, paths=["reason"], reason="x"
        )
    with pytest.raises(errors.NotVisible):
        services.erase_disclosures(actor=SYSTEM, event_uid=uuid7(), paths=["reason"], reason="x")


def test_status_tells_what_is_unsigned_and_pinned(finished):
    services.hand_out_export(actor=PERSON, export_id=finished.pk)
    status = selectors.log_status()
    assert (status.pinned, status.pinned_where) == (finished.log_size, "Audit-Export")
    assert status.size > status.signed
    assert "noch nicht signiert" in status.sentences[0]
    assert "verankert" in status.sentences[1]
