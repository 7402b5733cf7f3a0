"""The stored form of a document request: everything revision 0 is made of, content-addressed. Django-free."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any
from uuid import UUID

from qms.core import canonical, clock
from qms.signing.request import DocumentKind, DocumentRequest, field_from_json, field_to_json


def dump(request: DocumentRequest, *, organisation: str, created_at: datetime) -> bytes:
    """Return the canonical bytes of a request with the two values the installation adds."""
    return canonical.dumps(
        {
            "number": request.number,
            "version": request.version,
            "kind": request.kind.value,
            "subject_id": str(request.subject_id),
            "decision_json": _text(request.decision_json),
            "acts_json": _text(request.acts_json),
            "log_proof": _text(request.log_proof),
            "body": request.body,
            "fields": [field_to_json(field) for field in request.fields],
            "demo": request.demo,
            "organisation": organisation,
            "created_at": clock.timestamp(created_at),
        }
    )


def load(raw: bytes) -> tuple[DocumentRequest, str, datetime]:
    """Read a stored request: the request, the name of the organisation, the time it was frozen."""
    data: dict[str, Any] = canonical.loads(raw)
    request = DocumentRequest(
        number=data["number"],
        version=data["version"],
        kind=DocumentKind(data["kind"]),
        subject_id=UUID(data["subject_id"]),
        decision_json=base64.b64decode(data["decision_json"]),
        acts_json=base64.b64decode(data["acts_json"]),
        log_proof=base64.b64decode(data["log_proof"]),
        body=data["body"],
        fields=[field_from_json(field) for field in data["fields"]],
        demo=data["demo"],
    )
    return request, data["organisation"], datetime.fromisoformat(data["created_at"])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
