"""The test report of a signed document: one verdict, one line per claim, in plain German. Django-free."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final

EXIT_VALID: Final = 0
EXIT_INVALID: Final = 1
EXIT_USAGE: Final = 2
EXIT_NO_ANCHOR: Final = 3
DEMO_MARK: Final = "Muster – keine Freigabe"


class Answer(StrEnum):
    """What the check of one claim found."""

    YES = "ja"
    NO = "nein"
    UNCHECKED = "nicht geprüft"


class Severity(IntEnum):
    """Order in which findings decide the verdict: the first kind present names it."""

    UNREADABLE = 0
    INVALID = 1
    CHANGED = 2
    INCOMPLETE = 3
    UNTRUSTED = 4


class ClaimName(StrEnum):
    """The claims of signing.md 11."""

    INTACT = "Unversehrt"
    COMPLETE = "Vollständig"
    TIME = "Zeit"
    IDENTITY = "Identität (vertrauenswürdig)"
    ATTACHMENT = "Anhang entspricht dem Text"
    CONFIRMED = "Bestätigung mit dem Schlüssel der Person"
    CERTIFICATE = "Zertifikat nicht widerrufen"
    IN_FORCE = "Freigabe nicht widerrufen"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violated rule: its number in signing.md 8, how grave, the sentence, and the claim it refutes."""

    rule: int
    severity: Severity
    text: str
    claim: ClaimName


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim with its answer and one sentence of reason."""

    name: ClaimName
    answer: Answer
    reason: str


@dataclass(frozen=True, slots=True)
class SignatureLine:
    """One signature as the report shows it."""

    field: str
    signer: str
    kind: str
    signed_at: str
    intact: bool
    trusted: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The whole result. `verdict` is the sentence, `exit_code` what the command returns; `demo`: a sample."""

    verdict: str
    exit_code: int
    intact: bool
    complete: bool
    trusted: bool
    demo: bool
    claims: tuple[Claim, ...]
    signatures: tuple[SignatureLine, ...]
    findings: tuple[Finding, ...]
    document_sha256: str
    decision_sha256: str
    number: str

    @property
    def valid(self) -> bool:
        """Whether the document is valid, complete and trusted."""
        return self.exit_code == EXIT_VALID

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "intact": self.intact,
            "complete": self.complete,
            "trusted": self.trusted,
            "demo": self.demo,
            "number": self.number,
            "document_sha256": self.document_sha256,
            "decision_sha256": self.decision_sha256,
            "claims": [
                {"claim": c.name.value, "answer": c.answer.value, "reason": c.reason} for c in self.claims
            ],
            "signatures": [
                {name: getattr(line, name) for name in SignatureLine.__slots__} for line in self.signatures
            ],
            "findings": [
                {"rule": f.rule, "severity": f.severity.name, "text": f.text} for f in self.findings
            ],
        }

    def to_text(self) -> str:
        """Return the report for a terminal."""
        lines = [self.verdict, ""]
        lines += [f"{claim.name.value}: {claim.answer.value} – {claim.reason}" for claim in self.claims]
        if self.signatures:
            lines += ["", "Signaturen:"]
        for line in self.signatures:
            state = "unversehrt" if line.intact else "verändert"
            trust = "vertrauenswürdig" if line.trusted else "nicht vertrauenswürdig"
            lines.append(f"  {line.field}: {line.signer} · {line.kind} · {line.signed_at} · {state}, {trust}")
        if self.findings:
            lines += ["", "Befunde:"]
        lines += [f"  Regel {finding.rule}: {finding.text}" for finding in self.findings]
        lines += ["", f"SHA-256 der Datei: {self.document_sha256}"]
        return "\n".join(lines) + "\n"
