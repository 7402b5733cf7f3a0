"""What the pages of screen 2 show: the seven object classes with proposal, value, plans, and who confirms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.approvals import selectors as approvals
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.roles.rules import Account, Case, SodAction, violations
from qms.web.workload_data_forms import ChangeClassForm
from qms.workloads import questions
from qms.workloads import selectors as workloads
from qms.workloads.choices import Flag, Level, ObjectClass, ProtectionNeed
from qms.workloads.models import ObjectClassification, Workload
from qms.workloads.services import classification


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One object class on the page; `form` changes it, None where the person may not."""

    code: str
    label: str
    level: str
    flags: tuple[str, ...]
    proposed_level: str
    proposed_flags: tuple[str, ...]
    why: str
    changed: bool
    change_reason: str
    protection: str
    access: str
    retention: str
    proposed_by: str
    confirmed_by: str
    confirmed_at: datetime | None
    form: ChangeClassForm | None = None


def rows(
    workload: Workload, *, editable: bool = False, failed: ChangeClassForm | None = None
) -> list[ClassRow]:
    """Return the classified object classes in the order of the catalogue."""
    items = {
        item.object_class: item
        for item in workload.classifications.select_related("classified_by", "confirmed_by")
    }
    answers = classification.answers_of(workload)
    proposed = classification.proposal_for(workload, answers).rows if answers and workload.mode else {}
    reasons = {key.value: row.reason_de for key, row in proposed.items()}
    found = [items[code.value] for code in ObjectClass if code.value in items]
    return [_row(item, reasons.get(item.object_class, ""), editable, failed) for item in found]


def result(workload: Workload, actor: User, failed: ChangeClassForm | None) -> dict[str, Any]:
    """Return what the page of the proposal shows to the person who answered."""
    rights = guards.prefetch(actor, [workload])
    editable = rights.may(Permission.PROPOSE_CLASSIFICATION, workload)
    found = rows(workload, editable=editable, failed=failed)
    return {
        "rows": found,
        "uncovered": next(iter(gates.uncovered(workload)), None),
        "chosen": chosen_answers(workload),
        "open_count": sum(1 for row in found if row.confirmed_at is None),
        "editable": editable,
        "may_confirm": rights.may(Permission.CONFIRM_CLASSIFICATION, workload)
        and not blocked(workload, actor),
        "confirmers": confirmers(),
        "failed": failed,
        "location": getattr(workload, "location", None),
    }


def confirmation(workload: Workload, actor: User) -> dict[str, Any]:
    """Return what the confirming person sees: answers, proposal, changes; and why the button may be locked."""
    found = rows(workload)
    count = sum(1 for row in found if row.confirmed_at is None)
    button = ngettext("%(n)d Objektklasse bestätigen", "%(n)d Objektklassen bestätigen", count) % {"n": count}
    return {
        "rows": found,
        "uncovered": next(iter(gates.uncovered(workload)), None),
        "chosen": chosen_answers(workload),
        "open_count": count,
        "button": button,
        "refusal": _why_not(workload, actor),
        "changed_count": sum(1 for row in found if row.changed),
        "location": getattr(workload, "location", None),
    }


def chosen_answers(workload: Workload) -> list[tuple[str, list[str]]]:
    """Return each question with the texts of the chosen answers."""
    answers = classification.answers_of(workload)
    return [(item.text, [answer.text for answer in item.chosen(answers)]) for item in questions.questions()]


def confirmers() -> list[str]:
    """Return the names of the people whose role confirms classifications."""
    ids = approvals.holders(Permission.CONFIRM_CLASSIFICATION)
    return list(Person.objects.filter(pk__in=ids).values_list("display_name", flat=True))


def blocked(workload: Workload, actor: User) -> str:
    """Return the sentence of the segregation rule that keeps the person from confirming, or an empty text."""
    pilot = getattr(workload, "pilot", None)
    proposers = set(workload.classifications.values_list("classified_by_id", flat=True))
    case = Case(
        Account(actor.person_id, actor.pk, actor.is_service),
        owner=workload.owner_id,
        deputy=workload.deputy_id,
        lead=pilot.lead_id if pilot else None,
        workers=workloads.workers(workload) | proposers,
    )
    found = violations(case, SodAction.CONFIRM_CLASSIFICATION)
    return str(found[0].message) if found else ""


def _why_not(workload: Workload, actor: User) -> str:
    sentence = blocked(workload, actor)
    if sentence:
        return sentence
    if not guards.may(actor=actor, permission=Permission.CONFIRM_CLASSIFICATION, workload=workload):
        return _("Sie können die Klassifizierung einsehen, aber nicht bestätigen (P05).")
    return ""


def _row(item: ObjectClassification, why: str, editable: bool, failed: ChangeClassForm | None) -> ClassRow:
    changed = item.level != item.proposed_level or set(item.flags) != set(item.proposed_flags)
    form = None
    if editable:
        is_failed = failed is not None and failed.data.get("object_class") == item.object_class
        form = failed if is_failed else _change_form(item)
    return ClassRow(
        code=item.object_class,
        label=str(ObjectClass(item.object_class).label),
        level=item.level,
        flags=_flags(item.flags),
        proposed_level=item.proposed_level,
        proposed_flags=_flags(item.proposed_flags),
        why=why,
        changed=changed,
        change_reason=item.reason if changed else "",
        protection=_protection(item.protection),
        access=_access(item.access_plan),
        retention=_retention(item.retention_plan),
        proposed_by=item.classified_by.display_name,
        confirmed_by=item.confirmed_by.display_name if item.confirmed_by else "",
        confirmed_at=item.confirmed_at,
        form=form,
    )


def _change_form(item: ObjectClassification) -> ChangeClassForm:
    initial = {"object_class": item.object_class, "level": item.level, "flags": item.flags}
    return ChangeClassForm(initial=initial, auto_id=f"id_{item.object_class}_%s")


def _flags(codes: list[str]) -> tuple[str, ...]:
    return tuple(str(flag.label) for flag in Flag if flag.value in codes)


def _protection(needs: dict[str, str]) -> str:
    names = {"c": _("Vertraulichkeit"), "i": _("Integrität"), "a": _("Verfügbarkeit")}
    parts = [f"{name}: {ProtectionNeed(needs[key]).label}" for key, name in names.items() if key in needs]
    return " · ".join(parts)


def _access(plan: dict[str, Any]) -> str:
    if not plan:
        return ""
    return ", ".join([*plan.get("principals", []), *plan.get("provider_roles", [])])


def _retention(plan: dict[str, Any]) -> str:
    if not plan:
        return ""
    values = {"days": plan["period_days"], "start": plan["start_de"], "action": plan["action_de"]}
    return _("%(days)s Tage ab: %(start)s. Danach: %(action)s") % values


def level_label(code: str) -> str:
    """Return code and word of a level: "K1 intern"."""
    return f"{code} {Level(code).label}"
