"""What the person can do next with a workload: one button, or a sentence about somebody else's turn. No rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.translation import gettext as _

from qms.approvals.models import UNDECIDED, Approval
from qms.gates.choices import CriterionResult
from qms.gates.coverage import Uncovered
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.web import workload_classes, workload_criteria_view, workload_since, workload_steps
from qms.workloads import providers, selectors
from qms.workloads.models import Workload

# Pages that record what the comparison still asks for; what only a better measurement changes is no step.
_RECORDING: Final = frozenset({"workload_suitability", "pilot_costs", "platforms", "organisation"})


@dataclass(frozen=True, slots=True)
class NextAction:
    """The one clear button of the overview; without url it is a sentence about somebody else's turn.

    accept: the button takes the owner role by POST instead of leading to a page. request_url: the request, which is
    possible although the comparison still asks for something.
    """

    text: str
    url: str = ""
    button: str = ""
    accept: bool = False
    request_url: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a workload stands: its steps and requests, the first thing no criterion covers, its newest runs."""

    steps: list[workload_steps.StepView]
    approvals: list[Approval]
    uncovered: Uncovered | None
    runs: tuple[providers.RunState, ...]
    criteria: workload_criteria_view.CriteriaView
    progress: workload_steps.Progress
    suitability: bool
    newer: workload_since.NewerEvidence | None


def next_action(workload: Workload, actor: User, rights: guards.Rights, now: Standing) -> NextAction:
    """Return what the person can do next, most urgent first."""
    if may_accept(workload, actor, rights):
        return NextAction(
            _("Sie sind am Zug: Dieser Workload braucht eine verantwortliche Person."), accept=True
        )
    if _may_confirm(workload, actor, rights):
        text = _("Die Datenklassifizierung wartet auf Ihre Bestätigung.")
        return NextAction(text, reverse("workload_confirm", args=[workload.pk]), _("Prüfen und bestätigen"))
    lasting = _lasting(now)
    if lasting is not None:
        return lasting
    return _of_step(workload, rights, now)


def _of_step(workload: Workload, rights: guards.Rights, now: Standing) -> NextAction:
    """Return the current step, what is newer than the last decision, or whose turn it is."""
    step = workload_steps.current(now.steps)
    if now.uncovered is not None and now.progress.confirmed:
        return NextAction(now.uncovered.next_step)
    if step is not None and rights.may(Permission.EDIT_WORKLOAD, workload):
        return _step_action(step, now)
    if now.newer is not None:
        url = reverse("pilot_comparison", args=[workload.pk])
        return NextAction(now.newer.sentence, url, _("Vergleich ansehen"))
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
    wrong = _first_open(step, now)
    if wrong is not None and wrong.next_url:
        text = _("Schritt %(number)d von %(total)d: %(reason)s")
        return NextAction(
            text % (values | {"reason": wrong.reason}),
            wrong.next_url,
            _("Ansehen und klären"),
            request_url=step.url if step.key == "beantragen" else "",
        )
    text = _("Schritt %(number)d von %(total)d: %(label)s")
    return NextAction(text % values, step.url, step.action)


def _first_open(step: workload_steps.StepView, now: Standing) -> workload_criteria_view.CriterionView | None:
    """Return the open criterion that comes before a step: of the data, or what the comparison asks to record.

    Suitability is judged once the baseline comes from the platform in use, and the target run freezes its metrics.
    """
    if step.key == "daten" and now.progress.answered:
        found = (*now.criteria.now, *now.criteria.later)
        return next((item for item in found if item.id.startswith("G1-")), None)
    asked = [item for item in now.criteria.compared if item.status == CriterionResult.OPEN.value]
    if step.key == "emulation" and not now.suitability:
        return next((item for item in asked if item.id.startswith("G2-")), None)
    if step.key == "beantragen":
        pages = workload_criteria_view.page_of
        return next((item for item in asked if pages(item.id) in _RECORDING), None)
    return None


def _waiting_sentence(workload: Workload, steps: list[workload_steps.StepView]) -> str:
    waiting = next((step for step in steps if step.state == workload_steps.WAITING), None)
    if waiting is not None:
        return _("%(label)s: %(note)s.") % {"label": waiting.label, "note": waiting.note}
    step = workload_steps.current(steps)
    if step is None:
        return _("Für diesen Workload ist alles erledigt.")
    who = workload.owner.display_name if workload.owner else _("noch niemand")
    return _("Als Nächstes: %(label)s. Am Zug: %(who)s.") % {"label": step.label, "who": who}


def may_accept(workload: Workload, actor: User, rights: guards.Rights) -> bool:
    """Return whether the person may take the owner role of the workload."""
    if workload.owner_accepted_at or workload.owner_id not in {None, actor.person_id}:
        return False
    return rights.may(Permission.ACCEPT_OWNERSHIP, workload)
