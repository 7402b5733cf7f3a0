"""Findings -> verdict and claims in plain German (signing.md 11). Django-free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from cryptography import x509

from qms.signing import ca
from qms.signing.acts import Authenticator
from qms.signing.report import Answer, Claim, ClaimName, Finding, Severity, SignatureLine
from qms.signing.verify_pdf import SignatureFacts
from qms.signing.verify_rules import Material

Kept = tuple[Answer, str]
_NO_ANCHOR: Final[Kept] = (Answer.UNCHECKED, "kein Vertrauensanker angegeben")


def verdict(findings: list[Finding], *, has_root: bool) -> str:
    """Return the one sentence over the report; the gravest kind of finding decides."""
    if not findings:
        return "Gültig und vollständig" if has_root else "Kein Vertrauensanker angegeben"
    first = min(findings, key=lambda finding: finding.severity)
    match first.severity:
        case Severity.CHANGED:
            return first.text
        case Severity.INCOMPLETE:
            return f"Unvollständig: {first.text}"
        case Severity.UNTRUSTED:
            return f"Nicht vertrauenswürdig: {first.text}"
    return f"Ungültig: {first.text}"


def claims(findings: list[Finding], material: Material | None) -> list[Claim]:
    """Return every claim with its answer; without material the check ended before the claim was looked at."""
    return [_claim(name, findings, material) for name in ClaimName]


def line(item: SignatureFacts) -> SignatureLine:
    """Return one signature as the report lists it."""
    kind = "Zeitstempel" if item.is_timestamp else "Person" if ca.pid_of(item.certificate) else "Siegel"
    intact = item.intact and item.unchanged and item.covers
    trusted = item.trusted and item.timestamped
    return SignatureLine(item.field, item.signer, kind, _time(item.signed_at), intact, trusted)


def _claim(name: ClaimName, findings: list[Finding], material: Material | None) -> Claim:
    against = [finding.text for finding in findings if finding.claim is name]
    if against:
        return Claim(name, Answer.NO, against[0])
    if material is None:
        return Claim(name, Answer.UNCHECKED, "die Prüfung endete vorher")
    return Claim(name, *_KEPT[name](material))


def _intact(material: Material) -> Kept:
    return Answer.YES, "alle Signaturen halten; danach kamen nur erlaubte Ergänzungen"


def _complete(material: Material) -> Kept:
    persons = len(material.decision.required_fields)
    return Answer.YES, f"beide Siegel, {persons} geforderte Bestätigungen und der Zeitstempel sind da"


def _stamped(material: Material) -> Kept:
    if material.root is None:
        return _NO_ANCHOR
    return (
        Answer.YES,
        f"interner Zeitstempel vom {_time(material.signatures[-1].signed_at)}, vom Betreiber bezeugt",
    )


def _identity(material: Material) -> Kept:
    if material.root is None:
        return _NO_ANCHOR
    return Answer.YES, f"alle Zertifikate führen zu {_name(material.root)}"


def _attachment(material: Material) -> Kept:
    if material.expected.decision_sha256 and material.expected.render_sha256:
        return Answer.YES, "Anhang und erste Fassung sind die aufgezeichneten"
    return Answer.UNCHECKED, "dafür braucht es den Eintrag im Freigaberegister"


def _confirmed(material: Material) -> Kept:
    fields = {required.field for required in material.decision.required_fields}
    own = [record for record in material.records if record.act.field in fields]
    without = [record.act.field for record in own if record.assertion is None]
    if without:
        return Answer.NO, f"{', '.join(without)}: mit Passwort und Einmalcode, ohne Schlüssel der Person"
    if any(record.authenticator is Authenticator.SOFTWARE for record in own):
        return Answer.YES, "Muster: Software-Authenticator; Einrichtung der Schlüssel nicht geprüft"
    return Answer.YES, "alle Passkey-Bestätigungen halten; Einrichtung der Schlüssel nicht geprüft"


def _certificates(material: Material) -> Kept:
    if material.root is None:
        return _NO_ANCHOR
    return Answer.YES, "nach den eingebetteten Auskünften zur Zeit der Signatur"


def _in_force(material: Material) -> Kept:
    return Answer.UNCHECKED, "der aktuelle Status steht im Freigaberegister"


_KEPT: Final[Mapping[ClaimName, Callable[[Material], Kept]]] = {
    ClaimName.INTACT: _intact,
    ClaimName.COMPLETE: _complete,
    ClaimName.TIME: _stamped,
    ClaimName.IDENTITY: _identity,
    ClaimName.ATTACHMENT: _attachment,
    ClaimName.CONFIRMED: _confirmed,
    ClaimName.CERTIFICATE: _certificates,
    ClaimName.IN_FORCE: _in_force,
}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%d.%m.%Y, %H:%M:%S UTC")


def _name(certificate: x509.Certificate) -> str:
    found = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(found[0].value) if found else certificate.subject.rfc4514_string()
