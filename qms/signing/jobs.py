"""The sealing job: render, seal, sign each field, close, timestamp, verify - one stored revision per step.

It goes on from the last stored revision after a crash. No lock is held while rendering or signing: each step works
on stored bytes, then one short transaction checks the fencing token and the base and stores revision and event.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import override

from qms.audit import checkpoints, proofs
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditLeaf
from qms.audit.notes import unverified_head
from qms.core import canonical, clock, store
from qms.core.jobs import MAX_ATTEMPTS, JobContext, JobFailed, register
from qms.roles.roles import Role
from qms.signing import (
    acts,
    authority,
    decision,
    frozen,
    render,
    selectors,
    services,
    verify,
    verify_rules,
    view,
)
from qms.signing.ca import Purpose
from qms.signing.errors import SigningError
from qms.signing.models import ActRecord, Document, DocumentRevision
from qms.signing.request import CLOSING_FIELD, OPENING_FIELD, DocumentRequest
from qms.signing.sealer import Sealer, Signatory, SignedField
from qms.signing.services import SEAL_JOB, NewRevision

_RENDERED = ""
_DECIDED = (
    AuditKind.APPROVAL_GRANTED.value,
    AuditKind.APPROVAL_GRANTED_WITH_CONDITIONS.value,
    AuditKind.APPROVAL_REJECTED.value,
    AuditKind.ADDENDUM_CREATED.value,
)


@dataclass(slots=True)
class Work:
    """Everything the steps of one document share."""

    ctx: JobContext
    document: Document
    request: DocumentRequest
    organisation: str
    decision: decision.Decision
    sealer: Sealer


def _failed(job_id: UUID, reason: str) -> None:
    services.record_failed(actor=SYSTEM, job_id=job_id, reason=reason)


@register(SEAL_JOB, isolated=True, on_failure=_failed)
def seal_document(ctx: JobContext) -> None:
    """Seal the document of this job; raises JobFailed with the cause when trying again would not help.

    A full disk or a silent time-stamping authority is tried again first, as any job is; then it is the cause.
    """
    with override("de"):
        try:
            work = _open(ctx)
            for position, (step, make) in enumerate(_steps(work)):
                if _done(work, position):
                    continue
                ctx.check_cancelled()
                ctx.progress(1000 * position // (len(work.request.fields) + 4), step)
                make(work, position)
        except SigningError as error:
            raise JobFailed(_("Die Siegelung ist nicht möglich: %(cause)s") % {"cause": error}) from error
        except OSError as error:
            if ctx.attempt < MAX_ATTEMPTS:
                raise
            raise JobFailed(_outage(error)) from error


def _outage(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _("Die Siegelung ist nicht möglich: Der Speicherplatz reicht nicht.")
    text = _(
        "Die Siegelung ist nicht möglich: Dateiablage oder Zeitstempel sind nicht erreichbar (%(cause)s)."
    )
    return text % {"cause": error}


Step = tuple[str, Callable[[Work, int], None]]


def _steps(work: Work) -> list[Step]:
    """Return all steps in order; position and revision number are the same."""
    persons: list[Step] = [
        (_("Unterschrift %(number)d") % {"number": number}, _sign_person)
        for number, _field in enumerate(work.request.fields, start=1)
    ]
    return [
        (_("Dokument wird gesetzt"), _render),
        (_("Eingangssiegel"), _seal_opening),
        *persons,
        (_("Abschlusssiegel"), _seal_closing),
        (_("Zeitstempel und Prüfung"), _finish),
    ]


def _open(ctx: JobContext) -> Work:
    document = Document.objects.get(job_id=ctx.job_id)
    authority.ensure(actor=SYSTEM)
    request, organisation, _created = frozen.load(store.get(document.request_sha256))
    sealer = Sealer(
        authority.load(),
        organisation=organisation,
        base_url=settings.PUBLIC.url.rstrip("/"),
        zone=settings.TIME_ZONE,
        clock=clock.now,
        revoked_at=authority.is_revoked,
    )
    return Work(ctx, document, request, organisation, decision.parse(request.decision_json), sealer)


def _done(work: Work, position: int) -> bool:
    return DocumentRevision.objects.filter(document=work.document, number=position).exists()


def _base(work: Work) -> bytes:
    newest = selectors.newest_revision(work.document)
    if newest is None:
        raise JobFailed(_("Die erste Fassung des Dokuments fehlt."))
    return store.get(newest.sha256)


def _log_proof(work: Work) -> bytes:
    """Return the proof of the decision: its place in the log is known only after the commit of the request."""
    if work.request.log_proof:
        return work.request.log_proof
    found = AuditLeaf.objects.filter(event__obj_id=str(work.request.subject_id), event__kind__in=_DECIDED)
    newest = found.order_by("-seq").first()
    if newest is None:
        raise JobFailed(_("Im Audit-Protokoll fehlt das Ereignis der Entscheidung."))
    checkpoints.sign_now()
    return proofs.tlog_proof(newest.seq).encode()


def _render(work: Work, position: int) -> None:
    request, organisation, created_at = frozen.load(store.get(work.document.request_sha256))
    records = verify_rules.parse_records(request.acts_json)
    page = view.PageInput(
        number=request.number,
        version=request.version,
        organisation=organisation,
        body=request.body,
        fields=tuple(request.fields),
        dossier_sha256=work.decision.dossier_sha256,
        decision_sha256=work.decision.sha256,
        root_sha256=selectors.root_sha256(),
        log_key=checkpoints.vkey(),
        methods=tuple(record.act.method for record in records if record.act.field),
        software=any(record.authenticator is acts.Authenticator.SOFTWARE for record in records),
        demo=request.demo,
    )
    data = render.DocumentInput(page, request.decision_json, request.acts_json, _log_proof(work), created_at)
    _store(work, position, _RENDERED, SignedField(render.render_document(data), None))


def _seal_opening(work: Work, position: int) -> None:
    base = _base(work)
    _store(work, position, OPENING_FIELD, work.sealer.opening_seal(base), base=base)


def _sign_person(work: Work, position: int) -> None:
    base = _base(work)
    wanted = work.request.fields[position - 2]  # behind the rendering and the opening seal
    act = ActRecord.objects.get(pk=wanted.act_record_id)
    who = Signatory(
        field=wanted.field,
        name=act.name,
        role_label=wanted.role_label or str(Role(wanted.role).label),
        meaning=wanted.meaning,
        record=acts.Record.from_json(canonical.loads(act.record)),
        record_id=str(act.pk),
    )
    signed = work.sealer.person_field(base, who, work.decision)
    _store(work, position, wanted.field, signed, base=base, act=act)


def _seal_closing(work: Work, position: int) -> None:
    base = _base(work)
    signed = work.sealer.closing_seal(base, checkpoint=_checkpoint())
    _store(work, position, CLOSING_FIELD, signed, base=base)


def _finish(work: Work, position: int) -> None:
    base = _base(work)
    pdf = work.sealer.timestamp(base, number=1)
    root = authority.load()[Purpose.ROOT].certificate
    work.document.refresh_from_db(fields=["render_sha256"])
    expected = verify_rules.Expected(work.decision.sha256, work.document.render_sha256)
    report = verify.verify(pdf, root=root, at=clock.now(), expected=expected)
    if not report.valid:
        raise JobFailed(
            _("Die eigene Prüfung lehnt das Dokument ab: %(verdict)s") % {"verdict": report.verdict}
        )
    new = NewRevision(
        number=position,
        field="Zeitstempel_01",
        pdf_sha256=store.put(pdf),
        size_bytes=len(pdf),
        base_sha256=canonical.sha256_hex(base),
    )
    services.record_sealed(actor=SYSTEM, ctx=work.ctx, new=new)


def _store(
    work: Work,
    position: int,
    field: str,
    signed: SignedField,
    *,
    base: bytes = b"",
    act: ActRecord | None = None,
) -> None:
    new = NewRevision(
        number=position,
        field=field,
        pdf_sha256=store.put(signed.pdf),
        size_bytes=len(signed.pdf),
        base_sha256=canonical.sha256_hex(base) if base else "",
        certificate=signed.certificate,
        act=act,
    )
    services.store_revision(actor=SYSTEM, ctx=work.ctx, new=new)


def _checkpoint() -> str:
    """Return the state of the log as the closing seal names it."""
    note = checkpoints.newest()
    if not note:
        return _("noch kein Kontrollpunkt")
    head = unverified_head(note)
    root = head.text().split("\n")[2]
    return _("%(origin)s, %(size)d Ereignisse, Wurzel %(root)s") % {
        "origin": head.origin,
        "size": head.size,
        "root": root,
    }
