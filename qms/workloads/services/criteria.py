"""Targets, abort criteria, fallback path and pilot frame: one screen, one command (P08); frozen by T-11."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _

from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import canonical
from qms.core.errors import CriterionNotMet
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.workloads import abort_grammar, selectors
from qms.workloads.abort_ast import Rule
from qms.workloads.choices import AbortCategory, PilotStatus
from qms.workloads.models import AbortCriterion, FallbackPath, Pilot, PlatformProfile, QualityTarget, Workload
from qms.workloads.services import content


@dataclass(frozen=True)
class TargetData:
    """One quality target; `threshold` in `unit` of the metric."""

    metric: str
    dataset_version: str
    comparator: str
    threshold: Decimal
    unit: str = ""
    percentile: str = ""
    confidence_method: str = "Modellfehler-Intervall der Emulation, ungünstiges Ende"


@dataclass(frozen=True)
class AbortRuleData:
    """One abort criterion as written; `template` names the row it was proposed from, or is empty."""

    category: AbortCategory
    text: str
    template: str = ""


@dataclass(frozen=True)
class CriteriaData:
    """Everything the screen "Ziele" asks or proposes."""

    targets: tuple[TargetData, ...]
    abort_rules: tuple[AbortRuleData, ...]
    fallback_platform: PlatformProfile
    fallback_steps: str
    rto_min: int
    pilot_platform: PlatformProfile
    pilot_start: date
    pilot_end: date
    budget_cap_eur: Decimal
    scope: str
    success_measure: str
    lead: Person | None = None
    fallback_owner: Person | None = None


@audited
def set_criteria(*, actor: User, workload_id: UUID, data: CriteriaData, expected_sha256: str) -> Workload:
    """Store targets, abort rules, fallback path and pilot frame; refused once frozen (409, P10)."""
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.EDIT_CRITERIA, workload=workload)
    content.check_unchanged(workload, expected_sha256, or_confirmed=True)
    content.check_not_frozen(workload)
    _check_frame(data)
    rules = [_parse(number, rule) for number, rule in enumerate(data.abort_rules, start=1)]
    _replace_targets(workload, data.targets)
    _replace_rules(workload, rules)
    owner = data.fallback_owner or workload.owner or actor.person
    FallbackPath.objects.update_or_create(
        workload=workload,
        defaults={
            "platform": data.fallback_platform,
            "steps": data.fallback_steps,
            "owner": owner,
            "rto_min": data.rto_min,
        },
    )
    _store_pilot(workload, data, data.lead or workload.owner or actor.person)
    content.store(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


def freeze(*, workload: Workload, as_actor: Actor, run_id: UUID, at: datetime) -> str:
    """Freeze the criteria by the start of the first target run, inside its unit; return their digest (G3-7)."""
    sha256 = canonical.digest(selectors.criteria(workload))
    if workload.criteria_frozen_at is None:
        workload.criteria_sha256, workload.criteria_frozen_at = sha256, at
        workload.save(update_fields=["criteria_sha256", "criteria_frozen_at"])
        record(
            AuditKind.CRITERIA_FROZEN,
            actor=as_actor,
            subject=workload,
            facts={"criteria_sha256": sha256, "run_id": str(run_id)},
        )
    return workload.criteria_sha256


def set_pilot_status(workload: Workload, status: PilotStatus) -> None:
    """Move the pilot along with its runs, inside the caller's unit."""
    Pilot.objects.filter(workload=workload).update(status=status.value)


def _parse(number: int, rule: AbortRuleData) -> tuple[AbortRuleData, Rule]:
    try:
        return rule, abort_grammar.parse(rule.text)
    except abort_grammar.AbortSyntaxError as error:
        raise CriterionNotMet(
            _("Abbruchkriterium %(number)d ist nicht lesbar. %(error)s")
            % {"number": number, "error": error.message},
            id="G0-7",
            next_step=_("Bitte die genannte Stelle berichtigen."),
            facts={"rule": number, "line": error.line, "column": error.column},
        ) from error


def _check_frame(data: CriteriaData) -> None:
    if data.fallback_platform == data.pilot_platform:
        raise CriterionNotMet(_("Ausweichpfad und Pilotplattform müssen verschieden sein (G0-8)."), id="G0-8")
    if data.pilot_end <= data.pilot_start:
        raise CriterionNotMet(_("Das Pilotende muss nach dem Beginn liegen (G0-10)."), id="G0-10")
    if data.budget_cap_eur <= 0:
        raise CriterionNotMet(_("Bitte nennen Sie eine Budgetgrenze über 0 Euro (G0-10)."), id="G0-10")


def _replace_targets(workload: Workload, targets: tuple[TargetData, ...]) -> None:
    QualityTarget.objects.filter(workload=workload).delete()
    for number, target in enumerate(targets, start=1):
        QualityTarget.objects.create(workload=workload, target_id=f"QZ-{number}", **target.__dict__)


def _replace_rules(workload: Workload, rules: list[tuple[AbortRuleData, Rule]]) -> None:
    AbortCriterion.objects.filter(workload=workload).delete()
    for position, (data, rule) in enumerate(rules, start=1):
        AbortCriterion.objects.create(
            workload=workload,
            position=position,
            template=data.template,
            category=data.category.value,
            text=rule.text(),
            parsed=rule.to_json(),
        )


def _store_pilot(workload: Workload, data: CriteriaData, lead: Person) -> None:
    Pilot.objects.update_or_create(
        workload=workload,
        defaults={
            "platform": data.pilot_platform,
            "lead": lead,
            "start": data.pilot_start,
            "end": data.pilot_end,
            "budget_cap_eur": data.budget_cap_eur,
            "scope": data.scope,
            "success_measure": data.success_measure,
        },
    )
    content.grant_person(lead, workload)
