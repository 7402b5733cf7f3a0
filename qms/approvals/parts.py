"""What approvals bring to an audit bundle: dossiers, decision records, criteria matrix, and the status today."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.db.models import Q

from qms.approvals import selectors
from qms.approvals.models import Approval, DecisionRecord, Dossier
from qms.audit.export import Part, Snapshot, register_part
from qms.core import canonical
from qms.core.clock import timestamp

# What a spreadsheet reads as a formula: = + - @ TAB CR and the full-width forms (audit.md 10).
FORMULA_START = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def register_own_parts() -> None:
    """Register the parts of this package."""
    for writer in (dossiers, decisions, status, matrix):
        register_part(writer)


def dossiers(snapshot: Snapshot) -> Iterator[Part]:
    """Write every stored dossier in canonical form; its SHA-256 is the name of the file."""
    for row in Dossier.objects.order_by("created_at", "id").iterator(500):
        yield f"dossiers/{row.approval_id}/{row.sha256}.json", [row.content.encode()]


def decisions(snapshot: Snapshot) -> Iterator[Part]:
    """Write every decision record that was signed, addenda included; its SHA-256 is `decision_sha256`."""
    acted = Q(decisions__isnull=False) | Q(addendum__isnull=False)
    signed = DecisionRecord.objects.filter(acted).distinct().order_by("created_at", "id")
    for row in signed:
        yield f"dossiers/{row.approval_id}/entscheidung-{row.sha256}.json", [row.content.encode()]


def status(snapshot: Snapshot) -> Iterator[Part]:
    """Write the computed state of every approval at the time of the export."""
    found = Approval.objects.select_related("workload").prefetch_related("conditions").order_by("number")
    rows = [_status(row, snapshot) for row in found]
    content = {"schema": "qms.status/1", "at": timestamp(snapshot.at), "approvals": rows}
    yield "status.json", [canonical.dumps(content)]


def matrix(snapshot: Snapshot) -> Iterator[Part]:
    """Write criterion by result for every current dossier; a view, the dossiers are the evidence."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=";", quoting=csv.QUOTE_ALL)
    writer.writerow(["number", "dossier_sha256", "criterion", "result", "value", "threshold", "reason"])
    for row in Approval.objects.exclude(dossier_sha256="").order_by("number"):
        stored = Dossier.objects.get(approval=row, sha256=row.dossier_sha256)
        for item in canonical.loads(stored.content)["gates"]["criteria"]:
            cells = [row.number, row.dossier_sha256, item["id"], item["result"]]
            writer.writerow(
                [_cell(text) for text in (*cells, item["value"], item["threshold"], item["reason"])]
            )
    yield "matrix.csv", ["\ufeff".encode(), stream.getvalue().encode()]


def _status(approval: Approval, snapshot: Snapshot) -> dict[str, Any]:
    force = selectors.force(approval, at=snapshot.at)
    return {
        "number": approval.number,
        "type": approval.type,
        "status": approval.status,
        "decision_sha256": approval.decision_sha256,
        "valid_until": timestamp(approval.valid_until) if approval.valid_until else None,
        "in_force": force.in_force,
        "outdated": force.outdated,
        "expired": force.expired,
        "halted": bool(force.halted),
        "conditions": [
            {"position": item.position, "criterion": item.criterion, "status": item.status}
            for item in approval.conditions.all()
        ],
        "seal_pending": force.seal_pending,
    }


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_START) else text
