"""What the headless main job writes: PDF, audit bundle, trust anchors, summary; and how it checks them."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import Encoding
from django.conf import settings
from jsonschema import Draft202012Validator

from pilots.models import Run
from qms.approvals import dossier, figures, selectors
from qms.approvals.models import Approval, DecisionRecord
from qms.audit import checkpoints, export, keys
from qms.audit.notes import unverified_head
from qms.core import canonical
from qms.core.clock import timestamp
from qms.signing import selectors as signing

SCHEMA_FILE: Final = Path(__file__).parent / "schemas" / "zusammenfassung.json"
FILES: Final = ("freigabe.pdf", "audit.zip", "root.pem", "log.vkey", "zusammenfassung.json")


@dataclass(frozen=True)
class Check:
    """One check of what was written: its name, whether it passed, and what the checker printed."""

    name: str
    ok: bool
    output: str


def write(folder: Path, approval: Approval) -> list[Check]:
    """Write all files of a decided and sealed approval into `folder`, check them, return the checks."""
    folder.mkdir(parents=True, exist_ok=True)
    document = signing.document_of(approval.pk)
    root = signing.root_certificate()
    if document is None or root is None:
        raise ValueError("expected a sealed document, got none")
    (folder / "freigabe.pdf").write_bytes(signing.final_pdf(document))
    (folder / "root.pem").write_bytes(root.public_bytes(Encoding.PEM))
    (folder / "log.vkey").write_text(checkpoints.vkey() + "\n", encoding="utf-8")
    export.build_bundle(folder / "audit.zip", purpose="Vorführung")
    checks = [_verify_document(folder), _verify_bundle(folder)]
    content = summary(approval, document.final_sha256, checks)
    Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))).validate(content)
    (folder / "zusammenfassung.json").write_bytes(canonical.dumps(content) + b"\n")
    return checks


def summary(approval: Approval, document_sha256: str, checks: list[Check]) -> dict[str, Any]:
    """Return the machine-readable result: every figure with its axes (schema in `schemas/`)."""
    record = DecisionRecord.objects.get(approval=approval, sha256=approval.decision_sha256)
    decision = canonical.loads(record.content)
    built = dossier.check_current(approval)
    target = Run.objects.filter(workload=approval.workload, role="ZIEL").first()
    return {
        "schema": "qms.demo-summary/1",
        "demo": settings.DEMO,
        "approval": {
            "number": approval.number,
            "type": approval.type,
            "status": approval.status,
            "in_force": selectors.force(approval).in_force,
            "valid_until": timestamp(approval.valid_until) if approval.valid_until else None,
            "sentence": figures.board_sentence(approval, built, approval.valid_until),
        },
        "digests": {
            "content_sha256": approval.content_sha256,
            "dossier_sha256": approval.dossier_sha256,
            "decision_sha256": approval.decision_sha256,
            "document_sha256": document_sha256,
            "result_digest": target.result_digest if target else "",
        },
        "figures": decision["results"],
        "gates": {
            "rule_set": built.report.rule_set,
            "checked": built.report.checked,
            "total": built.report.total,
            "open": built.report.open_ids(),
        },
        "notices": figures.notices(built),
        "audit": {
            "events": unverified_head(checkpoints.newest()).size,
            "origin": keys.origin(),
            "vkey": checkpoints.vkey(),
        },
        "checks": [{"name": check.name, "ok": check.ok} for check in checks],
    }


def _verify_document(folder: Path) -> Check:
    command = [sys.executable, "-m", "qms.signing.verify", str(folder / "freigabe.pdf")]
    return _run("qms.signing.verify", [*command, "--root", str(folder / "root.pem")])


def _verify_bundle(folder: Path) -> Check:
    """Unpack the bundle and run its own verifier, with the log key from outside."""
    with TemporaryDirectory() as place, zipfile.ZipFile(folder / "audit.zip") as archive:
        archive.extractall(place)
        bag = next(Path(place).iterdir())
        vkey = (folder / "log.vkey").read_text(encoding="utf-8").strip()
        script = str(bag / "data" / "pruefen.py")
        return _run("pruefen.py", [sys.executable, script, str(bag), "--schluessel", vkey])


def _run(name: str, command: list[str]) -> Check:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=settings.BASE_DIR)
    return Check(name, done.returncode == 0, (done.stdout + done.stderr).strip())
