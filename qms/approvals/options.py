"""Section 9 of the decision document: staying, returning and an alternative beside the wafer, as equals (S111).

Only what was recorded or measured is filled in; the rest says why it was not checked.
"""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _

from qms.approvals import figures
from qms.approvals.dossier import BuiltDossier
from qms.core import formats
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
    other = _("nicht geprüft, weil keine weitere Plattform untersucht wurde")
    recommended = _("empfohlen: %(name)s") % {"name": alternative} if alternative else other
    names = [_("Nutzen"), _("Kosten"), _("Risiko"), _("Aufwand"), _("Zeit")]
    columns = (_wafer(workload, built), _existing(workload, built), [recommended, *[other] * 4])
    return [[name, *cells] for name, *cells in zip(names, *columns, strict=True)]


def _wafer(workload: Workload, built: BuiltDossier) -> list[str]:
    pilot, target = getattr(workload, "pilot", None), built.facts.target
    missing = _("nicht geprüft, weil es keinen Ziellauf gibt")
    budget, time = _unset(), _unset()
    if pilot:
        budget = _("Budgetgrenze des Piloten: %(money)s") % {
            "money": formats.money(pilot.budget_cap_eur, decimals=0)
        }
        time = _("Pilot %(start)s bis %(end)s") % {
            "start": formats.day(pilot.start),
            "end": formats.day(pilot.end),
        }
    return [
        _("Werte des Ziellaufs in Abschnitt 7") if target else missing,
        budget,
        _("emulierte Werte, keine Aussage unter realen Bedingungen")
        if target and target.emulated
        else missing,
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
        _("nicht geprüft, weil Gesamtkosten in dieser Version nicht erfasst werden"),
        _("nicht geprüft, weil Ausweichübungen in dieser Version nicht erfasst werden"),
        _("Schritte in Abschnitt 6") if fallback else _unset(),
        _("Rückkehr in höchstens %(minutes)s Minuten") % {"minutes": formats.number(fallback.rto_min, 0)}
        if fallback
        else _unset(),
    ]


def _unset() -> str:
    return _("nicht geprüft, weil dazu nichts erfasst ist")
