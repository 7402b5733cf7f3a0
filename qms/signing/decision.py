"""`entscheidung.json`: the frozen decision record, built for the approvals and read by the verifier. Django-free.

Its SHA-256 is `decision_sha256`. The schema stands in `schemas/decision.json` (signing.md 9).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from qms.core import canonical
from qms.signing.acts import DigestName, Expectation
from qms.signing.errors import DecisionMalformed
from qms.signing.request import DocumentKind

TYPE: Final = "https://ai-qms.example/entscheidung/v1"
_SCHEMA_FILE: Final = Path(__file__).parent / "schemas" / "decision.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredField:
    """A field that must be signed: by one of `pids`, in this role, with this meaning."""

    field: str
    role: str
    meaning: str
    pids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"field": self.field, "role": self.role, "meaning": self.meaning, "pids": sorted(self.pids)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """What the approvals know when they freeze a decision; lists hold canonical JSON objects.

    decision: FREIGEGEBEN, BEDINGT_FREIGEGEBEN or ABGELEHNT; validity: dates or None; results: values with unit
    and the three evidence axes; target_sha256: decision this one revokes or supersedes.
    """

    number: str
    version: str
    kind: DocumentKind
    decision: str
    organisation: str
    content_sha256: str
    dossier_sha256: str
    workload: dict[str, Any]
    scope: dict[str, Any]
    valid_from: str | None
    valid_until: str | None
    conditions: list[dict[str, Any]]
    votes: list[dict[str, Any]]
    thresholds: list[dict[str, Any]]
    results: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    rule_set: dict[str, Any]
    rp_id: str
    origin: str
    required_fields: list[RequiredField]
    created_at: str
    demo: bool
    reason: str = ""
    target_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision record read back: the parts that verification needs, and everything else in `data`."""

    sha256: str
    number: str
    version: str
    dossier_sha256: str
    rp_id: str
    origin: str
    required_fields: tuple[RequiredField, ...]
    demo: bool
    data: dict[str, Any] = field(repr=False)

    def expectation(self, *, software_allowed: bool) -> Expectation:
        """Return what the records of this decision must be bound to."""
        digests = {DigestName.DOSSIER: self.dossier_sha256, DigestName.DECISION: self.sha256}
        return Expectation(
            rp_id=self.rp_id,
            origin=self.origin,
            digests=digests,
            software_allowed=software_allowed and self.demo,
        )


def build(facts: DecisionFacts) -> bytes:
    """Return the canonical bytes of the record; raises DecisionMalformed naming the path."""
    data: dict[str, Any] = {
        "type": TYPE,
        "kind": facts.kind.value,
        "validity": {"from": facts.valid_from, "until": facts.valid_until},
        "required_fields": [item.to_json() for item in facts.required_fields],
        "reason": facts.reason,
    }
    if facts.target_sha256 is not None:
        data["target_sha256"] = facts.target_sha256
    written_apart = {"kind", "valid_from", "valid_until", "required_fields", "reason", "target_sha256"}
    data |= {name: getattr(facts, name) for name in facts.__slots__ if name not in written_apart}
    _check(data)
    return canonical.dumps(data)


def parse(raw: bytes) -> Decision:
    """Read a record; raises DecisionMalformed for anything but the canonical form of a valid record."""
    try:
        data = canonical.loads(raw)
        if canonical.dumps(data) != raw:
            raise DecisionMalformed("the decision record is not in canonical form")
    except canonical.CanonicalError as error:
        raise DecisionMalformed(f"the decision record is not canonical JSON: {error}") from error
    _check(data)
    required = tuple(
        RequiredField(**{**item, "pids": tuple(item["pids"])}) for item in data["required_fields"]
    )
    names = ("number", "version", "dossier_sha256", "rp_id", "origin", "demo")
    known = {name: data[name] for name in names}
    return Decision(sha256=canonical.sha256_hex(raw), required_fields=required, data=data, **known)


def _check(data: Any) -> None:
    for error in _validator().iter_errors(data):
        raise DecisionMalformed(f"{error.json_path}: {error.message[:200]}")
    names = [item["field"] for item in data["required_fields"]]
    if len(set(names)) != len(names):
        raise DecisionMalformed("$.required_fields: a field is named twice")


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(_SCHEMA_FILE.read_text()))
