"""Pure checks of requests, votes and decisions; each refusal names its rule and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NoReturn, Protocol
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.approvals.choices import ApprovalType, Decision, Meaning, VoteValue
from qms.core.errors import CriterionNotMet, WrongState
from qms.gates.choices import CriterionKind
from qms.gates.engine import GateReport
from qms.workloads.choices import WorkloadStatus

# How long a frozen decision can be signed; no POL names it.
FROZEN_LIFE: Final = timedelta(hours=24)


class HasStatus(Protocol):
    """Anything with a workload status; the model fits."""

    status: str


_MEANINGS: dict[Decision, Meaning] = {
    Decision.APPROVE: Meaning.APPROVED,
    Decision.APPROVE_WITH_CONDITIONS: Meaning.CONDITIONALLY_APPROVED,
    Decision.REJECT: Meaning.REJECTED,
}


def check_type_allowed(
    approval_type: ApprovalType,
    workload: HasStatus,
    *,
    decisive_measured: bool = False,
    pilot_completed: bool = False,
    active_production: bool = False,
) -> None:
    """Raise unless the type may be requested for the workload (guard of T-01, G7-8).

    decisive_measured: decisive target metrics are GEMESSEN; active_production: there is an active R approval.
    P and V ask nothing here: what a draft lacks is named by G0.
    """
    if workload.status == WorkloadStatus.DECOMMISSIONED:
        message = _("Für einen stillgelegten Workload gibt es keinen neuen Antrag (T-01).")
        raise WrongState(message, id="T-01", next_step=_("Einen neuen Workload anlegen."))
    if approval_type is ApprovalType.PRODUCTION:
        _check_production(decisive_measured, pilot_completed)
    if approval_type is ApprovalType.CAPACITY and not active_production:
        _refuse(
            _("Kapazitätsfreigabe nicht möglich: Es gibt keine aktive Produktionsfreigabe (G7-8)."),
            "G7-8",
            _("Zuerst die Produktionsfreigabe erlangen."),
        )


def _check_production(decisive_measured: bool, pilot_completed: bool) -> None:
    if not decisive_measured:
        _refuse(
            _("Produktionsfreigabe nicht möglich: maßgebliche Zielwerte sind emuliert (G7-8)."),
            "G7-8",
            _("Pilot mit gemessenen Werten."),
        )
    if not pilot_completed:
        _refuse(
            _("Produktionsfreigabe nicht möglich: Der Pilot ist nicht abgeschlossen (G7-1)."),
            "G7-1",
            _("Den Piloten abschließen."),
        )


def _refuse(message: str, criterion: str, next_step: str) -> None:
    raise CriterionNotMet(message, id=criterion, code="EINREICHUNG_VERWEIGERT", next_step=next_step)


def check_answers(
    answers: Iterable[tuple[str, VoteValue, str]], *, expected: Sequence[str] | None = None
) -> None:
    """Raise CriterionNotMet (G7-2) unless each expected subject has one value, with a reason unless it agrees."""
    given = list(answers)
    codes = [subject for subject, _value, _reason in given]
    if len(set(codes)) != len(codes) or (expected is not None and set(codes) != set(expected)):
        message = _("Bitte beantworten Sie jedes Thema genau einmal (G7-2).")
        raise CriterionNotMet(message, id="G7-2", next_step=_("Die offenen Themen beantworten."))
    if not given:
        message = _("Die Mitzeichnung hat keine Antwort (G7-2).")
        raise CriterionNotMet(message, id="G7-2", next_step=_("Die offenen Themen beantworten."))
    for _subject, value, reason in given:
        if value is not VoteValue.AGREE and not reason.strip():
            message = _("Ablehnung und Auflage brauchen eine Begründung (G7-2).")
            raise CriterionNotMet(message, id="G7-2", next_step=_("Begründung eintragen."))


def overall_vote(values: Iterable[VoteValue]) -> VoteValue:
    """Return the value of the whole vote: the strictest of its subjects; raises ValueError for none."""
    found = set(values)
    for value in (VoteValue.REFUSE, VoteValue.AGREE_WITH_CONDITION, VoteValue.AGREE):
        if value in found:
            return value
    raise ValueError("expected at least one vote value, got none")


def check_meaning(meaning: Meaning | None, allowed: Iterable[Meaning] | None = None) -> None:
    """Raise CriterionNotMet (G7-10) unless a meaning was chosen that fits the act."""
    if meaning is None:
        message = _("Bitte wählen Sie die Bedeutung Ihrer Unterschrift (G7-10).")
        raise CriterionNotMet(message, id="G7-10", next_step=_("Bedeutung wählen."))
    if allowed is not None and meaning not in set(allowed):
        message = _("Diese Bedeutung passt nicht zu dieser Handlung (G7-10).")
        raise CriterionNotMet(message, id="G7-10", next_step=_("Bedeutung wählen, die zur Handlung passt."))


def check_decision(
    decision: Decision, *, reason: str, meaning: Meaning | None, alternative: str = ""
) -> None:
    """Raise CriterionNotMet unless the decision has a reason, its own meaning and, if a no, an alternative (T-10)."""
    if not reason.strip():
        message = _("Bitte begründen Sie die Entscheidung; die Begründung steht im signierten Dokument.")
        raise CriterionNotMet(message, id="G7-10", next_step=_("Begründung eintragen."))
    check_meaning(meaning, [_MEANINGS[decision]])
    if decision is Decision.REJECT and not alternative.strip():
        message = _("Eine Ablehnung nennt die empfohlene Alternative (T-10).")
        raise CriterionNotMet(message, id="T-10", next_step=_("Option B oder C nennen."))


def check_no_open_criterion(report: GateReport, *, signed: bool = False) -> None:
    """Raise CriterionNotMet naming what blocks an unconditional approval (T-08); the first one gives the id.

    signed: the act is there and is judged with it (G7-10).
    """
    found = report.blocking_signature() if signed else report.blocking_decision()
    if not found:
        return
    names = ", ".join(f"{item.row.title_de} ({item.row.id})" for item in found[:3])
    if len(found) > 3:
        names = _("%(names)s und %(count)s weitere") % {"names": names, "count": len(found) - 3}
    message = _("Freigabe nicht möglich: %(names)s.") % {"names": names}
    raise CriterionNotMet(
        message,
        id=found[0].row.id,
        next_step=found[0].row.how_de,
        facts={"criteria": [item.row.id for item in found]},
    )


def without_conditions(ids: Sequence[str]) -> str:
    """Return why the approval cannot be given without conditions: only waivable criteria are open (SZ-02.1)."""
    text = ngettext(
        "Freigabe ohne Auflagen nicht möglich: offen ist %(ids)s.",
        "Freigabe ohne Auflagen nicht möglich: offen sind %(ids)s.",
        len(ids),
    )
    *first, last = ids
    listed = _("%(first)s und %(last)s") % {"first": ", ".join(first), "last": last} if first else last
    return text % {"ids": listed}


def check_unconditional(coverable: Sequence[str]) -> None:
    """Raise CriterionNotMet if the approval could be given with conditions only (T-08)."""
    if coverable:
        raise CriterionNotMet(
            without_conditions(coverable),
            id=coverable[0],
            next_step=_("Bedingt freigeben, mit einer Auflage je offenem Kriterium."),
            facts={"criteria": list(coverable)},
        )


def check_conditions(
    report: GateReport, criteria: Sequence[str], *, complete: bool, signed: bool = False
) -> None:
    """Raise CriterionNotMet unless the conditions on `criteria` suffice for a conditional approval (T-09, 3.8).

    report: judged with the conditions; complete: each has text and severity; signed: the act is judged with it.
    """
    known = {item.row.id: item for item in report.criteria}
    for name in criteria:
        if name not in known or (known[name].result.passes and known[name].kind is CriterionKind.WAIVABLE):
            _no_condition(name, _("Eine Auflage gehört zu einem offenen Kriterium; %(id)s ist keines."))
        if known[name].kind is CriterionKind.NON_WAIVABLE:
            _no_condition(name)
    for item in report.blocking_decision():
        if item.row.gate == "G7":
            continue
        if item.kind is CriterionKind.NON_WAIVABLE:
            _no_condition(item.row.id)
        _no_condition(item.row.id, _("Bedingte Freigabe nicht möglich: Zu %(id)s fehlt eine Auflage."))
    if not criteria:
        _no_condition("G7-7", _("Bedingte Freigabe nicht möglich: Es gibt keine Auflage (%(id)s)."))
    judged = known["G7-7"]
    if judged.blocks:
        _no_condition("G7-7", judged.reason_de.replace("%", "%%"))
    if not complete:
        _no_condition("G7-7", _("Jede Auflage braucht einen Text und eine Schwere (%(id)s)."))
    check_no_open_criterion(report, signed=signed)


def _no_condition(criterion: str, text: str = "") -> NoReturn:
    message = text or _(
        "Bedingte Freigabe nicht möglich: %(id)s kann nicht durch eine Auflage ersetzt werden."
    )
    raise CriterionNotMet(
        message % {"id": criterion},
        id=criterion,
        next_step=_("Offen sein dürfen nur ausnahmefähige Kriterien; jedes braucht eine Auflage."),
    )


def check_fresh(frozen_at: datetime, now: datetime, *, cosigned: bool) -> None:
    """Raise WrongState (409) for a frozen decision that is too old to be signed: it would be dated back.

    The first signature is of the local day of its dates. cosigned: another person signed the record already, on its
    day; the others have `FROZEN_LIFE` in all.
    """
    zone = ZoneInfo(settings.TIME_ZONE)
    same_day = frozen_at.astimezone(zone).date() == now.astimezone(zone).date()
    if now - frozen_at <= FROZEN_LIFE and (same_day or cosigned):
        return
    raise WrongState(
        _("Der Wortlaut dieser Entscheidung ist zu alt, um noch signiert zu werden."),
        id="T-08",
        next_step=_("Die antragstellende Person zieht den Antrag zurück und stellt ihn neu.")
        if cosigned
        else _("Bitte formulieren Sie die Entscheidung neu."),
    )
