"""Rule sets: data files, schema-checked and cross-checked when loaded (architecture, decision 12). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from qms.core import canonical
from qms.core.coded import localized
from qms.gates.choices import ApprovalType, ScopeGap
from qms.gates.errors import RuleSetError
from qms.gates.policy import Policy
from qms.gates.rule_rows import (
    Covers,
    Criterion,
    NotChecked,
    Subject,
    covers_from,
    criterion_from,
    not_checked_from,
    subject_from,
)
from qms.gates.verdict_rows import VerdictRow, verdict_from
from qms.roles.matrix import Matrix
from qms.roles.permissions import Permission
from qms.roles.roles import Role

_FOLDER: Final = Path(__file__).parent / "rulesets"
NEWEST: Final[dict[str, str]] = {"kompakt": "0.2.0", "standard": "0.2.0"}


@dataclass(frozen=True)
class RuleSet:
    """One version of a rule set; digest is the SHA-256 of the files it was read from, in canonical form."""

    id: str
    version: str
    name_de: str
    digest: str
    roles: tuple[Role, ...]
    role_map: Mapping[Role, Role]
    min_persons: int
    permissions: Matrix
    votes: Mapping[str, Mapping[str, str | int]]
    subjects: tuple[Subject, ...]
    review_role: Role
    signers: tuple[Role, ...]
    covers: Covers
    policy: Policy
    gates: Mapping[str, Mapping[str, Any]]
    criteria: tuple[Criterion, ...]
    not_checked: tuple[NotChecked, ...]
    gaps: Mapping[ScopeGap, Mapping[str, str]]
    verdicts: tuple[VerdictRow, ...]
    row: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Return the stored name with version, such as "kompakt 0.2.0"."""
        return f"{self.id} {self.version}"

    def role_name(self, role: Role) -> str:
        """Return the name this rule set gives to `role`, in the active language."""
        return localized(self._role_row(role), "name")

    def role_name_de(self, role: Role) -> str:
        """Return the German name this rule set gives to `role`; for stored texts."""
        return str(self._role_row(role)["name_de"])

    def mapped(self, role: Role) -> Role:
        """Return the role that carries the mandate of the standard role `role` here."""
        return self.role_map.get(role, role)

    def gate_title(self, gate: str) -> str:
        """Return the title of a gate in the active language."""
        return localized(self.gates[gate], "title")

    def criterion(self, criterion_id: str) -> Criterion:
        """Return the row with this id; raises KeyError."""
        return next(item for item in self.criteria if item.id == criterion_id)

    def criteria_for(self, approval_type: ApprovalType, gap: ScopeGap | None = None) -> tuple[Criterion, ...]:
        """Return the rows that apply to the approval type, in order; with `gap`, without those it leaves out."""
        return tuple(item for item in self._applying(approval_type) if gap is None or item.scope is None)

    def not_checked_for(
        self, approval_type: ApprovalType, gap: ScopeGap | None = None
    ) -> tuple[NotChecked, ...]:
        """Return what is not checked for the approval type, in order; `gap`: why no comparison is judged."""
        found = [item for item in self.not_checked if approval_type in item.applies_to]
        if gap is not None:
            rows = (item for item in self._applying(approval_type) if item.scope is not None)
            found += [item.outside(self.gaps[gap]) for item in rows]
        return tuple(sorted(found, key=lambda item: (item.gate, int(item.id.split("-")[1]))))

    def counts(self, approval_type: ApprovalType, gap: ScopeGap | None = None) -> tuple[int, int]:
        """Return n and m of "geprüft: n von m Kriterien" (EM-13)."""
        checked = len(self.criteria_for(approval_type, gap))
        return checked, checked + len(self.not_checked_for(approval_type, gap))

    def asked_subjects(self, gap: ScopeGap | None) -> tuple[Subject, ...]:
        """Return the subjects that have criteria to judge; the others read "nicht geprüft" (3.19, rule 3)."""
        present = {item.gate for item in self.criteria if gap is None or item.scope is None}
        return tuple(subject for subject in self.subjects if present & set(subject.gates))

    def _applying(self, approval_type: ApprovalType) -> tuple[Criterion, ...]:
        return tuple(item for item in self.criteria if approval_type in item.kinds)

    def _role_row(self, role: Role) -> Mapping[str, Any]:
        return next(row for row in self.row["role_names"] if row["role"] == role.value)


@cache
def load(rule_set_id: str, version: str = "") -> RuleSet:
    """Return a rule set (newest version by default); raises RuleSetError naming file and place."""
    chosen = version or NEWEST.get(rule_set_id, "")
    document = _read(f"{rule_set_id}-{chosen}.json", "rule_set")
    shared = _read(document["criteria"], "criteria")
    rule_set = _build(document, shared)
    _check(rule_set)
    return rule_set


def load_all() -> tuple[RuleSet, ...]:
    """Load the newest version of every rule set; called at start, raises RuleSetError."""
    return tuple(load(name) for name in NEWEST)


def _read(name: str, definition: str) -> dict[str, Any]:
    path = _FOLDER / name
    try:
        document: dict[str, Any] = canonical.loads(path.read_bytes())
        schema = canonical.loads((_FOLDER / "schema.json").read_bytes())
    except (OSError, canonical.CanonicalError) as error:
        raise RuleSetError(f"{name}: {error}") from error
    validator = Draft202012Validator({**schema, "$ref": f"#/$defs/{definition}"})
    for problem in sorted(validator.iter_errors(document), key=lambda item: item.json_path):
        raise RuleSetError(f"{name}: {problem.json_path}: {problem.message}")
    return document


def _build(document: Mapping[str, Any], shared: Mapping[str, Any]) -> RuleSet:
    try:
        return RuleSet(
            id=document["id"],
            version=document["version"],
            name_de=document["name_de"],
            digest=canonical.digest([document, shared]),
            roles=tuple(Role(code) for code in document["roles"]),
            role_map={Role(key): Role(value) for key, value in document["role_map"].items()},
            min_persons=document["min_persons"],
            permissions=_matrix(document["permissions"]),
            votes=document["votes"],
            subjects=tuple(subject_from(row) for row in document["subjects"]),
            review_role=Role(document["review_role"]),
            signers=tuple(Role(code) for code in document["signers"]),
            covers=covers_from(document["covers"]),
            policy=Policy(shared["policy"]),
            gates={row["id"]: row for row in shared["gates"]},
            criteria=tuple(criterion_from(row) for row in shared["criteria"]),
            not_checked=tuple(not_checked_from(row) for row in shared["not_checked"]),
            gaps={ScopeGap(key): row for key, row in shared["scope_gaps"].items()},
            verdicts=tuple(verdict_from(row) for row in shared["verdicts"]),
            row=document,
        )
    except (KeyError, ValueError) as error:
        raise RuleSetError(f"{document['id']} {document['version']}: {error}") from error


def _check(rule_set: RuleSet) -> None:
    ids = [item.id for item in rule_set.criteria] + [item.id for item in rule_set.not_checked]
    doubled = sorted({item for item in ids if ids.count(item) > 1})
    problems = [f"{item} stands twice" for item in doubled]
    for row in rule_set.criteria:
        problems += [
            f"{row.id} names unknown {pol}" for pol in row.policy if pol not in rule_set.policy.values
        ]
        if row.gate not in rule_set.gates or not row.id.startswith(f"{row.gate}-"):
            problems.append(f"{row.id} stands in the wrong gate {row.gate}")
    problems += [f"{row.id} has no reason" for row in rule_set.not_checked if not row.reason_de.strip()]
    problems += [f"permission {item} is missing" for item in Permission if item not in rule_set.permissions]
    named = {row["role"] for row in rule_set.row["role_names"]}
    problems += [f"role {role} has no name" for role in rule_set.roles if role.value not in named]
    problems += [
        f"{role} maps to a foreign role" for role in rule_set.role_map.values() if role not in rule_set.roles
    ]
    problems += [f"scope gap {gap} has no reason" for gap in ScopeGap if gap not in rule_set.gaps]
    known = {item.id for item in rule_set.criteria}
    problems += [
        f"{row.id} names unknown {name}" for row in rule_set.verdicts for name in row.named() - known
    ]
    problems += [
        f"{row.id} has an unknown field in its sentence" for row in rule_set.verdicts if row.foreign()
    ]
    problems += [] if rule_set.verdicts[-1].otherwise else ["the last verdict decides nothing"]
    if problems:
        raise RuleSetError(f"{rule_set.label}: {'; '.join(problems)}")


def _matrix(rows: Mapping[str, Mapping[str, list[str]]]) -> Matrix:
    return {
        Permission(key): {Role(role): frozenset(letters) for role, letters in row.items()}
        for key, row in rows.items()
    }
