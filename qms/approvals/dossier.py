"""The dossier: what exactly is decided upon, in canonical form, with its gate report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from qms.approvals.models import Approval, Dossier
from qms.core import canonical, clock
from qms.core.clock import timestamp
from qms.core.errors import WrongState
from qms.evidence import selectors as evidence
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.gates.choices import ApprovalType
from qms.gates.engine import GateReport
from qms.gates.facts import Facts
from qms.roles.models import Person


@dataclass(frozen=True)
class BuiltDossier:
    """One dossier: canonical content, its digest, the gate report inside it, and the facts it was made from."""

    content: dict[str, Any]
    sha256: str
    report: GateReport
    facts: Facts


def build(approval: Approval, *, at: datetime, reviewer: Person | None = None) -> BuiltDossier:
    """Build the dossier as of `at`; with `reviewer`, as it will be after that person's review act."""
    workload = approval.workload
    items = evidence.counting(workload)
    facts = gates.facts_for(workload, ApprovalType(approval.type), at=at, items=items, reviewer=reviewer)
    report = gates.evaluate_dossier(facts)
    content = {
        "schema": "qms.dossier/1",
        "approval": {
            "id": str(approval.pk),
            "number": approval.number,
            "type": approval.type,
            "requester": approval.requester.pid,
        },
        "workload": {"id": str(workload.pk), "content_sha256": workload.content_sha256},
        "criteria": {"sha256": workload.criteria_sha256},
        "evidence": [_evidence(item, reviewer) for item in items],
        "gates": report.to_json(),
        "evaluated_at": timestamp(at),
    }
    return BuiltDossier(content, canonical.digest(content), report, facts)


def refresh(approval: Approval, *, at: datetime) -> BuiltDossier:
    """Build and store the dossier as the current one, inside the caller's audited command."""
    built = build(approval, at=at)
    gates.note_suitability(approval.workload, built.facts, built.report)
    store(approval, built)
    return built


def store(approval: Approval, built: BuiltDossier) -> None:
    """Store a built dossier as the current one of the approval."""
    Dossier.objects.get_or_create(
        approval=approval,
        sha256=built.sha256,
        defaults={"content": canonical.dumps(built.content).decode(), "created_at": clock.now()},
    )
    approval.dossier_sha256 = built.sha256
    approval.content_sha256 = approval.workload.content_sha256
    approval.save(update_fields=["dossier_sha256", "content_sha256"])


def current(approval: Approval) -> dict[str, Any]:
    """Return the content of the stored dossier of the approval."""
    stored = Dossier.objects.get(approval=approval, sha256=approval.dossier_sha256)
    content: dict[str, Any] = canonical.loads(stored.content)
    return content


def check_current(approval: Approval, *, reviewer: Person | None = None) -> BuiltDossier:
    """Rebuild the dossier and refuse if it is no longer the stored one (409, spec 3.5.5). Raises WrongState."""
    if approval.evaluated_at is None:
        raise ValueError("expected a submitted request, got a draft")
    built = build(approval, at=approval.evaluated_at, reviewer=reviewer)
    if built.sha256 != approval.dossier_sha256:
        raise stale()
    return built


def stale() -> WrongState:
    """Return the refusal for a request whose basis changed meanwhile."""
    return WrongState(
        _("Der Inhalt hat sich geändert; bitte erneut prüfen und bestätigen."),
        id="T-05",
        next_step=_("Die antragstellende Person zieht den Antrag zurück und stellt ihn neu."),
    )


def _evidence(item: EvidenceItem, reviewer: Person | None) -> dict[str, Any]:
    reviewed = item.reviewer or reviewer
    return {
        "id": str(item.pk),
        "type": item.type,
        "facts_sha256": item.facts_sha256,
        "raw_sha256": item.raw_sha256,
        "status": "GEPRUEFT" if reviewed and item.status == "NEU" else item.status,
        "provenance": item.provenance,
        "assurance": item.assurance,
        "origin": item.origin,
        "producer": item.producer.pid,
        "reviewer": reviewed.pid if reviewed else None,
    } | _inherited(item)


def _inherited(item: EvidenceItem) -> dict[str, Any]:
    """Return where an item was taken over from and until when it holds (spec 3.7.5); nothing for an own one."""
    if item.workload_id is not None:
        return {}
    until = item.valid_until.isoformat() if item.valid_until else None
    return {
        "inherited_from": {"kind": item.holder.audit_type, "name": str(item.holder)},
        "valid_until": until,
    }
