"""Gate criteria as a page lists them: what matters now first, each open one explaining itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as lazy

from qms.core import clock
from qms.evidence import selectors as evidence
from qms.evidence.models import EvidenceItem
from qms.gates import sentences
from qms.gates import services as gates
from qms.gates.choices import ApprovalType, CriterionKind, CriterionResult, Due
from qms.gates.engine import CriterionReport, GateReport
from qms.gates.outcome import Cause
from qms.roles.roles import Role
from qms.workloads.models import Workload

# Where a criterion of a gate is closed.
_PAGES: Final = {
    "G0": "workload_edit",
    "G1": "workload_data",
    "G2": "workload_suitability",
    "G3": "pilot_baseline",
    "G4": "pilot_target",
}
_PAGE_OF: Final = dict.fromkeys(("G0-6", "G0-7", "G0-8", "G0-10"), "workload_criteria") | {
    **dict.fromkeys(("G6-2", "G6-3", "G6-4", "G6-5", "G7-5"), "pilot_costs"),
    **dict.fromkeys(("G6-1", "G6-6", "G6-7", "G6-9"), "platforms"),
    "G2-4": "organisation",
    "G4-6": "pilot_porting",
    "G6-8": "pilot_comparison",
}
_RECORDED_ONCE: Final = frozenset({"platforms", "organisation"})
"""Pages of what is recorded once for all workloads (3.7.5); their address names none."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """Who does what on which page where the row of the rule set does not fit the cause."""

    who: str | Promise
    how: str | Promise
    page: str


REMEDIES: Final[dict[Cause, Remedy]] = {
    Cause.MODEL_FILE_LEVEL: Remedy(
        Role.WORKLOAD_OWNER.label,
        lazy("Auf der Seite „Modell“ die Stufe der Modellgewichte angeben."),
        "pilot_model",
    ),
    Cause.ANOTHER_WORKLOAD: Remedy(
        Role.PILOT_LEAD.label,
        lazy("Mit dem Messbefehl neu messen, oder die Abweichungen auflisten."),
        "pilot_deviations",
    ),
}


@dataclass(frozen=True, slots=True)
class CriterionView:
    """One criterion in the form the component takes; texts come from the rule set."""

    id: str
    title: str
    status: str
    who: str
    reason: str
    asked: str = ""
    why: str = ""
    value: str = ""
    threshold: str = ""
    missing: str = ""
    closes: str = ""
    next_step: str = ""
    next_url: str = ""


@dataclass(frozen=True, slots=True)
class CriteriaView:
    """All criteria of a report, grouped by what they mean to the reader now; `green` says which gates are done.

    compared: what the comparison leaves open, apart from `later`; verdict: its sentence, empty where nothing is compared.
    """

    green: list[str]
    now: list[CriterionView]
    blocks_request: bool
    compared: list[CriterionView]
    later: list[CriterionView]
    met: list[CriterionView]
    not_applicable: list[CriterionView]
    not_checked: list[CriterionView]
    checked: int
    total: int
    rule_set: str
    verdict: str = ""


def report_for(workload: Workload, items: list[EvidenceItem]) -> GateReport:
    """Return the gate report of the workload as it stands, for a Vorfreigabe."""
    return gates.evaluate_dossier(
        gates.facts_for(workload, ApprovalType.PRELIMINARY, at=clock.now(), items=items)
    )


def current_items(workload: Workload) -> list[EvidenceItem]:
    """Return the evidence that counts, with the people of each item."""
    return evidence.counting(workload)


def grouped(report: GateReport, workload_id: UUID) -> CriteriaView:
    """Return the criteria of the report in groups."""
    views = [(item, view(item, workload_id)) for item in report.criteria]
    open_now = [found for item, found in views if item.blocks and item.row.due is Due.SUBMISSION]
    later = [pair for pair in views if pair[0].blocks and pair[0].row.due is not Due.SUBMISSION]
    absent = CriterionResult.NOT_APPLICABLE
    return CriteriaView(
        green=sentences.met_sentences(report),
        now=_not_met_first(open_now),
        blocks_request=bool(report.blocking_submission()),
        compared=_not_met_first(found for item, found in later if item.row.scope is not None),
        later=_not_met_first(found for item, found in later if item.row.scope is None),
        met=[found for item, found in views if not item.blocks and item.result is not absent],
        not_applicable=[_reason_only(item) for item in report.criteria if item.result is absent],
        not_checked=[CriterionView(row.id, row.title, "", "", row.reason) for row in report.not_checked],
        checked=report.checked,
        total=report.total,
        rule_set=report.rule_set,
        verdict=report.verdict.sentence_de if report.verdict else "",
    )


def view(item: CriterionReport, workload_id: UUID) -> CriterionView:
    """Return one criterion with question, reason, value, threshold, who can close it and how."""
    remedy = REMEDIES.get(item.cause) if item.cause else None
    page = remedy.page if remedy else page_of(item.row.id)
    closes = str(remedy.who) if remedy else item.who_de
    return CriterionView(
        id=item.row.id,
        title=item.row.title,
        status=item.result.value,
        who=_who(item, closes),
        reason=item.reason_de,
        asked=item.row.question,
        why=item.row.why,
        value=item.value_de,
        threshold=item.threshold_de,
        missing=", ".join(item.row.evidence) if item.blocks and not remedy else "",
        closes=closes,
        next_step=_step(item, remedy) if item.blocks else "",
        next_url=_address(page, workload_id) if page and item.blocks else "",
    )


def page_of(criterion: str) -> str:
    """Return the name of the page where a criterion is closed, an empty text if there is none."""
    return _PAGE_OF.get(criterion) or _PAGES.get(criterion.split("-", maxsplit=1)[0], "")


def _address(page: str, workload_id: UUID) -> str:
    return reverse(page) if page in _RECORDED_ONCE else reverse(page, args=[workload_id])


def _step(item: CriterionReport, remedy: Remedy | None) -> str:
    return str(remedy.how) if remedy else item.row.how


def _who(item: CriterionReport, closes: str) -> str:
    if item.blocks and item.kind is CriterionKind.WAIVABLE:
        return f"{closes} · {item.kind.label}"
    return closes


def _not_met_first(views: Iterable[CriterionView]) -> list[CriterionView]:
    return sorted(views, key=lambda found: found.status != CriterionResult.NOT_MET.value)


def _reason_only(item: CriterionReport) -> CriterionView:
    reason = item.reason_de.removeprefix("Nicht anwendbar, weil ")
    return CriterionView(item.row.id, item.row.title, item.result.value, "", reason)
