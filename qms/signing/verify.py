"""Verify a signed document: `python -m qms.signing.verify FILE --root PEM [--json] [--replay]`. Django-free, no network.

Exit 0 valid, complete and trusted; 1 not; 2 usage; 3 no trust anchor given. Rules 1 to 9 stand in `verify_rules`,
5, 10 and 11 on the bytes in `verify_bytes`; the cheap ones run first, and the expensive ones only on a file whose
bytes hold. What cannot be checked offline reads "nicht geprüft". --replay adds whether the emulated run gives the same
digest again; a different one is no success (1).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from qms.core import canonical, clock
from qms.signing import decision, verify_bytes, verify_claims, verify_replay, verify_rules
from qms.signing.report import (
    DEMO_MARK,
    EXIT_INVALID,
    EXIT_NO_ANCHOR,
    EXIT_USAGE,
    EXIT_VALID,
    ClaimName,
    Finding,
    Report,
    Severity,
)
from qms.signing.request import ACTS_FILE, DECISION_FILE
from qms.signing.verify_pdf import SignedPdf
from qms.signing.verify_replay import Replayed
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
        findings = list(verify_bytes.check(data, pdf.raw_signatures(), pdf.embedded_certificates()))
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
    verdict = verify_claims.verdict(findings, has_root=has_root)
    return Report(
        verdict=f"{verdict} ({DEMO_MARK})" if demo else verdict,
        exit_code=exit_code,
        intact=material is not None and ClaimName.INTACT not in refuted,
        complete=complete,
        trusted=trusted,
        demo=demo,
        claims=tuple(verify_claims.claims(findings, material)),
        signatures=tuple(verify_claims.line(item) for item in material.signatures) if material else (),
        findings=tuple(findings),
        document_sha256=canonical.sha256_hex(data),
        decision_sha256=material.decision.sha256 if material else "",
        number=material.decision.number if material else "",
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; usage errors return 2."""
    parser = argparse.ArgumentParser(
        prog="python -m qms.signing.verify", description="Prüft ein signiertes Dokument."
    )
    parser.add_argument("file", type=Path, help="PDF-Datei")
    parser.add_argument("--root", type=Path, help="Wurzelzertifikat (PEM); nie nur aus dem Paket nehmen")
    parser.add_argument("--json", action="store_true", help="Prüfbericht als JSON")
    parser.add_argument(
        "--replay", action="store_true", help="den emulierten Lauf nachrechnen und die Prüfsummen vergleichen"
    )
    parser.add_argument(
        "--evidence",
        type=Path,
        metavar="ORDNER",
        help="Ordner mit Nachweis EV-16 und Modelldatei, für --replay; Dateien werden an ihrer Prüfsumme erkannt",
    )
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return EXIT_USAGE if stop.code else EXIT_VALID
    logging.disable(logging.CRITICAL)
    try:
        data = _read(options.file)
        root = x509.load_pem_x509_certificate(options.root.read_bytes()) if options.root else None
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_USAGE
    report = verify(data, root=root)
    replayed = verify_replay.replay(data, report, options.evidence) if options.replay else []
    sys.stdout.write(_json(report, replayed) if options.json else _text(report, replayed))
    return verify_replay.exit_code(report, replayed)


def _json(report: Report, replayed: list[Replayed]) -> str:
    content = report.to_json() | ({"replay": [item.to_json() for item in replayed]} if replayed else {})
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _text(report: Report, replayed: list[Replayed]) -> str:
    return "\n".join([report.to_text().rstrip("\n"), *(item.to_text() for item in replayed), ""])


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"die Datei ist größer als {MAX_FILE_BYTES} Byte")
    return path.read_bytes()


if __name__ == "__main__":
    raise SystemExit(main())
