# ruff: noqa: S608 - the SQL is made of our own table names, never of input
"""What CHECK and UNIQUE cannot say about approvals, as triggers on both engines (SoD-02, -03, -04, -15, -16).

Here too stand the written-once tables of lower packages on which a decision rests.
"""

from __future__ import annotations

from typing import Final

from qms.approvals.models import UNDECIDED
from qms.audit import guard
from qms.roles.guards import WORKING_CODENAMES
from qms.roles.triggers import Refused, postgresql, sqlite

_APPROVAL: Final = "approvals_approval"
_DECISION: Final = "approvals_approvaldecision"
_VOTE: Final = "approvals_vote"
_CONDITION: Final = "approvals_condition"
_ADDENDUM: Final = "approvals_addendum"
_EVIDENCE: Final = "evidence_evidenceitem"
_GRANT: Final = "workloads_workloadusergrant"
_FIXED: Final = (
    "number",
    "type",
    "workload_id",
    "requester_id",
    "requester_account_id",
    "reviewer_id",
    "reviewer_account_id",
    "content_sha256",
    "dossier_sha256",
    "decision_sha256",
    "rule_set",
    "evaluated_at",
    "decided_at",
    "valid_from",
    "valid_until",
)
_VOTE_FIXED: Final = (
    *("approval_id", "person_id", "account_id", "role", "meaning", "reason", "act_id", "value", "subjects"),
    *("dossier_sha256", "requester_id", "owner_id", "deputy_id", "lead_id"),
)
_EVIDENCE_FIXED: Final = (
    *("workload_id", "type", "run_id", "producer_id", "facts_sha256", "raw_sha256", "raw_name", "size_bytes"),
    *("provenance", "origin", "measured_at", "uploaded_at"),
)
_CONDITION_FIXED: Final = (
    "approval_id",
    "position",
    "criterion",
    "text",
    "measure",
    "owner_id",
    "due",
    "severity",
)
_WORKING: Final = ", ".join(f"'{codename}'" for codename in WORKING_CODENAMES)
_UNDECIDED: Final = ", ".join(f"'{status}'" for status in UNDECIDED)
_SETTLED: Final = "'FREIGEGEBEN', 'BEDINGT_FREIGEGEBEN', 'ABGELEHNT'"
# From where a decision or the end of a suspension leads into a settled state (T-08 to T-10, T-13, T-15).
_BEFORE_SETTLED: Final = "'ENTSCHEIDUNGSREIF', 'BEDINGT_FREIGEGEBEN', 'AUSGESETZT'"
WRITTEN_ONCE: Final = {
    "approvals_decisionrecord": "entscheidung.json steht fest",
    "approvals_dossier": "Ein Dossier steht fest",
    "approvals_approvaldecision": "Eine Entscheidung steht fest",
    "approvals_addendum": "Ein Nachtrag steht fest",
    "signing_actrecord": "Eine Bestätigung steht fest",
    "workloads_contentversion": "Eine Inhaltsfassung steht fest",
}
"""Tables whose rows are neither changed nor deleted, with the sentence of the refusal."""


def _changed(columns: tuple[str, ...]) -> str:
    """Say whether one of the columns changes; becoming or ceasing to be NULL is a change, on both engines."""
    return " OR ".join(
        f"NEW.{name} <> OLD.{name} OR (NEW.{name} IS NULL) <> (OLD.{name} IS NULL)" for name in columns
    )


def _unfit_account(account: str, person: str) -> str:
    return (
        f"EXISTS (SELECT 1 FROM roles_user u WHERE u.id = NEW.{account}"
        f" AND (u.is_service OR u.person_id <> NEW.{person}))"
    )


def _differs(column: str) -> str:
    """Say whether the case names another person than the row copied; `column` as in the case."""
    copy = f"NEW.{column.rpartition('.')[2]}"
    return f"COALESCE({column} <> {copy}, ({column} IS NULL) <> ({copy} IS NULL))"


def _wrong_copies(*columns: str) -> str:
    """The copied persons must be those of the case, or the CHECK constraints would guard the wrong ones."""
    wrong = " OR ".join(_differs(column) for column in columns)
    return (
        f"EXISTS (SELECT 1 FROM {_APPROVAL} a JOIN workloads_workload w ON w.id = a.workload_id"
        f" LEFT JOIN workloads_pilot p ON p.workload_id = w.id WHERE a.id = NEW.approval_id AND ({wrong}))"
    )


def _worked_on_it(person: str = "person_id") -> str:
    """Who recorded the workload, carried out a run or was ever entrusted with it judges it neither.

    SoD-02 as `kompakt` reads it: a personal grant to act stays when another owner, deputy or lead follows.
    """
    run = (
        f"EXISTS (SELECT 1 FROM {_EVIDENCE} e WHERE e.workload_id = w.id AND e.run_id IS NOT NULL"
        f" AND e.producer_id = NEW.{person})"
    )
    entrusted = (
        f"EXISTS (SELECT 1 FROM {_GRANT} g JOIN roles_user u ON u.id = g.user_id"
        " JOIN auth_permission p ON p.id = g.permission_id WHERE g.content_object_id = w.id"
        f" AND u.person_id = NEW.{person} AND p.codename IN ({_WORKING}))"
    )
    return (
        f"EXISTS (SELECT 1 FROM {_APPROVAL} a JOIN workloads_workload w ON w.id = a.workload_id"
        f" WHERE a.id = NEW.approval_id AND (w.created_by_id = NEW.{person} OR {run} OR {entrusted}))"
    )


def _confirmed_by_involved() -> str:
    """Who is involved in the workload confirms no fulfilment (SoD-02)."""
    person = "confirmed_by_id"
    entrusted = (
        f"EXISTS (SELECT 1 FROM {_APPROVAL} a JOIN workloads_workload w ON w.id = a.workload_id"
        " LEFT JOIN workloads_pilot p ON p.workload_id = w.id WHERE a.id = NEW.approval_id"
        f" AND NEW.{person} IN (w.owner_id, w.deputy_id, p.lead_id))"
    )
    return f"NEW.{person} IS NOT NULL AND ({entrusted} OR {_worked_on_it(person)})"


_CONDITIONS_MET: Final = "OLD.status = 'BEDINGT_FREIGEGEBEN' AND NEW.status = 'FREIGEGEBEN'"


def _conditions_open() -> str:
    """T-13 needs every condition met and the signed addendum."""
    return (
        f"{_CONDITIONS_MET} AND (EXISTS (SELECT 1 FROM {_CONDITION} c WHERE c.approval_id = NEW.id"
        f" AND c.status <> 'ERFUELLT') OR NOT EXISTS (SELECT 1 FROM {_ADDENDUM} n WHERE n.approval_id = NEW.id))"
    )


def _undecided() -> str:
    return (
        f"NEW.status IN ({_SETTLED}) AND OLD.status <> NEW.status AND NOT ({_CONDITIONS_MET})"
        " AND (NEW.reviewer_id IS NULL"
        f" OR NOT EXISTS (SELECT 1 FROM {_VOTE} v WHERE v.approval_id = NEW.id AND v.person_id = NEW.reviewer_id"
        " AND v.dossier_sha256 = NEW.dossier_sha256 AND v.reset_at IS NULL)"
        f" OR NOT EXISTS (SELECT 1 FROM {_DECISION} d WHERE d.approval_id = NEW.id"
        " AND d.decision_sha256 = NEW.decision_sha256 AND d.decision = NEW.status"
        " AND d.person_id <> NEW.reviewer_id AND d.person_id <> NEW.requester_id))"
    )


def _forbidden_step() -> str:
    """Spec 3.5.3, forbidden by construction: skipping the review, leaving ABGELEHNT, deciding again."""
    return (
        "OLD.status <> NEW.status AND ("
        f"(NEW.status IN ({_SETTLED}) AND OLD.status NOT IN ({_BEFORE_SETTLED}))"
        f" OR (OLD.status NOT IN ({_UNDECIDED}) AND NEW.status IN ({_UNDECIDED}, 'ABGELEHNT'))"
        " OR OLD.status IN ('ABGELEHNT', 'ZURUECKGEZOGEN'))"
    )


def _written_once() -> list[Refused]:
    return [
        Refused(f"{table}_{action.lower()}_refused", table, action, "1 = 1", message)
        for table, message in WRITTEN_ONCE.items()
        for action in ("UPDATE", "DELETE")
    ]


_COPIES: Final = ("a.requester_id", "w.owner_id", "w.deputy_id", "p.lead_id")
_PERSONS: Final = "Beteiligte Personen stimmen nicht (SoD-02)"
_ACCOUNT: Final = "Konto und Person passen nicht (SoD-15, SoD-16)"
_WORKED: Final = "Wer am Workload gearbeitet hat, urteilt nicht (SoD-02)"
_ACCOUNTS: Final = (
    f"{_unfit_account('requester_account_id', 'requester_id')} OR (NEW.reviewer_account_id IS NULL)"
    f" <> (NEW.reviewer_id IS NULL) OR {_unfit_account('reviewer_account_id', 'reviewer_id')}"
)

REFUSED: Final[tuple[Refused, ...]] = (
    Refused(
        "approvals_starts_undecided",
        _APPROVAL,
        "INSERT",
        f"NEW.status NOT IN ({_UNDECIDED})",
        "Kein Antrag beginnt entschieden (SoD-04)",
    ),
    Refused(
        "approvals_four_eyes", _APPROVAL, "UPDATE", _undecided(), "Entscheidung ohne zweite Person (SoD-04)"
    ),
    Refused(
        "approvals_conditions_met",
        _APPROVAL,
        "UPDATE",
        _conditions_open(),
        "Nicht alle Auflagen sind mit Nachtrag erfüllt (T-13)",
    ),
    Refused("approvals_steps", _APPROVAL, "UPDATE", _forbidden_step(), "Dieser Übergang ist ausgeschlossen"),
    Refused("approvals_accounts_insert", _APPROVAL, "INSERT", _ACCOUNTS, _ACCOUNT),
    Refused("approvals_accounts_update", _APPROVAL, "UPDATE", _ACCOUNTS, _ACCOUNT),
    Refused(
        "approvals_decided_fixed",
        _APPROVAL,
        "UPDATE",
        f"OLD.status NOT IN ({_UNDECIDED}) AND ({_changed(_FIXED)})",
        "Eine entschiedene Freigabe wird nicht geändert",
    ),
    Refused("approvals_kept", _APPROVAL, "DELETE", "1 = 1", "Anträge werden nicht gelöscht"),
    Refused("approvals_vote_account", _VOTE, "INSERT", _unfit_account("account_id", "person_id"), _ACCOUNT),
    Refused(
        "approvals_decision_account", _DECISION, "INSERT", _unfit_account("account_id", "person_id"), _ACCOUNT
    ),
    Refused("approvals_vote_persons", _VOTE, "INSERT", _wrong_copies(*_COPIES), _PERSONS),
    Refused(
        "approvals_decision_persons", _DECISION, "INSERT", _wrong_copies(*_COPIES, "a.reviewer_id"), _PERSONS
    ),
    Refused("approvals_vote_worked", _VOTE, "INSERT", _worked_on_it(), _WORKED),
    Refused("approvals_decision_worked", _DECISION, "INSERT", _worked_on_it(), _WORKED),
    Refused(
        "approvals_vote_fixed",
        _VOTE,
        "UPDATE",
        f"{_changed(_VOTE_FIXED)} OR OLD.reset_at IS NOT NULL",
        "Eine Mitzeichnung wird nicht umgeschrieben",
    ),
    Refused(
        "approvals_condition_fixed",
        _CONDITION,
        "UPDATE",
        f"{_changed(_CONDITION_FIXED)} OR OLD.status = 'ERFUELLT'",
        "Eine Auflage wird nicht umgeschrieben",
    ),
    Refused(
        "approvals_condition_confirmer",
        _CONDITION,
        "UPDATE",
        _confirmed_by_involved(),
        _WORKED,
    ),
    Refused("approvals_condition_kept", _CONDITION, "DELETE", "1 = 1", "Auflagen werden nicht gelöscht"),
    Refused(
        "approvals_addendum_account", _ADDENDUM, "INSERT", _unfit_account("account_id", "person_id"), _ACCOUNT
    ),
    Refused("approvals_addendum_persons", _ADDENDUM, "INSERT", _wrong_copies(*_COPIES), _PERSONS),
    Refused("approvals_addendum_worked", _ADDENDUM, "INSERT", _worked_on_it(), _WORKED),
    Refused("approvals_vote_kept", _VOTE, "DELETE", "1 = 1", "Mitzeichnungen werden nicht gelöscht"),
    Refused(
        "evidence_fixed",
        _EVIDENCE,
        "UPDATE",
        f"{_changed(_EVIDENCE_FIXED)} OR (OLD.reviewer_id IS NOT NULL AND ({_changed(('reviewer_id', 'reviewed_at'))}))",
        "Ein Nachweis wird nicht umgeschrieben (SoD-03)",
    ),
    Refused("evidence_kept", _EVIDENCE, "DELETE", "1 = 1", "Nachweise werden nicht gelöscht"),
    *_written_once(),
)


def register() -> None:
    """Hand all triggers to the guard, which installs and checks them; call once at start."""
    for row in REFUSED:
        guard.register_sql("sqlite", row.name, row.table, sqlite(row))
        guard.register_sql("postgresql", row.name, row.table, postgresql(row))
