# ruff: noqa: S608 - the SQL is made of our own table names, never of input
"""What CHECK and UNIQUE cannot say about approvals, as triggers on both engines (SoD-02, -04, -15, -16)."""

from __future__ import annotations

from typing import Final

from qms.audit import guard
from qms.roles.triggers import Refused, postgresql, sqlite

_APPROVAL: Final = "approvals_approval"
_DECISION: Final = "approvals_approvaldecision"
_VOTE: Final = "approvals_vote"
_FIXED: Final = (
    "number",
    "type",
    "workload_id",
    "requester_id",
    "content_sha256",
    "dossier_sha256",
    "decision_sha256",
)
_SETTLED: Final = "('FREIGEGEBEN', 'BEDINGT_FREIGEGEBEN', 'ABGELEHNT')"


def _changed(columns: tuple[str, ...]) -> str:
    return " OR ".join(f"NEW.{column} <> OLD.{column}" for column in columns)


def _foreign_account() -> str:
    return (
        "EXISTS (SELECT 1 FROM roles_user u WHERE u.id = NEW.account_id"
        " AND (u.is_service OR u.person_id <> NEW.person_id))"
    )


def _wrong_copies() -> str:
    """The copied persons must be those of the case, or the CHECK constraints would guard the wrong ones."""
    return (
        f"EXISTS (SELECT 1 FROM {_APPROVAL} a JOIN workloads_workload w ON w.id = a.workload_id"
        " LEFT JOIN workloads_pilot p ON p.workload_id = w.id WHERE a.id = NEW.approval_id AND ("
        "a.requester_id <> NEW.requester_id OR COALESCE(w.owner_id <> NEW.owner_id, w.owner_id IS NOT NULL)"
        " OR COALESCE(w.deputy_id <> NEW.deputy_id, w.deputy_id IS NOT NULL)"
        " OR COALESCE(p.lead_id <> NEW.lead_id, p.lead_id IS NOT NULL)))"
    )


def _undecided() -> str:
    return (
        f"NEW.status IN {_SETTLED} AND OLD.status <> NEW.status AND (NEW.reviewer_id IS NULL OR NOT EXISTS ("
        f"SELECT 1 FROM {_DECISION} d WHERE d.approval_id = NEW.id AND d.decision_sha256 = NEW.decision_sha256"
        " AND d.decision = NEW.status AND d.person_id <> NEW.reviewer_id AND d.person_id <> NEW.requester_id))"
    )


REFUSED: Final[tuple[Refused, ...]] = (
    Refused(
        "approvals_four_eyes", _APPROVAL, "UPDATE", _undecided(), "Entscheidung ohne zweite Person (SoD-04)"
    ),
    Refused(
        "approvals_decided_fixed",
        _APPROVAL,
        "UPDATE",
        f"OLD.status IN {_SETTLED} AND ({_changed(_FIXED)} OR COALESCE(NEW.valid_until <> OLD.valid_until, FALSE))",
        "Eine entschiedene Freigabe wird nicht geändert",
    ),
    Refused("approvals_kept", _APPROVAL, "DELETE", "1 = 1", "Anträge werden nicht gelöscht"),
    Refused(
        "approvals_vote_account",
        _VOTE,
        "INSERT",
        _foreign_account(),
        "Konto und Person passen nicht (SoD-15, SoD-16)",
    ),
    Refused(
        "approvals_decision_account",
        _DECISION,
        "INSERT",
        _foreign_account(),
        "Konto und Person passen nicht (SoD-15, SoD-16)",
    ),
    Refused(
        "approvals_vote_persons",
        _VOTE,
        "INSERT",
        _wrong_copies(),
        "Beteiligte Personen stimmen nicht (SoD-02)",
    ),
    Refused(
        "approvals_decision_persons",
        _DECISION,
        "INSERT",
        _wrong_copies(),
        "Beteiligte Personen stimmen nicht (SoD-02)",
    ),
    Refused(
        "approvals_vote_fixed",
        _VOTE,
        "UPDATE",
        _changed(("approval_id", "person_id", "account_id", "value", "dossier_sha256", "act_id")),
        "Eine Mitzeichnung wird nicht umgeschrieben",
    ),
    Refused("approvals_vote_kept", _VOTE, "DELETE", "1 = 1", "Mitzeichnungen werden nicht gelöscht"),
    Refused(
        "approvals_decision_fixed", _DECISION, "UPDATE", "1 = 1", "Eine Entscheidung wird nicht umgeschrieben"
    ),
    Refused("approvals_decision_kept", _DECISION, "DELETE", "1 = 1", "Entscheidungen werden nicht gelöscht"),
    Refused(
        "approvals_record_fixed",
        "approvals_decisionrecord",
        "UPDATE",
        "1 = 1",
        "entscheidung.json steht fest",
    ),
    Refused(
        "approvals_record_kept", "approvals_decisionrecord", "DELETE", "1 = 1", "entscheidung.json bleibt"
    ),
    Refused("approvals_dossier_fixed", "approvals_dossier", "UPDATE", "1 = 1", "Ein Dossier steht fest"),
    Refused(
        "approvals_dossier_kept", "approvals_dossier", "DELETE", "1 = 1", "Dossiers werden nicht gelöscht"
    ),
)


def register() -> None:
    """Hand all triggers to the guard, which installs and checks them; call once at start."""
    for row in REFUSED:
        guard.register_sql("sqlite", row.name, row.table, sqlite(row))
        guard.register_sql("postgresql", row.name, row.table, postgresql(row))
