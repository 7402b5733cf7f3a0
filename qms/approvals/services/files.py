"""Handing out the files of a decided approval: its signed document, and all that a replay elsewhere needs, as a ZIP."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Final
from uuid import UUID

from django.utils.translation import gettext as _

from qms.approvals import dossier, selectors
from qms.approvals.evidence_readme import DOCUMENT, readme
from qms.approvals.models import Addendum, Approval
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import archive, canonical, store
from qms.core.errors import CriterionNotMet, Refusal, WrongState
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates.evidence_facts import manifest_from
from qms.roles import guards
from qms.roles.models import User
from qms.roles.roles import Role
from qms.signing import selectors as sealed
from qms.signing.models import Document
from qms.workloads.services import model_file

REFUSED_DOCUMENT: Final = "DOKUMENT_VERWEIGERT"
README: Final = "LIESMICH.txt"
_SUFFIX: Final = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


@audited
def retrieve_document(*, actor: User, approval_id: UUID) -> tuple[Approval, bytes]:
    """Record the download of the signed document and return it; refused before the decision (G7-9) and the seal."""
    approval = selectors.get(approval_id, actor=actor)
    document = _sealed(approval)
    try:
        data = sealed.final_pdf(document)
    except store.StoredFileError as error:
        raise _damaged_document() from error
    _record_document(document, actor)
    return approval, data


@audited
def retrieve_evidence(*, actor: User, approval_id: UUID, target: IO[bytes]) -> Approval:
    """Write document, the evidence it rests on and the model file into `target` as a ZIP; each thing is recorded.

    The model file goes to who may take it from the page of its run (spec 4.2). Refused as `retrieve_document`; raises
    CriterionNotMet for a stored file that is missing or was changed: evidence (G7-4), model file (G0-5).
    """
    approval = selectors.get(approval_id, actor=actor)
    document, pinned = _sealed(approval), _pinned(approval)
    stored = {DOCUMENT: document.final_sha256}
    for one in pinned:
        stored |= one.files()
    manifests = [one for one in pinned if one.item.type == EvidenceType.LINEAGE]
    try:
        models = sorted(filter(None, (_model_file(one) for one in manifests)))
        role = _role_to_take(models, approval, actor)
        stored |= {f"{sha256}.wgraph": sha256 for sha256 in models if role}
        text = readme(
            approval.number,
            stored,
            manifests=[one.name for one in manifests],
            model=("with" if role else "without") if models else "",
        )
        archive.write_zip(target, stored=stored, texts={README: text})
    except store.StoredFileError as error:
        raise _damaged(error.sha256, document, pinned, actor) from error
    _record_document(document, actor)
    for one in pinned:
        record(
            AuditKind.EVIDENCE_RETRIEVED, actor=actor.audit_actor(), subject=one.item, refs=one.item.hashes()
        )
    if role:
        record(AuditKind.ARTEFACT_RETRIEVED, actor=actor.audit_actor(role), subject=approval, refs=models)
    return approval


@audited
def retrieve_addendum(*, actor: User, approval_id: UUID) -> tuple[Approval, bytes]:
    """Record the download of the signed addendum and return it; refused before there is one, and before its seal."""
    approval = selectors.get(approval_id, actor=actor)
    made = Addendum.objects.filter(approval=approval).first()
    document = sealed.document_of(made.pk) if made else None
    if document is None or not document.final_sha256:
        raise WrongState(
            _("Zu dieser Freigabe gibt es noch keinen gesiegelten Nachtrag (G7-9)."),
            id="G7-9",
            code=REFUSED_DOCUMENT,
            next_step=_("Ein Nachtrag entsteht, wenn alle Auflagen erfüllt sind."),
        )
    try:
        data = sealed.final_pdf(document)
    except store.StoredFileError as error:
        raise _damaged_document() from error
    _record_document(document, actor)
    return approval, data


def check_decided(approval: Approval) -> None:
    """Raise WrongState (G7-9) before the decision: until then there is no document."""
    if approval.decided_at is None:
        raise WrongState(
            _("Kein Freigabedokument ohne Entscheidung. Verfügbar: Gate-Bericht (G7-9)."),
            id="G7-9",
            code=REFUSED_DOCUMENT,
            next_step=_("Der Gate-Bericht steht auf der Seite des Antrags."),
        )


@dataclass(frozen=True, slots=True)
class _Pinned:
    """One piece of evidence with the digests the decision rests on, whatever its row says today."""

    item: EvidenceItem
    facts_sha256: str
    raw_sha256: str

    @property
    def name(self) -> str:
        """Return the name under which its page hands it out, too."""
        return f"{self.item.type}-{self.facts_sha256[:12]}.json"

    def files(self) -> dict[str, str]:
        """Return its files: name -> SHA-256; of the name of a file handed in, only the ending is taken over."""
        found = {self.name: self.facts_sha256}
        if self.raw_sha256:
            suffix = _SUFFIX.search(self.item.raw_name)
            ending = suffix[0] if suffix else ""
            found[f"{self.item.type}-rohdatei-{self.raw_sha256[:12]}{ending}"] = self.raw_sha256
        return found


def _pinned(approval: Approval) -> list[_Pinned]:
    rows = dossier.current(approval)["evidence"]
    items = EvidenceItem.objects.in_bulk([UUID(row["id"]) for row in rows])
    return [_Pinned(items[UUID(row["id"])], row["facts_sha256"], row["raw_sha256"]) for row in rows]


def _model_file(manifest: _Pinned) -> str:
    """Return the SHA-256 of the file the run was computed from, "" for a text; raises StoredFileError."""
    return manifest_from(canonical.loads(store.get(manifest.facts_sha256))).artefact


def _role_to_take(models: list[str], approval: Approval, actor: User) -> Role | None:
    """Return the role that takes every model file along, None where there is no file or no such role."""
    rights = guards.prefetch(actor, [approval.workload])
    needed = [model_file.needed_to_take(approval.workload, sha256) for sha256 in models]
    roles = [rights.acting_role(permission, approval.workload) for permission in needed]
    return roles[0] if roles and all(roles) else None


def _sealed(approval: Approval) -> Document:
    check_decided(approval)
    document = sealed.document_of(approval.pk)
    if document is None or not document.final_sha256:
        raise WrongState(
            _("Das Freigabedokument ist noch nicht gesiegelt (G7-9)."),
            id="G7-9",
            code=REFUSED_DOCUMENT,
            next_step=_("Warten Sie, bis das Siegel vorliegt, oder stoßen Sie die Siegelung erneut an."),
        )
    return document


def _record_document(document: Document, actor: User) -> None:
    record(
        AuditKind.DOCUMENT_RETRIEVED,
        actor=actor.audit_actor(),
        subject=document,
        refs=[document.final_sha256],
    )


def _damaged(sha256: str, document: Document, pinned: Iterable[_Pinned], actor: User) -> Refusal:
    """Return the refusal for a damaged file, by what it is; evidence is marked for it."""
    if sha256 == document.final_sha256:
        return _damaged_document()
    broken = [one.item for one in pinned if sha256 in {one.facts_sha256, one.raw_sha256}]
    if broken:
        return evidence.tampered(broken, actor.audit_actor())
    return CriterionNotMet(
        _("Die Modelldatei fehlt, oder ihre Prüfsumme stimmt nicht mehr."),
        id="G0-5",
        next_step=_("Bitte informieren Sie das Qualitätsmanagement."),
    )


def _damaged_document() -> WrongState:
    return WrongState(
        _("Die gespeicherte Datei des Freigabedokuments passt nicht mehr zu ihrer Prüfsumme (G7-4)."),
        id="G7-4",
        code=REFUSED_DOCUMENT,
        next_step=_("Informieren Sie das Qualitätsmanagement und die Administration."),
    )
