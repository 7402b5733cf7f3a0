"""What both platforms cost, as blocks of section 7 of the signed document (S108): full cost, break-even, sensitivity.

Every figure comes from EV-17 and EV-18; a block without facts says why it was not checked.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import pgettext_lazy

from qms.approvals.blocks import Block, note, table
from qms.core import formats
from qms.gates.business_facts import RESERVED, CostFacts, CostLineFacts, CostSideFacts
from qms.gates.choices import ScopeGap
from qms.gates.facts import Facts

CATEGORIES: Final[dict[str, str | Promise]] = {
    "TCO-01": _lazy("Rechenzeit"),
    "TCO-02": _lazy("Modellportierung"),
    "TCO-03": _lazy("Datenbewegung"),
    "TCO-04": pgettext_lazy("Kostenart", "Speicher"),
    "TCO-05": _lazy("Netzwerk"),
    "TCO-06": _lazy("Monitoring"),
    "TCO-07": _lazy("Support"),
    "TCO-08": _lazy("Leerstand (Auslastung)"),
    "TCO-09": _lazy("Bindung/Exit"),
    "TCO-10": _lazy("Personal/Plattformbetrieb"),
    "TCO-11": _lazy("Energie/Kühlung/Stellfläche"),
    "TCO-12": _lazy("Beschaffung/Recht/Datenschutz"),
}
STEPS: Final[dict[str, str | Promise]] = {
    "AUSLASTUNG": _lazy("Auslastung des Ziels"),
    "MENGE": _lazy("Menge beider Seiten"),
    "PREIS": _lazy("Einkaufspreise des Ziels"),
    "PORTIERUNG": _lazy("Portierungsaufwand"),
}


def total_sentence(facts: Facts) -> str:
    """Return the full cost of one result on both sides in one cell, or why it was not checked."""
    costs = facts.costs
    if costs is None:
        return not_checked(facts)
    return _(
        "%(target)s je %(unit)s auf der Zielplattform, %(baseline)s auf der Vergleichsbasis%(ratio)s"
    ) % {
        "target": unit_cost(costs.target),
        "baseline": unit_cost(costs.baseline),
        "unit": costs.result_unit,
        "ratio": _("; Verhältnis %(ratio)s") % {"ratio": formats.number(costs.ratio, 3)}
        if costs.ratio is not None
        else "",
    }


def utilisation_sentence(facts: Facts) -> str:
    """Return utilisation, break-even and what the forecast rests on in one cell, or why it was not checked."""
    costs = facts.costs
    if costs is None:
        return not_checked(facts)
    if costs.target.capacity != RESERVED:
        return _("nicht anwendbar: nutzungsabhängige Abrechnung")
    if not costs.comparable:
        return not_compared()
    parts = [*_break_even(costs), *_demand(facts)]
    return "; ".join(parts) or _("nicht geprüft, weil das Kostenblatt unvollständig ist")


def blocks(facts: Facts) -> list[Block]:
    """Return the tables of full cost and sensitivity; nothing while no costs were entered."""
    costs = facts.costs
    if costs is None:
        return []
    found = [_total_table(costs)]
    if not costs.comparable:
        found.append(note(not_compared()))
    if costs.sensitivity:
        found.append(_sensitivity_table(costs))
    return found


def not_checked(facts: Facts) -> str:
    """Return why there are no costs."""
    reasons = {
        ScopeGap.NO_BASELINE: _("nicht geprüft, weil es keine Vergleichsbasis gibt"),
        ScopeGap.DEVELOPMENT_MACHINE: _(
            "nicht geprüft, weil die Vergleichsbasis ein Entwicklungsrechner ist"
        ),
        None: _("nicht geprüft, weil das Kostenblatt (EV-17) fehlt"),
    }
    return reasons[facts.gap()]


def not_compared() -> str:
    """Return why costs stand there without a ratio (EM-12)."""
    return _("Kein Kostenverhältnis: Die Vergleichsbasis stammt von einem Entwicklungsrechner.")


def unit_cost(side: CostSideFacts) -> str:
    """Return the full cost of one result; amounts below one euro keep their digits."""
    value = side.unit_cost
    if value is None:
        return "–"
    return formats.money(value, decimals=max(2, -int(value.normalize().as_tuple().exponent)))


def _break_even(costs: CostFacts) -> list[str]:
    found = costs.break_even
    if found is None or found.forecast is None:
        return []
    forecast = _("erwartete Auslastung %(forecast)s") % {"forecast": formats.percent(found.forecast)}
    if found.units is None or found.utilisation is None:
        return [
            forecast,
            _("kein Break-even: Schon ein Ergebnis allein kostet so viel wie auf der Vergleichsbasis"),
        ]
    values = {
        "units": formats.exact(found.units),
        "unit": costs.result_unit,
        "share": formats.percent(found.utilisation),
    }
    parts = [
        forecast,
        _("Break-even bei einer Menge von %(units)s im Monat (%(unit)s), Auslastung %(share)s") % values,
    ]
    if found.required is not None:
        parts.append(_("mit Sicherheitsabstand nötig %(share)s") % {"share": formats.percent(found.required)})
    if not found.reachable:
        parts.append(_("mehr als die bezahlten Stunden"))
    if found.payback_months:
        months = formats.number(found.payback_months, 1)
        parts.append(_("einmalige Kosten zurückverdient nach %(months)s Monaten") % {"months": months})
    return parts


def _demand(facts: Facts) -> list[str]:
    if facts.demand is None:
        return [_("Nachfrage nicht belegt (EV-18 fehlt)")]
    return [_("Nachfrage belegt durch %(months)d Monate") % {"months": facts.demand.backed_months}]


def _total_table(costs: CostFacts) -> Block:
    units = costs.units_per_month or Decimal(0)
    rows = [
        [f"{code} {name}", _month(costs.baseline, code, units), _month(costs.target, code, units)]
        for code, name in CATEGORIES.items()
    ]
    rows.append([_("Summe im Monat"), _money(costs.baseline.total_month), _money(costs.target.total_month)])
    per_unit = _("je %(unit)s") % {"unit": costs.result_unit}
    rows.append([per_unit, unit_cost(costs.baseline), unit_cost(costs.target)])
    shares = [_share(side.utilisation_paid) for side in (costs.baseline, costs.target)]
    rows.append([_("Auslastung der bezahlten Stunden"), *shares])
    head = [
        _("Kostenart"),
        _with_name(_("Vergleichsbasis"), costs.baseline),
        _with_name(_("Zielplattform"), costs.target),
    ]
    caption = _("Gesamtkosten im Monat bei einer Menge von %(units)s (%(unit)s), EUR%(dates)s") % {
        "units": formats.exact(units),
        "unit": costs.result_unit,
        "dates": _price_dates(costs),
    }
    return table(caption, head, rows, [40, 30, 30], numeric=(1, 2))


def _sensitivity_table(costs: CostFacts) -> Block:
    rows = [
        [
            f"{STEPS.get(item.step, item.step)} {_signed(item.change)}",
            _money(item.baseline),
            _money(item.target),
            "–" if item.ratio is None else formats.number(item.ratio, 3),
        ]
        for item in costs.sensitivity
    ]
    caption = _("Sensitivität: Kosten je %(unit)s, wenn sich eine Annahme ändert") % {
        "unit": costs.result_unit
    }
    head = [_("Annahme"), _("Vergleichsbasis"), _("Zielplattform"), _("Verhältnis")]
    return table(caption, head, rows, [40, 20, 20, 20], numeric=(1, 2, 3))


def _month(side: CostSideFacts, code: str, units: Decimal) -> str:
    line = next((item for item in side.lines if item.category == code), None)
    if line is None or all(amount is None for amount in line.amounts):
        return _("nicht angegeben")
    return _money(_line_month(line, side, units))


def _line_month(line: CostLineFacts, side: CostSideFacts, units: Decimal) -> Decimal:
    fixed, per_unit, one_off = (amount or Decimal(0) for amount in line.amounts)
    return fixed + per_unit * units + (one_off / side.term_months if side.term_months else Decimal(0))


def _price_dates(costs: CostFacts) -> str:
    days = [
        line.price_date for side in (costs.baseline, costs.target) for line in side.lines if line.price_date
    ]
    if not days:
        return ""
    first, last = min(days), max(days)
    if first == last:
        return _("; Preise vom %(day)s") % {"day": formats.day(first)}
    return _("; Preise vom %(first)s bis %(last)s") % {"first": formats.day(first), "last": formats.day(last)}


def _with_name(label: str, side: CostSideFacts) -> str:
    return f"{label} ({side.platform_name})" if side.platform_name else label


def _money(value: Decimal | None) -> str:
    return "–" if value is None else formats.money(value)


def _share(value: Decimal | None) -> str:
    return _("nicht reserviert") if value is None else formats.percent(value)


def _signed(change: Decimal) -> str:
    return ("+" if change > 0 else "") + formats.percent(change, 0)
