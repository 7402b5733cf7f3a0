"""Commands about documents: ask for one, store each revision, note the end. All join or open an audited unit."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from cryptography import x509
from django.conf import settings
from django.utils.translation import gettext as _

from qms.audit.actors import HasActor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import canonical, clock, jobs, store, tasks
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.signing import authority, decision, frozen, glyphs, hooks, selectors
from qms.signing.ca import Purpose
from qms.signing.errors import DecisionMalformed, GlyphMissing, StaleBase
from qms.signing.models import ActRecord, Certificate, Document, DocumentRevision, DocumentState
from qms.signing.request import CLOSING_FIELD, OPENING_FIELD, DocumentRequest

SEAL_JOB = "signing.seal"
_EVENTS = {
    "": AuditKind.DOCUMENT_RENDERED,
    OPENING_FIELD: AuditKind.OPENING_SEAL_SET,
    CLOSING_FIELD: AuditKind.CLOSING_SEAL_SET,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevision:
    """What one step of the job made. base_sha256: the revision it was made from; field: "" for the rendering."""

    number: int
    field: str
    pdf_sha256: str
    size_bytes: int
    base_sha256: str
    certificate: x509.Certificate | None = None
    act: ActRecord | None = None


@audited
def request_document(*, actor: HasActor, request: DocumentRequest) -> Document:
    """Ask for a sealed document; joins the caller's unit, the work happens in a job after the commit.

    Refuses (422) a character that the fonts lack and a decision record that does not fit the request.
    """
    _check_request(request)
    now = clock.now()
    raw = frozen.dump(
        request, organisation=settings.ORGANISATION_NAME or settings.PUBLIC.host, created_at=now
    )
    document = Document.objects.create(
        number=request.number,
        version=request.version,
        kind=request.kind.value,
        subject_id=request.subject_id,
        job=tasks.enqueue_job(kind=SEAL_JOB),
        request_sha256=store.put(raw),
        decision_sha256=canonical.sha256_hex(request.decision_json),
        demo=request.demo,
        requested_at=now,
    )
    _record_request(actor, document)
    return document


@audited
def repeat_sealing(*, actor: HasActor, subject_id: UUID) -> Document:
    """Start the job again after a failure; goes on from the last stored revision. Raises NotVisible, WrongState."""
    found = selectors.document_of(subject_id)
    if found is None:
        raise NotVisible(_("Dieses Dokument gibt es nicht."))
    document = Document.objects.select_for_update().get(pk=found.pk)
    if document.state != DocumentState.FAILED:
        raise WrongState(
            _("Nur eine fehlgeschlagene Siegelung lässt sich wiederholen."),
            id="G7-9",
            next_step=_("Warten Sie, bis der laufende Auftrag endet."),
        )
    document.job, document.state, document.error = tasks.enqueue_job(kind=SEAL_JOB), DocumentState.PENDING, ""
    document.save(update_fields=["job", "state", "error"])
    _record_request(actor, document)
    return document


@audited
def store_revision(*, actor: HasActor, ctx: jobs.JobContext, new: NewRevision) -> DocumentRevision:
    """Keep one revision with its event; raises LeaseLost for an outdated job, StaleBase for an outdated base."""
    document = _locked(ctx, new)
    certificate = None
    if new.certificate is not None:
        purpose = _seal_purpose(new)
        if purpose is Purpose.ONE_TIME:
            certificate = authority.store_certificate(new.certificate, purpose, act=new.act)
            issued = {"purpose": purpose.value, "field": new.field, "person": certificate.pid}
            refs = [certificate.sha256, new.act.sha256] if new.act else [certificate.sha256]
            record(AuditKind.CERTIFICATE_ISSUED, actor=actor, subject=certificate, facts=issued, refs=refs)
        else:
            certificate = authority.certificate_row(new.certificate)
    revision = _add_revision(document, new, certificate)
    if not new.field:
        document.render_sha256 = new.pdf_sha256
        document.save(update_fields=["render_sha256"])
    facts: dict[str, object] = {"field": new.field, "revision": new.number, "document_sha256": new.pdf_sha256}
    if new.act is not None:
        facts |= {"act": str(new.act.pk), "act_sha256": new.act.sha256}
    kind = _EVENTS.get(new.field, AuditKind.SIGNATURE_SET)
    record(kind, actor=actor, subject=document, facts=facts, refs=[new.pdf_sha256])
    return revision


@audited
def record_sealed(*, actor: HasActor, ctx: jobs.JobContext, new: NewRevision) -> Document:
    """Keep the last revision, whose own verification has passed, and end the job: the document is sealed."""
    document = _locked(ctx, new)
    _add_revision(document, new, None)
    document.state, document.final_sha256, document.sealed_at = (
        DocumentState.SEALED,
        new.pdf_sha256,
        clock.now(),
    )
    document.error = ""
    document.save(update_fields=["state", "final_sha256", "sealed_at", "error"])
    hashes = list(document.revisions.order_by("number").values_list("sha256", flat=True))
    facts = {
        "document_sha256": new.pdf_sha256,
        "decision_sha256": document.decision_sha256,
        "revisions": hashes,
    }
    record(AuditKind.DOCUMENT_SEALED, actor=actor, subject=document, facts=facts, refs=[new.pdf_sha256])
    hooks.ended(document)
    jobs.finish(ctx)
    return document


@audited
def record_failed(*, actor: HasActor, job_id: UUID, reason: str) -> Document:
    """Note why sealing ended without a sealed document; the stored revisions stay and are used again."""
    document = Document.objects.select_for_update().get(job_id=job_id)
    document.state, document.error = DocumentState.FAILED, reason
    document.save(update_fields=["state", "error"])
    done = document.revisions.count()
    record(
        AuditKind.SEALING_FAILED,
        actor=actor,
        subject=document,
        facts={"number": document.number, "revisions": done},
        private={"cause": reason},
    )
    hooks.ended(document)
    return document


def _check_request(request: DocumentRequest) -> None:
    try:
        glyphs.check_all([request.number, request.version, request.body, _printed_names(request)])
        parsed = decision.parse(request.decision_json)
    except GlyphMissing as error:
        raise CriterionNotMet(
            str(error), id="G7-9", next_step=_("Ersetzen Sie das Zeichen „%(c)s“.") % {"c": error.character}
        ) from error
    except DecisionMalformed as error:
        raise CriterionNotMet(
            _("Die Entscheidung ist unvollständig: %(cause)s") % {"cause": error}, id="G7-9"
        ) from error
    wanted = {item.field: (item.role, item.meaning) for item in parsed.required_fields}
    given = {item.field: (item.role, item.meaning) for item in request.fields}
    same = (parsed.number, parsed.version, parsed.demo) == (request.number, request.version, request.demo)
    if wanted != given or not same:
        raise CriterionNotMet(
            _("Entscheidung und Dokument nennen verschiedene Unterschriften oder Nummern."), id="G7-9"
        )
    if request.demo is not settings.DEMO:
        raise CriterionNotMet(_("Ein Muster gibt es nur in der Vorführung, und dort nur Muster."), id="G7-9")


def _printed_names(request: DocumentRequest) -> list[str]:
    """Return the names and role labels that the job will draw into the fields."""
    acts = ActRecord.objects.filter(pk__in=[field.act_record_id for field in request.fields])
    return [*acts.values_list("name", flat=True), *(field.role_label for field in request.fields)]


def _record_request(actor: HasActor, document: Document) -> None:
    facts = {
        "number": document.number,
        "version": document.version,
        "decision_sha256": document.decision_sha256,
    }
    refs = [document.request_sha256]
    record(AuditKind.SEALING_REQUESTED, actor=actor, subject=document, facts=facts, refs=refs)


def _locked(ctx: jobs.JobContext, new: NewRevision) -> Document:
    document = Document.objects.select_for_update().get(job_id=ctx.job_id)
    # Writing the checkpoint names the attempt: an outdated job stops here, inside this transaction.
    ctx.save_checkpoint({"revision": new.number})
    newest = selectors.newest_revision(document)
    found = (newest.number + 1, newest.sha256) if newest else (0, "")
    if found != (new.number, new.base_sha256):
        raise StaleBase(f"expected revision {found[0]} on {found[1]}, got {new.number} on {new.base_sha256}")
    return document


def _seal_purpose(new: NewRevision) -> Purpose:
    seals = {OPENING_FIELD: Purpose.SEAL_OPENING, CLOSING_FIELD: Purpose.SEAL_CLOSING}
    return seals.get(new.field, Purpose.ONE_TIME)


def _add_revision(document: Document, new: NewRevision, certificate: Certificate | None) -> DocumentRevision:
    return DocumentRevision.objects.create(
        document=document,
        number=new.number,
        field=new.field,
        sha256=new.pdf_sha256,
        size_bytes=new.size_bytes,
        certificate=certificate,
        created_at=clock.now(),
    )
