"""What signing brings to an audit bundle: every sealed document with its root certificate."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography.hazmat.primitives.serialization import Encoding

from qms.audit.export import Part, Snapshot, register_part
from qms.core import store
from qms.signing import selectors
from qms.signing.models import Document, DocumentState


def register_own_parts() -> None:
    """Register the parts of this package."""
    register_part(documents)
    register_part(root)


def documents(snapshot: Snapshot) -> Iterator[Part]:
    """Write each sealed PDF; its SHA-256 stands in a line DOKUMENT_GESIEGELT."""
    for document in Document.objects.filter(state=DocumentState.SEALED.value).order_by("requested_at", "id"):
        yield f"documents/{document.number}.pdf", [store.get(document.final_sha256)]


def root(snapshot: Snapshot) -> Iterator[Part]:
    """Write the root certificate for convenience; what counts is the published one."""
    certificate = selectors.root_certificate()
    if certificate is not None:
        yield "keys/wurzel.pem", [certificate.public_bytes(Encoding.PEM)]
