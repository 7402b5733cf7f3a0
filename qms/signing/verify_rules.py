"""The completeness rules that no general tool has (signing.md 8), one function per rule, in one table. Django-free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509

from qms.core import canonical
from qms.signing import acts, ca
from qms.signing.decision import Decision
from qms.signing.errors import ActInvalid
from qms.signing.report import ClaimName, Finding, Severity
from qms.signing.request import CLOSING_FIELD, OPENING_FIELD
from qms.signing.verify_pdf import SignatureFacts


@dataclass(frozen=True, slots=True)
class Expected:
    """What the record of the issuing system knows; empty texts are not checked ("nicht geprüft")."""

    decision_sha256: str = ""
    render_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """Everything the rules look at, read from one file."""

    signatures: tuple[SignatureFacts, ...]
    fields: Mapping[str, bool]
    decision: Decision
    records: tuple[acts.Record, ...]
    render_sha256: str
    root: x509.Certificate | None
    at: datetime
    expected: Expected

    def signature(self, field: str) -> SignatureFacts | None:
        """Return the signature in a field, or None."""
        return next((item for item in self.signatures if item.field == field), None)

    @property
    def software_allowed(self) -> bool:
        """Samples only: a software authenticator needs the demo root, or no anchor to compare with."""
        return self.decision.demo and (self.root is None or ca.is_demo(self.root))


def check(material: Material) -> list[Finding]:
    """Apply all rules and return what they find, in the order of their numbers."""
    return [finding for _, rule in RULES for finding in rule(material)]


def _rule_1(material: Material) -> Iterator[Finding]:
    """1: every listed field is signed, by a certificate of a person entitled there."""
    for required in material.decision.required_fields:
        signature = material.signature(required.field)
        if signature is None:
            yield _incomplete(1, f"{required.field} fehlt")
        elif ca.pid_of(signature.certificate) not in required.pids:
            text = f"{required.field} ist von einer nicht berechtigten Person signiert ({signature.signer})"
            yield _invalid(1, text, ClaimName.COMPLETE)


def _rule_2(material: Material) -> Iterator[Finding]:
    """2: the opening seal is there, comes first, certifies, and is the organisation's."""
    seal = material.signature(OPENING_FIELD)
    if seal is None:
        yield _incomplete(2, f"{OPENING_FIELD} fehlt")
    elif not seal.certifies or material.signatures[0] is not seal:
        yield _invalid(
            2, f"{OPENING_FIELD} schreibt den Inhalt nicht als erste Signatur fest", ClaimName.INTACT
        )
    elif not _is_seal(seal):
        yield _invalid(2, f"{OPENING_FIELD} trägt kein Siegel der Organisation", ClaimName.IDENTITY)


def _rule_3(material: Material) -> Iterator[Finding]:
    """3: the closing seal is there, locks, is the organisation's, and only timestamps follow - at least one."""
    seal = material.signature(CLOSING_FIELD)
    if seal is None:
        yield _incomplete(3, f"{CLOSING_FIELD} fehlt")
        return
    if not seal.locks:
        yield _invalid(3, f"{CLOSING_FIELD} schließt das Dokument nicht ab", ClaimName.INTACT)
    if not _is_seal(seal):
        yield _invalid(3, f"{CLOSING_FIELD} trägt kein Siegel der Organisation", ClaimName.IDENTITY)
    later = material.signatures[material.signatures.index(seal) + 1 :]
    if any(not item.is_timestamp for item in later):
        yield _changed(3, CLOSING_FIELD, "nach dem Abschluss wurde noch signiert")
    if not any(item.is_timestamp for item in later):
        yield _incomplete(3, "der Zeitstempel des Dokuments fehlt")


def _rule_4(material: Material) -> Iterator[Finding]:
    """4: every signature holds, nothing forbidden came after it, and it leads to the anchor."""
    changed = [item for item in material.signatures if not item.unchanged]
    if changed:
        yield _changed(4, changed[-1].field, "danach wurde etwas hinzugefügt oder ersetzt")
    for item in material.signatures:
        if not item.intact:
            yield _invalid(4, f"{item.field}: die Signatur ist gebrochen", ClaimName.INTACT)
        if material.root is not None and not item.trusted:
            text = f"{item.field}: Aussteller nicht vertrauenswürdig oder Zertifikat nicht gültig ({item.signer})"
            yield _untrusted(4, text, ClaimName.IDENTITY)
        elif material.root is not None and not item.timestamped:
            yield _untrusted(
                4, f"{item.field}: der Zeitstempel der Signatur fehlt oder gilt nicht", ClaimName.TIME
            )
    if material.root is not None and ca.is_demo(material.root) is not material.decision.demo:
        yield _invalid(4, "Muster und Wurzelzertifikat passen nicht zusammen", ClaimName.IDENTITY)
    last = material.signatures[-1]
    if last.is_timestamp and last.certificate.not_valid_after_utc < material.at:
        yield _untrusted(
            4, "der letzte Zeitstempel ist abgelaufen; er hätte erneuert werden müssen", ClaimName.TIME
        )


def _rule_5(material: Material) -> Iterator[Finding]:
    """5: every signature covers its whole revision (that the last one reaches the end is checked on the bytes)."""
    for item in material.signatures:
        if not item.covers:
            yield _changed(5, item.field, "die Signatur deckt ihren Stand nicht ganz ab")


def _rule_6(material: Material) -> Iterator[Finding]:
    """6: there is no signature field beyond the listed ones and timestamps."""
    listed = {required.field for required in material.decision.required_fields} | {
        OPENING_FIELD,
        CLOSING_FIELD,
    }
    stamps = {item.field for item in material.signatures if item.is_timestamp}
    for name in sorted(set(material.fields) - listed - stamps):
        yield _invalid(6, f"fremdes Signaturfeld {name}", ClaimName.COMPLETE)


def _rule_7(material: Material) -> Iterator[Finding]:
    """7: the attached decision is the recorded one."""
    known = material.expected.decision_sha256
    if known and known != material.decision.sha256:
        yield _invalid(7, "die angehängte Entscheidung ist nicht die aufgezeichnete", ClaimName.ATTACHMENT)


def _rule_8(material: Material) -> Iterator[Finding]:
    """8: revision 0 is the stored rendering."""
    known = material.expected.render_sha256
    if known and known != material.render_sha256:
        yield _invalid(8, "die erste Fassung ist nicht die gespeicherte", ClaimName.ATTACHMENT)


def _rule_9(material: Material) -> Iterator[Finding]:
    """9: every person's field rests on a record that holds, and the certificate names that record and person."""
    expectation = material.decision.expectation(software_allowed=material.software_allowed)
    for record in material.records:
        try:
            acts.verify_record(record, expectation)
        except ActInvalid as error:
            name = record.act.field or record.act.act
            yield _invalid(9, f"{name}: die Bestätigung ist nicht gültig ({error})", ClaimName.CONFIRMED)
    for required in material.decision.required_fields:
        signature = material.signature(required.field)
        if signature is None:
            continue
        found = [
            record for record in material.records if record.sha256 == ca.record_of(signature.certificate)
        ]
        if len(found) != 1 or not _belongs(found[0], required.field, signature, material):
            text = f"{required.field}: das Zertifikat beruht auf keiner Bestätigung dieser Person für dieses Feld"
            yield _invalid(9, text, ClaimName.CONFIRMED)


def _belongs(record: acts.Record, field: str, signature: SignatureFacts, material: Material) -> bool:
    act, decision = record.act, material.decision
    (required,) = [item for item in decision.required_fields if item.field == field]
    return (
        (act.field, act.acting_role, act.meaning) == (field, required.role, required.meaning)
        and (act.document, act.version) == (decision.number, decision.version)
        and act.pid == ca.pid_of(signature.certificate)
    )


RULES: Final[tuple[tuple[int, Callable[[Material], Iterator[Finding]]], ...]] = (
    (1, _rule_1), (2, _rule_2), (3, _rule_3), (4, _rule_4), (5, _rule_5),
    (6, _rule_6), (7, _rule_7), (8, _rule_8), (9, _rule_9),
)  # fmt: skip


def parse_records(raw: bytes) -> tuple[acts.Record, ...]:
    """Read `bestaetigungen.json`; raises ActInvalid for anything but a canonical list of records."""
    try:
        data = canonical.loads(raw)
        if canonical.dumps(data) != raw:
            raise ActInvalid("the records are not in canonical form")
    except canonical.CanonicalError as error:
        raise ActInvalid(f"the records are not canonical JSON: {error}") from error
    if not isinstance(data, list):
        raise ActInvalid("expected a list of records")
    return tuple(acts.Record.from_json(item) for item in data)


def _is_seal(signature: SignatureFacts) -> bool:
    return not ca.pid_of(signature.certificate) and not ca.record_of(signature.certificate)


def _incomplete(rule: int, text: str) -> Finding:
    return Finding(rule, Severity.INCOMPLETE, text, ClaimName.COMPLETE)


def _invalid(rule: int, text: str, claim: ClaimName) -> Finding:
    return Finding(rule, Severity.INVALID, text, claim)


def _untrusted(rule: int, text: str, claim: ClaimName) -> Finding:
    return Finding(rule, Severity.UNTRUSTED, text, claim)


def _changed(rule: int, field: str, text: str) -> Finding:
    return Finding(rule, Severity.CHANGED, f"Verändert nach {field}: {text}", ClaimName.INTACT)
