"""Section 9 of the decision document: staying, returning and an alternative beside the wafer, as equals (S111).

Only what was recorded or measured is filled in; the rest says why it was not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.utils.translation import gettext as _

from qms.approvals import cost_blocks, figures
from qms.approvals.dossier import BuiltDossier
from qms.core import formats
from qms.gates.business_facts import CostFacts, CostSideFacts
from qms.workloads.choices import AlternativeOption
from qms.workloads.models import Workload

WIDTHS: Final = [15, 30, 30, 25]


def head(workload: Workload) -> list[str]:
    """Return the heads of the table: what is compared, and the three options with their platforms."""
    pilot, fallback = getattr(workload, "pilot", None), getattr(workload, "fallback", None)
    first, second = _("Option A: Wafer-Scale"), _("Option B: bisherige Plattform, Rückkehr")
    return [
        _("Gesichtspunkt"),
        f"{first} ({pilot.platform})" if pilot else first,
        f"{second} ({fallback.platform})" if fallback else second,
        _("Option C: Alternative"),
    ]


def rows(workload: Workload, built: BuiltDossier, alternative: str) -> list[list[str]]:
    """Return benefit, cost, risk, effort and time of each option; `alternative`: what a rejection recommends."""
    names = [_("Nutzen"), _("Kosten"), _("Risiko"), _("Aufwand"), _("Zeit")]
    columns = (_wafer(workload, built), _existing(workload, built), _alternative(built, alternative))
    return [[name, *cells] for name, *cells in zip(names, *columns, strict=True)]


def _wafer(workload: Workload, built: BuiltDossier) -> list[str]:
    pilot, target = getattr(workload, "pilot", None), built.facts.target
    missing = _("nicht geprüft, weil es keinen Ziellauf gibt")
    costs, time = _unit_cost(built, lambda found: found.target), _unset()
    if pilot:
        money = formats.money(pilot.budget_cap_eur, decimals=0)
        costs.append(_("Budgetgrenze des Piloten: %(money)s") % {"money": money})
        time = _("Pilot %(start)s bis %(end)s") % {
            "start": formats.day(pilot.start),
            "end": formats.day(pilot.end),
        }
    return [
        _("Werte des Ziellaufs in Abschnitt 7") if target else missing,
        "; ".join(costs) or _unset(),
        "; ".join(_risks(built)) or missing,
        figures.porting_effort(built),
        time,
    ]


def _existing(workload: Workload, built: BuiltDossier) -> list[str]:
    fallback, baseline = getattr(workload, "fallback", None), built.facts.baseline
    if baseline is None:
        benefit = _("nicht geprüft, weil es keine Vergleichsbasis gibt")
    elif baseline.platform.development_machine:
        benefit = _("nicht geprüft, weil die Vergleichsbasis ein Entwicklungsrechner ist")
    else:
        benefit = _("gemessene Werte in Abschnitt 7")
    return [
        benefit,
        "; ".join([*_unit_cost(built, lambda found: found.baseline), *_return_cost(built)])
        or cost_blocks.not_checked(built.facts),
        _("nicht geprüft, weil Ausweichübungen in dieser Version nicht erfasst werden"),
        _("Schritte in Abschnitt 6") if fallback else _unset(),
        _("Rückkehr in höchstens %(minutes)s Minuten") % {"minutes": formats.number(fallback.rto_min, 0)}
        if fallback
        else _unset(),
    ]


def _alternative(built: BuiltDossier, alternative: str) -> list[str]:
    answers = built.facts.suitability
    considered = [
        f"{AlternativeOption(option).label}: {reason}"
        for option, reason in (answers.alternatives if answers else ())
    ]
    other = _("nicht geprüft, weil keine weitere Plattform untersucht wurde")
    if considered:
        other = _("nicht geprüft, weil nur die Begründung erfasst ist")
    named = [_("empfohlen: %(name)s") % {"name": alternative}] if alternative else []
    told = "; ".join(sentence.strip().removesuffix(".") for sentence in [*named, *considered])
    return [told or other, *[other] * 4]


def _unit_cost(built: BuiltDossier, side: Callable[[CostFacts], CostSideFacts]) -> list[str]:
    costs = built.facts.costs
    if costs is None:
        return []
    text = _("%(money)s je %(unit)s (Gesamtkosten in Abschnitt 7)")
    return [text % {"money": cost_blocks.unit_cost(side(costs)), "unit": costs.result_unit}]


def _return_cost(built: BuiltDossier) -> list[str]:
    offer = built.facts.offer
    if offer is None or offer.exit_cost_eur is None:
        return []
    return [_("Rückkehr: %(money)s Ausstiegskosten") % {"money": formats.money(offer.exit_cost_eur)}]


def _risks(built: BuiltDossier) -> list[str]:
    target, offer = built.facts.target, built.facts.offer
    found = []
    if target:
        found.append(
            _("emulierte Werte, keine Aussage unter realen Bedingungen")
            if target.emulated
            else _("gemessene Werte")
        )
    if offer and offer.notice_months is not None:
        found.append(
            _("Bindung mit Kündigungsfrist %(months)s") % {"months": figures.months(offer.notice_months)}
        )
    return found


def _unset() -> str:
    return _("nicht geprüft, weil dazu nichts erfasst ist")
