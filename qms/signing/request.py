"""What the approvals hand over to be turned into a signed document. Django-free."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

OPENING_FIELD: Final = "Siegel_Eingang"
CLOSING_FIELD: Final = "Siegel_Abschluss"
MAX_FIELDS: Final = 99
DECISION_FILE: Final = "entscheidung.json"
ACTS_FILE: Final = "bestaetigungen.json"
PROOF_FILE: Final = "protokoll-nachweis.txt"


class DocumentKind(StrEnum):
    """Which decision the document states (spec 5.1, variants)."""

    APPROVAL = "FREIGABE"
    CONDITIONAL_APPROVAL = "BEDINGTE_FREIGABE"
    REJECTION = "ABLEHNUNG"
    ADDENDUM = "NACHTRAG"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRequest:
    """One person's field: its name in the PDF, the role code and its label, the meaning, and the act it rests on."""

    field: str
    role: str
    meaning: str
    act_record_id: UUID
    role_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRequest:
    """Everything a document is made of, frozen at the decision.

    decision_json and acts_json: canonical bytes, attached as they are; log_proof: proof text of the decision;
    body: the document model (`schemas/document.json`); fields: in signing order; demo: marks every page.
    """

    number: str
    version: str
    kind: DocumentKind
    subject_id: UUID
    decision_json: bytes
    acts_json: bytes
    log_proof: bytes
    body: dict[str, Any]
    fields: list[FieldRequest]
    demo: bool


def person_field(position: int) -> str:
    """Return the name of the n-th person's field, from 1; of fixed width, so that no name begins another."""
    if not 1 <= position <= MAX_FIELDS:
        raise ValueError(f"expected a position from 1 to {MAX_FIELDS}, got {position}")
    return f"Freigabe_{position:02d}"


def field_to_json(field: FieldRequest) -> dict[str, str]:
    """Return the stored form of a field request."""
    return {key: str(value) for key, value in asdict(field).items()}


def field_from_json(data: dict[str, str]) -> FieldRequest:
    """Read the stored form of a field request."""
    return FieldRequest(**{**data, "act_record_id": UUID(data["act_record_id"])})  # type: ignore[arg-type]
