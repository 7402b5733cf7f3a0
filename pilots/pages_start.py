"""Why a run cannot start yet, and how the newest ones stand; for screens 4 and 5 and the page of the workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import pages, selectors
from pilots.choices import RunRole
from pilots.models import Run
from pilots.services import runs
from qms.core.errors import Refusal
from qms.evidence.choices import EvidenceType
from qms.web.workload_criteria_view import page_of
from qms.workloads.choices import AiActRiskClass
from qms.workloads.models import Workload
from qms.workloads.providers import RunState

CHECKS: Final[dict[RunRole, Callable[[Workload], None]]] = {
    RunRole.BASELINE: runs.check_run_start,
    RunRole.TARGET: runs.check_target_start,
}
EVIDENCE: Final = {
    RunRole.BASELINE: EvidenceType.BASELINE_REPORT,
    RunRole.TARGET: EvidenceType.TARGET_REPORT,
}
LINKS: Final[dict[str, Promise]] = {
    "workload_data": lazy("Zur Datenklassifizierung"),
    "workload_edit": lazy("Zu den Angaben"),
    "workload_criteria": lazy("Zu den Zielen"),
    "pilot_baseline": lazy("Zur Vergleichsbasis"),
}


@dataclass(frozen=True, slots=True)
class Blocker:
    """The reason as a sentence, and the page that closes it; both empty texts where no page does."""

    text: str
    url: str = ""
    action: str = ""


def blocker_of(workload: Workload, role: RunRole) -> Blocker | None:
    """Return why no run of a role may start, None if one may; asks what the start itself asks."""
    try:
        CHECKS[role](workload)
    except Refusal as refusal:
        return _blocker(workload, refusal)
    return None


def measures_here_refused(workload: Workload) -> str:
    """Return why nothing is measured on this machine any more, and what helps; empty where it may be (EM-12)."""
    try:
        runs.check_measures_here(workload)
    except Refusal as refusal:
        return f"{refusal.message} {refusal.next_step}".strip()
    return ""


def platform_notice(workload: Workload) -> str:
    """Return what a target run on another platform than the pilot's leaves open; empty without a pilot."""
    pilot = getattr(workload, "pilot", None)
    if pilot is None:
        return ""
    text = _(
        "Bewertung, Angebot, Umfeld und Kosten gelten der Plattform des Pilots: %(platform)s. Nach einem Ziellauf auf einer "
        "anderen bleiben sie offen (G6-1, G6-6, G6-7, G6-9), bis beide übereinstimmen."
    )
    return text % {"platform": pilot.platform.name}


def running(latest: Run | None) -> Blocker | None:
    """Return where to look while the newest run of a role lasts: a second one is refused."""
    if latest is None or latest.exit_state:
        return None
    return Blocker(_("Ein Lauf ist im Gange."), reverse("run", args=[latest.pk]), _("Fortschritt ansehen"))


def latest_runs(workload: Workload) -> tuple[RunState, ...]:
    """Return the newest run of each role, with its state in the active language."""
    found = ((role, selectors.latest(workload, role.value)) for role in CHECKS)
    return tuple(_state(role, run) for role, run in found if run is not None)


def _state(role: RunRole, run: Run) -> RunState:
    shown = pages.progress_of(run)
    return RunState(
        id=run.pk,
        evidence=EVIDENCE[role].value,
        label=str(role.label),
        platform=str(run.platform),
        started_at=run.started_at,
        state=run.exit_state,
        reason=run.failure,
        progress="" if run.exit_state else f"{shown['percent']} · {shown['text']}",
    )


def _blocker(workload: Workload, refusal: Refusal) -> Blocker:
    uncovered = refusal.facts.get("uncovered", [])
    text = f"{refusal.message} {refusal.next_step}" if uncovered else refusal.message
    page = _page(str(refusal.facts.get("criterion", refusal.id)), uncovered)
    if page not in LINKS:
        return Blocker(text)
    return Blocker(text, reverse(page, args=[workload.pk]), str(LINKS[page]))


def _page(criterion: str, uncovered: list[str]) -> str:
    """Return the name of the page where a criterion is closed, or what is not covered can be looked at."""
    if uncovered:
        return "workload_edit" if uncovered[0] in set(AiActRiskClass) else "workload_data"
    return "pilot_baseline" if criterion == "EV-02" else page_of(criterion)
