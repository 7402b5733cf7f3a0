"""`audited`, `unit` and `record` for every package, and the commands of the log itself."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from qms.audit import access, keys, pins, units, verify
from qms.audit.actors import SYSTEM, HasActor
from qms.audit.door import audited, record_refusal, unit, witnessed
from qms.audit.events import AuditKind
from qms.audit.export import Bundle
from qms.audit.models import Anchor, AnchorKind, AuditEvent, Checkpoint, Disclosure, Export
from qms.audit.notes import Verifier
from qms.audit.units import record
from qms.core import clock, jobs, tasks
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.models import Job

__all__ = [
    "audited",
    "confirm_restore",
    "delete_export",
    "erase_disclosures",
    "export_path",
    "fail_export",
    "finish_export",
    "hand_out_export",
    "record",
    "record_refusal",
    "request_export",
    "retire_log_key",
    "rotate_log_key",
    "unit",
    "verify_log",
    "witnessed",
]

EXPORT_JOB = "audit.export"


@audited
def request_export(*, actor: HasActor, purpose: str, with_disclosures: bool = False) -> Export:
    """Ask for a bundle of the whole log (P34); EXPORT_ERSTELLT stands before the snapshot, so it is part of it.

    Raises PermissionMissing, or CriterionNotMet without a purpose.
    """
    who = access.require(actor, access.EXPORT)
    if not purpose.strip():
        raise CriterionNotMet(
            _("Ein Export braucht einen Zweck."), id="P34", next_step=_("Geben Sie den Zweck an.")
        )
    export = Export.objects.create(
        job=tasks.enqueue_job(kind=EXPORT_JOB),
        requested_by=who.pid,
        purpose=purpose.strip(),
        with_disclosures=with_disclosures,
    )
    record(
        AuditKind.EXPORT_CREATED,
        actor=who,
        subject=export,
        facts={"with_disclosures": with_disclosures, "format": "BagIt-1.0"},
        private={"purpose": export.purpose},
    )
    return export


@audited
def finish_export(*, actor: HasActor, ctx: jobs.JobContext, bundle: Bundle) -> Export:
    """Note the finished file of an export, in the transaction that ends its job; raises LeaseLost."""
    export = Export.objects.select_for_update().get(job_id=ctx.job_id)
    jobs.finish(ctx)
    export.sha256, export.size_bytes, export.log_size = bundle.sha256, bundle.size_bytes, bundle.log_size
    export.save(update_fields=["sha256", "size_bytes", "log_size"])
    facts = {"size_bytes": bundle.size_bytes, "log_size": bundle.log_size}
    record(AuditKind.EXPORT_COMPLETED, actor=actor, subject=export, facts=facts, refs=[bundle.sha256])
    return export


@audited
def fail_export(*, actor: HasActor, job_id: UUID, reason: str) -> Export:
    """Note that the job of an export has ended without a file."""
    export = Export.objects.select_for_update().get(job_id=job_id)
    export.failed_at = clock.now()
    export.save(update_fields=["failed_at"])
    record(AuditKind.EXPORT_FAILED, actor=actor, subject=export, private={"reason": reason})
    return export


@audited
def hand_out_export(*, actor: HasActor, export_id: UUID, recipient: str = "") -> Path:
    """Record the download of an export (P34) and return its file; what is outside is a pin from now on.

    Raises NotVisible, PermissionMissing, or WrongState while there is no file.
    """
    who = access.require(actor, access.EXPORT)
    export = Export.objects.select_for_update().filter(pk=export_id).first()
    if export is None:
        raise NotVisible(_("Diesen Export gibt es nicht."))
    path = export_path(export)
    if not export.sha256 or export.deleted_at or not path.exists():
        raise WrongState(
            _("Die Datei dieses Exports liegt nicht vor."),
            id="P34",
            next_step=_("Fordern Sie einen neuen Export an."),
        )
    note = Checkpoint.objects.filter(size=export.log_size or 0).first()
    if note is not None:
        Anchor.objects.create(size=note.size, kind=AnchorKind.EXPORT, data=note.note.encode())
    private = {"recipient": recipient} if recipient else None
    record(AuditKind.EXPORT_RETRIEVED, actor=who, subject=export, refs=[export.sha256], private=private)
    return path


@audited
def delete_export(*, actor: HasActor, export_id: UUID) -> Export:
    """Delete the file of an export (RC-18); the row and the events stay. Raises as `hand_out_export`."""
    who = access.require(actor, access.EXPORT)
    export = Export.objects.select_for_update().filter(pk=export_id).first()
    if export is None:
        raise NotVisible(_("Diesen Export gibt es nicht."))
    if export.deleted_at or not export.sha256:
        raise WrongState(_("Die Datei dieses Exports liegt nicht vor."), id="P34")
    export.deleted_at = clock.now()
    export.save(update_fields=["deleted_at"])
    record(AuditKind.EXPORT_DELETED, actor=who, subject=export, refs=[export.sha256])
    export_path(export).unlink(missing_ok=True)
    return export


@audited
def erase_disclosures(*, actor: HasActor, event_uid: UUID, paths: list[str], reason: str) -> int:
    """Delete clear texts of an event (P38); line, root and every old proof stay valid. Returns how many.

    Raises NotVisible for an unknown event, PermissionMissing, or WrongState if there is nothing to delete.
    """
    who = access.require(actor, access.ERASE)
    event = AuditEvent.objects.filter(uid=event_uid).first()
    if event is None:
        raise NotVisible(_("Dieses Ereignis gibt es nicht."))
    rows = Disclosure.objects.filter(event=event, path__in=paths)
    found = sorted(rows.values_list("path", flat=True))
    if not found:
        raise WrongState(_("Zu diesem Ereignis liegt kein solcher Klartext vor."), id="P38")
    rows.delete()
    record(
        AuditKind.DISCLOSURE_ERASED,
        actor=who,
        subject_ref=("AuditEvent", str(event.uid)),
        facts={"paths": found, "obj_type": event.obj_type, "obj_id": event.obj_id},
        private={"reason": reason},
    )
    return len(found)


def confirm_restore(*, actor: HasActor, reason: str) -> None:
    """Let writes go on after a restore (P39): set the contradicting pin aside, keep it, and record what it said.

    Raises WrongState if log and pin agree, PermissionMissing.
    """
    who = access.require(actor, access.OPERATE)
    finding = pins.compare()
    if not finding.problem:
        raise WrongState(
            _("Audit-Protokoll und Anker stimmen überein; es gibt nichts zu bestätigen."), id="P39"
        )
    pin = pins.set_aside()
    facts = {
        "size": finding.size,
        "pinned_size": finding.pinned,
        "pinned_root": pin.root.hex() if pin else None,
    }
    with unit(actor=who, action="confirm_restore"):
        ref = ("Log", keys.origin())
        record(AuditKind.LOG_RESTORED, actor=who, subject_ref=ref, facts=facts, private={"reason": reason})


def rotate_log_key(*, actor: HasActor) -> Verifier:
    """Make a new log key that signs beside the old one (P39); publish its vkey, then call `retire_log_key`."""
    return keys.rotate(actor=access.require(actor, access.OPERATE))


def retire_log_key(*, actor: HasActor) -> list[Verifier]:
    """End the overlap of a rotation (P39); returns the keys that sign no more."""
    return keys.retire(actor=access.require(actor, access.OPERATE))


def verify_log(*, actor: HasActor = SYSTEM) -> verify.Report:
    """Check the whole log: every line, order, root, checkpoints and pin; records the outcome.

    A broken log is recorded too (KETTE_UNGUELTIG), unless its pin contradicts it: then nothing may be written.
    """
    report = verify.check_log()
    if pins.compare().problem:
        return report
    kind = AuditKind.LOG_VERIFIED if report.ok else AuditKind.LOG_INVALID
    facts = {"size": report.size, "signed_size": report.signed_size, "first_bad": report.first_bad}
    with units.transaction_unit():
        record(kind, actor=actor, subject_ref=("Log", keys.origin()), facts=facts)
    return report


def export_path(export: Export) -> Path:
    """Return where the file of an export lies once its job has ended."""
    return Path(settings.DATA_DIR) / "exports" / f"{export.pk}.zip"


def export_of(job_id: UUID) -> Export:
    """Return the export a job works for."""
    return Export.objects.select_related("job").get(job=Job(pk=job_id))
