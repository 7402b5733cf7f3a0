"""The cost sheet (EV-17) and the demand (EV-18) in words, tables and charts. No rules: every number comes from the file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.core import formats
from qms.core.values import Axes, Provenance
from qms.web import costs_charts, tables
from qms.web.costs_names import CAPACITY, CATEGORIES, CYCLE, MODELS, SIDES, STEPS

Facts = Mapping[str, Any]
AMOUNTS = ("fixed_month", "per_unit", "one_off")


def shown(facts: Facts, axes: Axes) -> dict[str, Any]:
    """Return all a page shows of a cost sheet; axes: of the evidence, whose assurance and origin its lines share."""
    chart = costs_charts.break_even(facts) if facts["comparable"] else None
    return {
        "sentence": sentence(facts),
        "notice": "" if facts["comparable"] else no_factor(),
        "figures": _figures(facts, axes),
        "chart": chart,
        "bars": costs_charts.by_category(facts),
        "lines": _lines(facts, axes),
        "sides": _sides(facts, axes),
        "break_even": _break_even(facts, axes),
        "sensitivity": _sensitivity(facts, axes),
        "reason": (facts.get("business_value") or {}).get("reason", ""),
        "axes": axes,
    }


def no_factor() -> str:
    """Return the sentence of EM-12."""
    return _("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner.")


def missing(facts: Facts) -> int:
    """Return how many lines of both sides nobody has answered (G6-2)."""
    rows = [line for side in SIDES for line in facts[side]["lines"]]
    return sum(all(line[name] is None for name in AMOUNTS) for line in rows)


def sentence(facts: Facts) -> str:
    """Return the result in one sentence, or why there is none."""
    if not facts["comparable"]:
        return _("Die Kosten des Ziels sind erfasst; verglichen wird erst mit der Plattform im Einsatz.")
    if facts["ratio"] is None:
        return ngettext(
            "Noch kein Vergleich: Im Kostenblatt fehlt %(n)s Angabe (G6-2).",
            "Noch kein Vergleich: Im Kostenblatt fehlen %(n)s Angaben (G6-2).",
            missing(facts),
        ) % {"n": missing(facts)}
    values = {
        "unit": facts["result_unit"],
        "target": formats.money(Decimal(facts["target"]["unit_cost"])),
        "baseline": formats.money(Decimal(facts["baseline"]["unit_cost"])),
        "name": facts["target"]["platform"]["name"],
        "ratio": formats.number(Decimal(facts["ratio"]), 3),
    }
    cost = _("Je %(unit)s kostet %(name)s %(target)s statt %(baseline)s (Verhältnis %(ratio)s).") % values
    return f"{cost} {_carried(facts)}".strip()


def _carried(facts: Facts) -> str:
    """Return whether the planned amount carries reserved capacity, an empty text for pay-per-use."""
    found = facts["break_even"]
    if facts["target"]["capacity"] != "RESERVIERT":
        return ""
    if found.get("reachable") is False or not found["utilisation"]:
        return _("Die reservierte Kapazität trägt sich auch bei voller Auslastung nicht.")
    shares = {name: formats.percent(Decimal(found[name])) for name in ("forecast", "required")}
    if Decimal(found["forecast"]) >= Decimal(found["required"]):
        return _("Die erwartete Auslastung von %(forecast)s erreicht die nötigen %(required)s.") % shares
    return _("Die erwartete Auslastung von %(forecast)s erreicht die nötigen %(required)s nicht.") % shares


def _figures(facts: Facts, axes: Axes) -> list[dict[str, Any]]:
    unit = _("Kosten je %(unit)s") % {"unit": facts["result_unit"]}
    rows = [
        {
            "label": f"{unit} · {label}",
            "value": formats.money(Decimal(facts[side]["unit_cost"])),
            "axes": axes,
            "note": facts[side]["platform"]["name"],
        }
        for side, label in SIDES.items()
        if not missing(facts)
    ]
    if facts["ratio"] is not None:
        ratio = formats.number(Decimal(facts["ratio"]), 3)
        rows.append({"label": _("Verhältnis Ziel zu Vergleichsbasis"), "value": ratio, "axes": axes})
    share = facts["target"]["utilisation_paid"]
    if share is not None:
        value = formats.percent(Decimal(share))
        rows.append({"label": _("Bezahlte Auslastung des Ziels"), "value": value, "axes": axes})
    return rows


def _lines(facts: Facts, axes: Axes) -> dict[str, Any]:
    """Return the twelve categories beside each other, each amount with its source, day and axes."""
    columns = [(_("Kostenart"), False), *((str(label), False) for label in SIDES.values())]
    sides = {side: {line["category"]: line for line in facts[side]["lines"]} for side in SIDES}
    rows = [
        [{"text": str(name), "small": code}, *(_line(sides[side].get(code), facts, axes) for side in SIDES)]
        for code, name in CATEGORIES.items()
    ]
    totals: list[dict[str, Any]] = [{"text": _("Summe im Monat"), "small": ""}]
    totals += [{"text": formats.money(Decimal(facts[side]["total_month"])), "axes": axes} for side in SIDES]
    return tables.table(_("Kosten nach Kostenart"), columns, [*rows, totals])


def _line(line: Facts | None, facts: Facts, axes: Axes) -> dict[str, Any]:
    if line is None or all(line[name] is None for name in AMOUNTS):
        return {"text": _("nicht angegeben")}
    units = {
        "fixed_month": _("im Monat"),
        "per_unit": _("je %(unit)s") % {"unit": facts["result_unit"]},
        "one_off": _("einmalig"),
    }
    amounts = [
        f"{formats.money(Decimal(line[name]))} {units[name]}" for name in AMOUNTS if Decimal(line[name] or 0)
    ]
    price_date = line["price_date"]
    day = formats.day(date.fromisoformat(price_date)) if price_date else ""
    notes = [line["source"], _("Preisstand %(day)s") % {"day": day} if day else "", line["reason"]]
    own = Axes(Provenance(line["provenance"]), axes.assurance, axes.origin)
    return {
        "text": "; ".join(amounts) or formats.money(Decimal(0)),
        "axes": own,
        "small": " · ".join(note for note in notes if note),
    }


def _sides(facts: Facts, axes: Axes) -> dict[str, Any]:
    """Return contract, paid hours, run time with its origin, whole cycle time and paid utilisation of both sides."""
    columns = [("", False), *((str(label), False) for label in SIDES.values())]
    columns[0] = (_("Angabe"), False)
    return tables.table(
        _("Platz, Zeit und Auslastung"),
        columns,
        [
            [{"text": label}, *(cell(facts[side], axes) for side in SIDES)]
            for label, cell in (
                (_("Plattform"), _platform),
                (_("Vertragsform"), _contract),
                (_("Bezahlte Stunden im Monat"), _paid_hours),
                (_("Rechenzeit je %(unit)s") % {"unit": facts["result_unit"]}, _hours),
                (_("Ganzer Durchlauf"), _cycle),
                (_("Bezahlte Auslastung"), _utilisation),
            )
        ],
    )


def _platform(side: Facts, axes: Axes) -> dict[str, Any]:
    return {"text": side["platform"]["name"]}


def _contract(side: Facts, axes: Axes) -> dict[str, Any]:
    months = _("Laufzeit %(n)s Monate") % {"n": formats.exact(Decimal(side["term_months"]))}
    model = MODELS.get(side["commercial_model"], side["commercial_model"])
    return {"text": f"{CAPACITY[side['capacity']]}, {model}", "small": months}


def _paid_hours(side: Facts, axes: Axes) -> dict[str, Any]:
    if side["paid_hours_month"] is None:
        return {"text": _("entfällt, bezahlt wird nur die Nutzung")}
    return {"text": hours(side["paid_hours_month"]), "axes": _as_stated(axes)}


def _hours(side: Facts, axes: Axes) -> dict[str, Any]:
    own = Axes(Provenance(side["hours_provenance"]), axes.assurance, axes.origin)
    return {"text": hours(side["hours_per_unit"]), "axes": own, "small": side["hours_note"]}


def _cycle(side: Facts, axes: Axes) -> dict[str, Any]:
    cycle = side.get("cycle")
    if not cycle:
        return {"text": _("nicht angegeben"), "small": _("Rechenzeit allein belegt keinen Vorteil.")}
    parts = ", ".join(f"{label} {hours(cycle[name])}" for name, label in CYCLE.items())
    return {"text": hours(cycle["total_h"]), "axes": axes, "small": parts}


def _utilisation(side: Facts, axes: Axes) -> dict[str, Any]:
    share = side["utilisation_paid"]
    if share is None:
        return {"text": _("entfällt, bezahlt wird nur die Nutzung")}
    return {"text": formats.percent(Decimal(share)), "axes": axes}


def hours(value: str) -> str:
    """Return hours as people read them: "48 h", below one hour as duration."""
    amount = Decimal(value)
    if 0 < amount < 1:
        return formats.duration(amount * 3600)
    return f"{formats.number(amount)}{formats.NBSP}h"


def _as_stated(axes: Axes) -> Axes:
    return Axes(Provenance.ESTIMATED, axes.assurance, axes.origin)


def _break_even(facts: Facts, axes: Axes) -> list[dict[str, Any]]:
    """Return the break-even as facts, [] where nothing is reserved or nothing may be compared."""
    found = facts["break_even"] or {}
    rows = [
        (_("Trägt sich ab einer Menge im Monat von"), _exact(found.get("units"))),
        (_("Dafür nötige Auslastung"), _share(found.get("utilisation"))),
        (_("Nötige Auslastung mit Sicherheit (POL-26)"), _share(found.get("required"))),
        (_("Erwartete Auslastung"), _share(found.get("forecast"))),
        (_("Einmalige Kosten zurückverdient nach"), _months(found.get("payback_months"))),
    ]
    return [{"label": label, "value": value, "axes": axes} for label, value in rows if value]


def _exact(value: str | None) -> str:
    return "" if value is None else formats.exact(Decimal(value))


def _share(value: str | None) -> str:
    return "" if value is None else formats.percent(Decimal(value))


def _months(value: str | None) -> str:
    if value is None:
        return ""
    return _("%(n)s Monaten") % {"n": formats.number(Decimal(value), 1)}


def _sensitivity(facts: Facts, axes: Axes) -> dict[str, Any] | None:
    """Return the steps of POL-45 with the costs they lead to, None while the sheet has gaps."""
    if missing(facts):
        return None
    columns = [
        (_("Annahme"), False),
        *((str(label), True) for label in SIDES.values()),
        (_("Verhältnis"), True),
    ]
    rows: list[list[dict[str, Any]]] = [
        [
            {"text": str(STEPS.get(row["step"], row["step"])) % {"change": _signed(row["change"])}},
            {"text": formats.money(Decimal(row["baseline"])), "axes": axes},
            {"text": formats.money(Decimal(row["target"])), "axes": axes},
            _ratio(row["ratio"], axes),
        ]
        for row in facts["sensitivity"] or ()
    ]
    return tables.table(_("Was wäre, wenn"), columns, rows)


def _ratio(value: str | None, axes: Axes) -> dict[str, Any]:
    if value is None:
        return {"text": "–"}
    return {"text": formats.number(Decimal(value), 3), "axes": axes}


def _signed(change: str) -> str:
    value = Decimal(change)
    return ("+" if value > 0 else "") + formats.percent(value, 0)


def demand(facts: Facts, axes: Axes) -> dict[str, Any]:
    """Return the demand (EV-18): forecast, run time, what backs it, and the months of the past."""
    rows = [
        (_("Menge im Monat"), _exact(facts["units_per_month"])),
        (_("Erwartete Menge im Monat"), _exact(facts["forecast_units_per_month"])),
        (_("Rechenzeit je Ergebnis auf dem Ziel"), hours(facts["hours_per_unit"])),
        (_("Anfragen am Tag"), _exact(facts["requests_per_day"])),
        (_("Durch vergangene Monate belegt"), _backed(facts["backed_months"])),
    ]
    facts_rows: list[dict[str, Any]] = [
        {"label": label, "value": value, "axes": axes} for label, value in rows if value
    ]
    facts_rows.append({"label": _("Woher die Zahlen stammen"), "value": facts["source"]})
    columns = [(_("Monat"), False), (_("Menge"), True)]
    months: list[list[dict[str, Any]]] = [
        [{"text": month_name(row["month"])}, {"text": _exact(row["units"]), "axes": axes}]
        for row in facts["history"]
    ]
    table = tables.table(_("Menge der vergangenen Monate"), columns, months) if months else None
    return {"facts": facts_rows, "history": table}


def _backed(months: int) -> str:
    return ngettext("%(n)s Monat", "%(n)s Monate", months) % {"n": months}


def month_name(month: str) -> str:
    """Return a month such as "2026-08" as people read it: "08/2026"."""
    year, _dash, number = month.partition("-")
    return f"{number}/{year}"
