"""Everything the overview of one workload shows."""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext as _

from qms.approvals.models import Approval
from qms.audit import selectors as audit
from qms.audit.events import AuditKind
from qms.core import formats
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.web import (
    suitability_page,
    workload_changes,
    workload_classes,
    workload_criteria_view,
    workload_next,
    workload_since,
    workload_steps,
)
from qms.web.workload_criteria_forms import stored_rules
from qms.workloads import abort_explain, abort_grammar, providers, selectors
from qms.workloads.choices import AiActRiskClass, Criticality, Level, Mode
from qms.workloads.metrics import catalogue
from qms.workloads.models import Workload
from qms.workloads.services import classification

HISTORY: Final = 10
SHOWN_FIELDS: Final = 3


def overview(workload: Workload, actor: User) -> dict[str, Any]:
    """Return the context of the overview page."""
    items = workload_criteria_view.current_items(workload)
    approvals = list(workload.approvals.select_related("requester"))
    report = workload_criteria_view.report_for(workload, items)
    rights = guards.prefetch(actor, [workload])
    progress = workload_steps.Progress(
        passes={item.row.id: not item.blocks for item in report.criteria},
        answered=bool(classification.answers_of(workload)),
        confirmed=not selectors.unconfirmed_classes(workload),
        evidence=frozenset(item.type for item in items),
        requested=bool(approvals),
    )
    steps = workload_steps.views(workload.pk, progress)
    criteria = workload_criteria_view.grouped(report, workload.pk)
    runs = providers.latest_runs(workload)
    uncovered = gates.uncovered(workload)
    suitability = suitability_page.summary(workload)
    decided = _last_decided(approvals)
    standing = workload_next.Standing(
        steps,
        approvals,
        uncovered[0] if uncovered else None,
        runs,
        criteria,
        progress,
        suitability=bool(suitability),
        newer=workload_since.newer(decided, items, report) if decided else None,
    )
    return {
        "workload": workload,
        "steps": steps,
        "next": workload_next.next_action(workload, actor, rights, standing),
        "criteria": criteria,
        "uncovered": standing.uncovered,
        "runs": runs,
        "facts": facts(workload),
        "model_facts": model_facts(workload),
        "classes": workload_classes.rows(workload),
        "targets": targets(workload),
        "rules": sentences(workload),
        "suitability": suitability,
        "suitability_needed": report.gap is None,
        "items": _item_rows(items),
        "has_porting": EvidenceType.PORTING in progress.evidence,
        "approvals": approvals,
        "may_edit": rights.may(Permission.EDIT_WORKLOAD, workload),
        "may_accept": workload_next.may_accept(workload, actor, rights),
        "may_name": rights.may(Permission.ASSIGN_OWNER, workload) and not workload.owner_accepted_at,
        "history": history(workload, approvals),
        "newer": standing.newer,
        **_changes(workload, decided),
    }


def facts(workload: Workload) -> list[dict[str, str]]:
    """Return what screen 1 recorded, in words."""
    empty = _("noch offen")
    mode = str(Mode(workload.mode).label) if workload.mode else empty
    criticality = str(Criticality(workload.criticality).label) if workload.criticality else empty
    risk = str(AiActRiskClass(workload.ai_act_risk_class).label) if workload.ai_act_risk_class else empty
    return [
        {"label": _("Zweck"), "value": workload.purpose or empty},
        {"label": _("Geschäftsprozess"), "value": workload.business_process or empty},
        {"label": _("Kritikalität"), "value": criticality},
        {"label": _("Betriebsart"), "value": mode},
        {"label": _("Modell"), "value": workload.model_name or empty},
        {"label": _("KI-Verordnung"), "value": risk},
    ]


def model_facts(workload: Workload) -> list[dict[str, str]]:
    """Return what was read from the model: counts that every model has, where present; of a file also what it is."""
    read = workload.model_facts
    found: list[dict[str, str]] = []
    if workload.model_file_sha256:
        level = Level(workload.model_file_level)
        found = [
            {"label": _("Aufzeichnung"), "value": workload.model_file_name},
            {"label": _("Prüfsumme der Aufzeichnung"), "digest": workload.model_file_sha256},
            {"label": _("Stufe der Aufzeichnung"), "value": f"{level.value} {level.label}"},
            {
                "label": _("Framework"),
                "value": f"{read.get('framework', '')} {read.get('version', '')}".strip(),
            },
        ]
    if "params" in read:
        found.append({"label": _("Parameter"), "value": formats.number(int(read["params"]), 0)})
    if "weight_bytes" in read:
        found.append(
            {"label": _("Größe der Gewichte"), "value": formats.byte_size(int(read["weight_bytes"]))}
        )
    if "dtype" in read:
        found.append({"label": _("Zahlentyp"), "value": str(read["dtype"])})
    return found


def history(workload: Workload, approvals: list[Approval]) -> list[dict[str, Any]]:
    """Return the newest events of the workload and its requests as sentences with who acted."""
    objects = [("Workload", str(workload.pk)), *(("Approval", str(item.pk)) for item in approvals)]
    entries = audit.histories(objects, limit=HISTORY)
    names = dict(
        Person.objects.filter(pid__in={entry.pid for entry in entries}).values_list("pid", "display_name")
    )
    return [
        {
            "at": entry.ts,
            "sentence": entry.sentence,
            "detail": " · ".join(
                part for part in (names.get(entry.pid, _("System")), _changed_fields(entry)) if part
            ),
        }
        for entry in entries
    ]


def _changed_fields(entry: audit.Entry) -> str:
    """Return what a change of content touched: the first three parts and the number of the others."""
    if entry.kind is not AuditKind.WORKLOAD_CHANGED:
        return ""
    names = workload_changes.sections(entry.data.get("fields", []))
    if len(names) <= SHOWN_FIELDS:
        return ", ".join(names)
    values = {"names": ", ".join(names[:SHOWN_FIELDS]), "more": len(names) - SHOWN_FIELDS}
    return _("%(names)s und %(more)d weitere") % values


def _last_decided(approvals: list[Approval]) -> Approval | None:
    decided = [item for item in approvals if item.decided_at is not None]
    return max(decided, key=lambda item: item.decided_at or item.created_at, default=None)


def _changes(workload: Workload, decided: Approval | None) -> dict[str, Any]:
    if decided is None:
        return {"changes": [], "first": True}
    return {
        "changes": workload_changes.since(workload, decided.content_sha256),
        "first": False,
        "compared_with": decided,
    }


def _item_rows(items: list[EvidenceItem]) -> list[dict[str, Any]]:
    names = ("pk", "title", "type", "run_id", "measured_at", "status", "valid_until", "holder")
    return [
        {name: getattr(item, name) for name in names}
        | {"axes": {"provenance": item.provenance, "assurance": item.assurance, "origin": item.origin}}
        for item in items
    ]


def targets(workload: Workload) -> list[dict[str, str]]:
    """Return quality targets, fallback path and pilot frame in words."""
    found: list[dict[str, str]] = []
    for target in workload.quality_targets.all():
        words = workload_changes.comparator_words(target.comparator, target.threshold, target.unit)
        name = catalogue()[target.metric].name if target.metric in catalogue() else target.metric
        name = f"{name} {target.percentile}".strip()
        value = _("%(metric)s %(limit)s, gemessen an: %(data)s")
        texts = {"metric": name, "limit": words, "data": target.dataset_version}
        found.append({"label": _("Qualitätsziel %(id)s") % {"id": target.target_id}, "value": value % texts})
    fallback = getattr(workload, "fallback", None)
    if fallback is not None:
        value = _("%(platform)s, in %(minutes)s Minuten") % {
            "platform": fallback.platform.name,
            "minutes": formats.number(fallback.rto_min, 0),
        }
        found.append({"label": _("Ausweichpfad"), "value": value})
    pilot = getattr(workload, "pilot", None)
    if pilot is not None:
        value = _("%(platform)s, %(start)s bis %(end)s, höchstens %(budget)s") % {
            "platform": pilot.platform.name,
            "start": formats.day(pilot.start),
            "end": formats.day(pilot.end),
            "budget": formats.money(pilot.budget_cap_eur, decimals=0),
        }
        found.append({"label": _("Pilot"), "value": value})
    return found


def sentences(workload: Workload) -> list[str]:
    """Return the abort criteria read back as sentences."""
    return [abort_explain.explain(abort_grammar.parse(rule["text"])) for rule in stored_rules(workload)]
