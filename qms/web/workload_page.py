"""Everything the overview of one workload shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse
from django.utils.translation import gettext as _

from qms.approvals.models import UNDECIDED, Approval
from qms.audit import selectors as audit
from qms.audit.events import AuditKind
from qms.core import formats
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.gates.coverage import Uncovered
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.web import (
    suitability_page,
    workload_changes,
    workload_classes,
    workload_criteria_view,
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
# Suitability is judged once the baseline comes from the platform in use; what is open then comes before the request.
_GATE_OF_STEP: Final = {"daten": "G1-", "beantragen": "G2-"}


@dataclass(frozen=True, slots=True)
class NextAction:
    """The one clear button of the overview; without url it is a sentence about somebody else's turn.

    accept: the button takes the owner role by POST instead of leading to a page.
    """

    text: str
    url: str = ""
    button: str = ""
    accept: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a workload stands: its steps and requests, the first thing no criterion covers, its newest runs."""

    steps: list[workload_steps.StepView]
    approvals: list[Approval]
    uncovered: Uncovered | None
    runs: tuple[providers.RunState, ...]
    criteria: workload_criteria_view.CriteriaView
    progress: workload_steps.Progress


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
    standing = Standing(steps, approvals, uncovered[0] if uncovered else None, runs, criteria, progress)
    return {
        "workload": workload,
        "steps": steps,
        "next": _next(workload, actor, rights, standing),
        "criteria": criteria,
        "uncovered": standing.uncovered,
        "runs": runs,
        "facts": facts(workload),
        "model_facts": model_facts(workload),
        "classes": workload_classes.rows(workload),
        "targets": targets(workload),
        "rules": sentences(workload),
        "suitability": suitability_page.summary(workload),
        "suitability_needed": report.gap is None,
        "items": _item_rows(items),
        "has_porting": EvidenceType.PORTING in progress.evidence,
        "approvals": approvals,
        "may_edit": rights.may(Permission.EDIT_WORKLOAD, workload),
        "may_accept": _may_accept(workload, actor, rights),
        "may_name": rights.may(Permission.ASSIGN_OWNER, workload) and not workload.owner_accepted_at,
        "history": history(workload, approvals),
        **_changes(workload, approvals),
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


def _next(workload: Workload, actor: User, rights: guards.Rights, now: Standing) -> NextAction:
    """Return what the person can do next, most urgent first."""
    if _may_accept(workload, actor, rights):
        return NextAction(
            _("Sie sind am Zug: Dieser Workload braucht eine verantwortliche Person."), accept=True
        )
    if _may_confirm(workload, actor, rights):
        text = _("Die Datenklassifizierung wartet auf Ihre Bestätigung.")
        return NextAction(text, reverse("workload_confirm", args=[workload.pk]), _("Prüfen und bestätigen"))
    lasting = _lasting(now)
    if lasting is not None:
        return lasting
    step = workload_steps.current(now.steps)
    if now.uncovered is not None and now.progress.confirmed:
        return NextAction(now.uncovered.next_step)
    if step is not None and rights.may(Permission.EDIT_WORKLOAD, workload):
        return _step_action(step, now)
    return NextAction(_waiting_sentence(workload, now.steps))


def _lasting(now: Standing) -> NextAction | None:
    """Return where to look while a request or a run goes on, None if neither does."""
    pending = next((item for item in now.approvals if item.status in UNDECIDED), None)
    if pending is not None:
        text = _("Der Freigabeantrag %(number)s läuft.") % {"number": pending.number}
        return NextAction(text, reverse("approval", args=[pending.pk]), _("Antrag ansehen"))
    run = next((run for run in now.runs if not run.state), None)
    if run is not None:
        text = _("%(label)s: Der Lauf ist im Gange (%(progress)s).")
        values = {"label": run.label, "progress": run.progress}
        return NextAction(text % values, reverse("run", args=[run.id]), _("Fortschritt ansehen"))
    return None


def _may_confirm(workload: Workload, actor: User, rights: guards.Rights) -> bool:
    return (
        bool(selectors.unconfirmed_classes(workload))
        and workload.classifications.exists()
        and rights.may(Permission.CONFIRM_CLASSIFICATION, workload)
        and not workload_classes.blocked(workload, actor)
    )


def _step_action(step: workload_steps.StepView, now: Standing) -> NextAction:
    """Return the button of a step; what no further answer closes is named with the page that does."""
    values = {"number": step.number, "total": len(now.steps), "label": step.label}
    gate = _GATE_OF_STEP.get(step.key) if now.progress.answered else None
    open_criteria = (*now.criteria.now, *now.criteria.later)
    wrong = next((item for item in open_criteria if gate and item.id.startswith(gate)), None)
    if wrong is not None and wrong.next_url:
        text = _("Schritt %(number)d von %(total)d: %(reason)s")
        return NextAction(text % (values | {"reason": wrong.reason}), wrong.next_url, _("Ansehen und klären"))
    text = _("Schritt %(number)d von %(total)d: %(label)s")
    return NextAction(text % values, step.url, step.action)


def _waiting_sentence(workload: Workload, steps: list[workload_steps.StepView]) -> str:
    waiting = next((step for step in steps if step.state == workload_steps.WAITING), None)
    if waiting is not None:
        return _("%(label)s: %(note)s.") % {"label": waiting.label, "note": waiting.note}
    step = workload_steps.current(steps)
    if step is None:
        return _("Für diesen Workload ist alles erledigt.")
    who = workload.owner.display_name if workload.owner else _("noch niemand")
    return _("Als Nächstes: %(label)s. Am Zug: %(who)s.") % {"label": step.label, "who": who}


def _may_accept(workload: Workload, actor: User, rights: guards.Rights) -> bool:
    if workload.owner_accepted_at or workload.owner_id not in {None, actor.person_id}:
        return False
    return rights.may(Permission.ACCEPT_OWNERSHIP, workload)


def _changes(workload: Workload, approvals: list[Approval]) -> dict[str, Any]:
    decided = [item for item in approvals if item.decided_at is not None]
    if not decided:
        return {"changes": [], "first": True}
    newest = max(decided, key=lambda item: item.decided_at or item.created_at)
    return {
        "changes": workload_changes.since(workload, newest.content_sha256),
        "first": False,
        "compared_with": newest,
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
