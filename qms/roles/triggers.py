# ruff: noqa: S608 - the SQL is made of our own table names and role codes, never of input
"""What CHECK and UNIQUE cannot say about roles, as triggers on both engines, from the same tables as the rules.

SoD-05, -07 and -08 concern several rows, SoD-07 also the request behind an assignment, SoD-15 the person of an
account, SoD-16 group memberships and grants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from qms.audit import guard
from qms.roles.roles import Role
from qms.roles.rules import ROLE_CONFLICTS

_ASSIGNMENT: Final = "roles_roleassignment"
_REQUEST: Final = "roles_rolerequest"
_FACTS_CHANGED: Final = " OR ".join(
    f"NEW.{column} <> OLD.{column}" for column in ("person_id", "role", "granted_at")
)


@dataclass(frozen=True, slots=True)
class Refused:
    """One refused write: name of the trigger, table, INSERT, UPDATE or DELETE, SQL condition, sentence."""

    name: str
    table: str
    action: str
    condition: str
    message: str


def _list(roles: frozenset[Role]) -> str:
    return ", ".join(f"'{role.value}'" for role in sorted(roles))


def _conflicting() -> str:
    pairs = [
        f"(NEW.role = '{row.role.value}' AND o.role IN ({_list(row.excludes)}))"
        f" OR (o.role = '{row.role.value}' AND NEW.role IN ({_list(row.excludes)}))"
        for row in ROLE_CONFLICTS
    ]
    return (
        f"NEW.active AND EXISTS (SELECT 1 FROM {_ASSIGNMENT} o WHERE o.person_id = NEW.person_id AND o.active"
        f" AND o.id <> NEW.id AND ({' OR '.join(pairs)}))"
    )


def _unconfirmed(column: str, action: str) -> str:
    return (
        f"NEW.{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {_REQUEST} r WHERE r.id = NEW.{column}"
        f" AND r.subject_id = NEW.person_id AND r.role = NEW.role AND r.action = '{action}'"
        " AND r.confirmed_by_id IS NOT NULL)"
    )


def _service_account(column: str) -> str:
    return f"EXISTS (SELECT 1 FROM roles_user u WHERE u.id = NEW.{column} AND u.is_service)"


def _group_without_role() -> str:
    return (
        "EXISTS (SELECT 1 FROM roles_user u JOIN auth_group g ON g.id = NEW.group_id WHERE u.id = NEW.user_id"
        f" AND NOT EXISTS (SELECT 1 FROM {_ASSIGNMENT} a WHERE a.person_id = u.person_id AND a.role = g.name"
        " AND a.active))"
    )


REFUSED: Final[tuple[Refused, ...]] = (
    Refused(
        "roles_conflict_insert", _ASSIGNMENT, "INSERT", _conflicting(), "Rollen schließen sich aus (SoD)"
    ),
    Refused(
        "roles_conflict_update", _ASSIGNMENT, "UPDATE", _conflicting(), "Rollen schließen sich aus (SoD)"
    ),
    Refused(
        "roles_four_eyes_grant",
        _ASSIGNMENT,
        "INSERT",
        _unconfirmed("granted_request_id", "ERTEILEN"),
        "Rolle ohne bestätigten Antrag (SoD-07)",
    ),
    Refused(
        "roles_four_eyes_revoke",
        _ASSIGNMENT,
        "UPDATE",
        _unconfirmed("revoked_request_id", "ENTZIEHEN"),
        "Entzug ohne bestätigten Antrag (SoD-07)",
    ),
    Refused(
        "roles_first_only",
        _ASSIGNMENT,
        "INSERT",
        f"NEW.granted_request_id IS NULL AND EXISTS (SELECT 1 FROM {_ASSIGNMENT} o"
        f" WHERE o.active AND o.role = '{Role.ADMINISTRATOR.value}')",
        "Nur die erste Rolle kommt ohne Antrag aus (SoD-07)",
    ),
    Refused(
        "roles_assignment_fixed",
        _ASSIGNMENT,
        "UPDATE",
        f"NOT OLD.active OR {_FACTS_CHANGED}",
        "Eine Rolle wird entzogen, nicht umgeschrieben",
    ),
    Refused(
        "roles_assignment_kept", _ASSIGNMENT, "DELETE", "1 = 1", "Rollen werden entzogen, nicht gelöscht"
    ),
    Refused(
        "roles_request_fixed",
        _REQUEST,
        "UPDATE",
        "OLD.decided_at IS NOT NULL OR NEW.subject_id <> OLD.subject_id OR NEW.role <> OLD.role"
        " OR NEW.action <> OLD.action OR NEW.requested_by_id <> OLD.requested_by_id",
        "Ein Rollenantrag wird nicht umgeschrieben (SoD-07)",
    ),
    Refused("roles_request_kept", _REQUEST, "DELETE", "1 = 1", "Rollenanträge werden nicht gelöscht"),
    Refused(
        "roles_service_no_group",
        "roles_user_groups",
        "INSERT",
        _service_account("user_id"),
        "Ein Dienstkonto hält keine Rolle (SoD-16)",
    ),
    Refused(
        "roles_group_needs_role",
        "roles_user_groups",
        "INSERT",
        _group_without_role(),
        "Gruppe ohne erteilte Rolle (SoD-07)",
    ),
    Refused(
        "roles_service_no_grant",
        "workloads_workloadusergrant",
        "INSERT",
        _service_account("user_id"),
        "Ein Dienstkonto erhält keine Rechte an einem Workload (SoD-16)",
    ),
    Refused(
        "roles_grant_fixed",
        "workloads_workloadusergrant",
        "UPDATE",
        "1 = 1",
        "Rechte werden entzogen, nicht umgeschrieben",
    ),
    Refused(
        "roles_service_fixed",
        "roles_user",
        "UPDATE",
        "NEW.is_service <> OLD.is_service",
        "Ein Dienstkonto bleibt eines (SoD-16)",
    ),
    Refused(
        "roles_account_fixed",
        "roles_user",
        "UPDATE",
        "NEW.person_id <> OLD.person_id",
        "Ein Konto bleibt bei seiner Person (SoD-15)",
    ),
)


def sqlite(row: Refused) -> str:
    """Return the statement that makes the trigger on SQLite."""
    return (
        f"CREATE TRIGGER {row.name} BEFORE {row.action} ON {row.table} FOR EACH ROW WHEN {row.condition}"
        f" BEGIN SELECT RAISE(ABORT, '{row.message}'); END"
    )


def postgresql(row: Refused) -> str:
    """Return the statements that make the trigger with its function on PostgreSQL."""
    returned = "OLD" if row.action == "DELETE" else "NEW"
    return (
        f"CREATE OR REPLACE FUNCTION {row.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF {row.condition} THEN RAISE EXCEPTION '{row.message}'"
        f" USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN {returned}; END $$;"
        f" CREATE TRIGGER {row.name} BEFORE {row.action} ON {row.table} FOR EACH ROW EXECUTE FUNCTION {row.name}()"
    )


def register() -> None:
    """Hand all triggers to the guard, which installs and checks them; call once at start."""
    for row in REFUSED:
        guard.register_sql("sqlite", row.name, row.table, sqlite(row))
        guard.register_sql("postgresql", row.name, row.table, postgresql(row))
