"""Reading documents, keys and the trust anchor; verifying a file against the register."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from cryptography import x509

from qms.core import canonical, store
from qms.signing import ca, report, verify
from qms.signing.models import ActRecord, Certificate, Document, DocumentRevision, DocumentState
from qms.signing.verify_rules import Expected


@dataclass(frozen=True, slots=True)
class SealState:
    """Whether the newest document of a subject is sealed; error: why it failed, German, or empty."""

    sealed: bool
    pending: bool
    error: str
    document_id: UUID | None


def document_of(subject_id: UUID) -> Document | None:
    """Return the newest document about a subject, or None."""
    return Document.objects.filter(subject_id=subject_id).order_by("-requested_at", "-id").first()


def seal_state(subject_id: UUID) -> SealState:
    """Return where the sealing of a subject's newest document stands; nothing is stored twice."""
    return _seal_state(document_of(subject_id))


def seal_states(subject_ids: Sequence[UUID]) -> dict[UUID, SealState]:
    """Return `seal_state` of every subject in one query."""
    rows = Document.objects.filter(subject_id__in=subject_ids).order_by("requested_at", "id")
    newest: dict[UUID, Document] = {row.subject_id: row for row in rows}
    return {subject_id: _seal_state(newest.get(subject_id)) for subject_id in subject_ids}


def _seal_state(document: Document | None) -> SealState:
    if document is None:
        return SealState(sealed=False, pending=False, error="", document_id=None)
    state = document.state
    return SealState(
        state == DocumentState.SEALED, state == DocumentState.PENDING, document.error, document.pk
    )


def newest_revision(document: Document) -> DocumentRevision | None:
    """Return the last stored state of a document, or None before it is rendered."""
    return document.revisions.order_by("-number").first()


def final_pdf(document: Document) -> bytes:
    """Return the sealed file; raises StoredFileMissing, StoredFileChanged, or ValueError before it is sealed."""
    if not document.final_sha256:
        raise ValueError(f"expected a sealed document, got {document.state}")
    return store.get(document.final_sha256)


def root_certificate() -> x509.Certificate | None:
    """Return the trust anchor of this installation, or None before the first keys are made."""
    row = Certificate.objects.filter(purpose=ca.Purpose.ROOT.value).order_by("-issued_at").first()
    return None if row is None else x509.load_pem_x509_certificate(row.pem.encode())


def root_sha256() -> str:
    """Return the SHA-256 of the root certificate as printed on documents, or an empty text."""
    root = root_certificate()
    return "" if root is None else ca.sha256_of(root)


def acts_json(record_ids: Iterable[UUID]) -> bytes:
    """Return `bestaetigungen.json`: the records in the given order, canonical."""
    rows = {row.pk: row for row in ActRecord.objects.filter(pk__in=list(record_ids))}
    return canonical.dumps([canonical.loads(rows[record_id].record) for record_id in record_ids])


def verify_file(data: bytes) -> report.Report:
    """Verify a file against our own root and, where the register knows it, against the recorded digests."""
    found = Document.objects.filter(final_sha256=canonical.sha256_hex(data)).first()
    expected = (
        Expected(decision_sha256=found.decision_sha256, render_sha256=found.render_sha256) if found else None
    )
    return _verified(data, root_certificate(), expected)


@lru_cache(maxsize=8)
def _verified(data: bytes, root: x509.Certificate | None, expected: Expected | None) -> report.Report:
    """Same file, same anchor, same verdict: a page that shows a report must not verify for seconds each time."""
    return (
        verify.verify(data, root=root)
        if expected is None
        else verify.verify(data, root=root, expected=expected)
    )
