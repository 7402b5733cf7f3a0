"""Verify a signed document: `python -m qms.signing.verify FILE --root PEM [--json]`. Django-free, no network.

Exit 0 valid, complete and trusted; 1 not; 2 usage; 3 no trust anchor given. Rules 1 to 9 stand in `verify_rules`,
5, 10 and 11 on the bytes in `verify_bytes`; the cheap ones run first, and the expensive ones only on a file whose
bytes hold. What cannot be checked offline reads "nicht geprüft".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from qms.core import canonical, clock
from qms.signing import ca, decision, verify_bytes, verify_rules
from qms.signing.report import (
    DEMO_MARK,
    EXIT_INVALID,
    EXIT_NO_ANCHOR,
    EXIT_USAGE,
    EXIT_VALID,
    Answer,
    Claim,
    ClaimName,
    Finding,
    Report,
    Severity,
    SignatureLine,
)
from qms.signing.request import ACTS_FILE, DECISION_FILE
from qms.signing.verify_pdf import SignatureFacts, SignedPdf
from qms.signing.verify_rules import Expected, Material

MAX_FILE_BYTES: Final = 64 * 2**20
_MAX_TEXT: Final = 160


def verify(
    data: bytes,
    *,
    root: x509.Certificate | None,
    at: datetime | None = None,
    expected: Expected | None = None,
) -> Report:
    """Verify one file against one trust anchor; never raises for a malformed file.

    at: the moment of the check, by default now; expected: digests from the record of the issuing system.
    """
    moment = at or clock.now()
    known = expected or Expected()
    try:
        pdf = SignedPdf(data)
        findings = list(verify_bytes.check(data, pdf.raw_signatures()))
        if not pdf.embedded:
            findings.append(Finding(2, Severity.INCOMPLETE, "Siegel_Eingang fehlt", ClaimName.COMPLETE))
        if findings:
            return _report(data, findings, None)
        material = _material(pdf, root, moment, known)
        return _report(data, verify_rules.check(material), material)
    except Exception as error:  # noqa: BLE001 - signing.md 8: any exception while reading means invalid
        text = f"die Datei ist nicht lesbar ({type(error).__name__}: {str(error)[:_MAX_TEXT]})"
        return _report(data, [Finding(4, Severity.UNREADABLE, text, ClaimName.INTACT)], None)


def _material(pdf: SignedPdf, root: x509.Certificate | None, at: datetime, expected: Expected) -> Material:
    attachments = pdf.attachments()
    return Material(
        signatures=tuple(asyncio.run(pdf.facts(root))),
        fields=pdf.fields(),
        decision=decision.parse(attachments[DECISION_FILE]),
        records=verify_rules.parse_records(attachments[ACTS_FILE]),
        render_sha256=canonical.sha256_hex(pdf.first_revision()),
        root=root,
        at=at,
        expected=expected,
    )


def _report(data: bytes, findings: list[Finding], material: Material | None) -> Report:
    refuted = {finding.claim for finding in findings}
    complete = material is not None and not refuted & {ClaimName.COMPLETE}
    has_root = material is not None and material.root is not None
    trusted = has_root and not refuted & {ClaimName.IDENTITY, ClaimName.TIME}
    demo = material is not None and material.decision.demo
    exit_code = EXIT_INVALID if findings else EXIT_VALID if has_root else EXIT_NO_ANCHOR
    verdict = _verdict(findings, has_root)
    return Report(
        verdict=f"{verdict} ({DEMO_MARK})" if demo else verdict,
        exit_code=exit_code,
        intact=material is not None and ClaimName.INTACT not in refuted,
        complete=complete,
        trusted=trusted,
        demo=demo,
        claims=tuple(_claims(findings, material)),
        signatures=tuple(_line(item) for item in material.signatures) if material else (),
        findings=tuple(findings),
        document_sha256=canonical.sha256_hex(data),
        decision_sha256=material.decision.sha256 if material else "",
        number=material.decision.number if material else "",
    )


def _verdict(findings: list[Finding], has_root: bool) -> str:
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


def _claims(findings: list[Finding], material: Material | None) -> list[Claim]:
    return [_claim(name, findings, material) for name in ClaimName]


def _claim(name: ClaimName, findings: list[Finding], material: Material | None) -> Claim:
    against = [finding.text for finding in findings if finding.claim is name]
    if against:
        return Claim(name, Answer.NO, against[0])
    if material is None:
        return Claim(name, Answer.UNCHECKED, "die Prüfung endete vorher")
    answer, reason = _kept(name, material)
    return Claim(name, answer, reason)


def _kept(name: ClaimName, material: Material) -> tuple[Answer, str]:
    """Return answer and reason of a claim that no rule refutes."""
    persons = len(material.decision.required_fields)
    no_anchor = (Answer.UNCHECKED, "kein Vertrauensanker angegeben")
    match name:
        case ClaimName.INTACT:
            return Answer.YES, "alle Signaturen halten; danach kamen nur erlaubte Ergänzungen"
        case ClaimName.COMPLETE:
            return Answer.YES, f"beide Siegel, {persons} geforderte Bestätigungen und der Zeitstempel sind da"
        case ClaimName.TIME:
            if material.root is None:
                return no_anchor
            return Answer.YES, f"Zeitstempel vom {_time(material.signatures[-1].signed_at)}, Betreiber bezeugt"
        case ClaimName.IDENTITY:
            if material.root is None:
                return no_anchor
            return Answer.YES, f"alle Zertifikate führen zu {_name(material.root)}"
        case ClaimName.ATTACHMENT:
            if material.expected.decision_sha256 and material.expected.render_sha256:
                return Answer.YES, "Anhang und erste Fassung sind die aufgezeichneten"
            return Answer.UNCHECKED, "dafür braucht es den Eintrag im Freigaberegister"
        case ClaimName.CONFIRMED:
            return _confirmed(material)
        case ClaimName.CERTIFICATE:
            if material.root is None:
                return no_anchor
            return Answer.YES, "nach den eingebetteten Auskünften zur Zeit der Signatur"
    return Answer.UNCHECKED, "der aktuelle Status steht im Freigaberegister"


def _confirmed(material: Material) -> tuple[Answer, str]:
    fields = {required.field for required in material.decision.required_fields}
    own = [record for record in material.records if record.act.field in fields]
    without = [record.act.field for record in own if record.assertion is None]
    if without:
        return Answer.NO, f"{', '.join(without)}: mit Passwort und Einmalcode, ohne Schlüssel der Person"
    if any(record.authenticator.value == "software" for record in own):
        return Answer.YES, "Muster: Software-Authenticator; Einrichtung der Schlüssel nicht geprüft"
    return Answer.YES, "alle Passkey-Bestätigungen halten; Einrichtung der Schlüssel nicht geprüft"


def _line(item: SignatureFacts) -> SignatureLine:
    kind = "Zeitstempel" if item.is_timestamp else "Person" if ca.pid_of(item.certificate) else "Siegel"
    intact = item.intact and item.unchanged and item.covers
    return SignatureLine(item.field, item.signer, kind, _time(item.signed_at), intact, item.trusted and item.timestamped)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%d.%m.%Y, %H:%M:%S UTC")


def _name(certificate: x509.Certificate) -> str:
    found = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(found[0].value) if found else certificate.subject.rfc4514_string()


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; usage errors return 2."""
    parser = argparse.ArgumentParser(prog="python -m qms.signing.verify", description="Prüft ein signiertes Dokument.")
    parser.add_argument("file", type=Path, help="PDF-Datei")
    parser.add_argument("--root", type=Path, help="Wurzelzertifikat (PEM); nie nur aus dem Paket nehmen")
    parser.add_argument("--json", action="store_true", help="Prüfbericht als JSON")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return EXIT_USAGE if stop.code else EXIT_VALID
    logging.disable(logging.CRITICAL)
    try:
        if options.file.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"die Datei ist größer als {MAX_FILE_BYTES} Byte")
        data = options.file.read_bytes()
        root = x509.load_pem_x509_certificate(options.root.read_bytes()) if options.root else None
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_USAGE
    report = verify(data, root=root)
    text = json.dumps(report.to_json(), ensure_ascii=False, indent=2) + "\n" if options.json else report.to_text()
    sys.stdout.write(text)
    return report.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
