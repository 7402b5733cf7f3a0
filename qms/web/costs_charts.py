"""Charts of a cost sheet (EV-17): cost over amount with the break-even, and the cost of a month by category."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from django.utils.translation import gettext as _

from qms.core import formats
from qms.core.chart_bars import BarDrawing, BarRow, horizontal_bars
from qms.core.chart_lines import Axes2D, LinesDrawing, LineSeries, Point, lines
from qms.core.chart_shapes import Chart, Limit
from qms.core.values import Unit
from qms.web.costs_names import CATEGORIES, SIDES

Facts = Mapping[str, Any]
STEPS: Final = 60  # points of a falling line
HEADROOM: Final = Decimal(
    "2.5"
)  # upper end of the cost axis, in costs of the dearer line at the planned amount


def break_even(facts: Facts) -> Chart[LinesDrawing] | None:
    """Return cost per result over results a month; None where nothing is reserved or no break-even was computed."""
    found, target = facts["break_even"] or {}, facts["target"]
    if facts["ratio"] is None or not found.get("units") or not Decimal(target["fixed_month"]):
        return None
    fixed, per_unit = Decimal(target["fixed_month"]), Decimal(target["per_unit"])
    today, planned = Decimal(facts["baseline"]["unit_cost"]), Decimal(facts["units_per_month"])
    units, needed = Decimal(found["units"]), _needed(facts)
    far = max(planned, needed or units) * Decimal("1.35")
    first = far / STEPS
    falling = [first + (far - first) * step / STEPS for step in range(STEPS + 1)]
    names = {name: _("%(side)s (abgeleitet)") % {"side": label} for name, label in SIDES.items()}
    cost = Decimal(target["unit_cost"])
    return lines(
        [
            LineSeries(names["baseline"], ((0.0, float(today)), (float(far), float(today)))),
            LineSeries(names["target"], tuple((float(n), float(fixed / n + per_unit)) for n in falling)),
        ],
        axes=Axes2D(
            x=_("Menge im Monat (%(unit)s)") % {"unit": facts["result_unit"]},
            y=_("€ je %(unit)s") % {"unit": facts["result_unit"]},
            unit=Unit.EURO,
            high=float(HEADROOM * max(today, cost)),
        ),
        title=_("Kosten über der Menge"),
        desc=_desc(facts, needed),
        marks=(
            Point(float(fixed / (today - per_unit)), float(today)),
            Point(float(planned), float(cost), tone=2),
        ),
        limit=None
        if needed is None
        else Limit(float(needed), _("nötig ab %(n)s") % {"n": formats.exact(needed)}),
        table=_table(facts, {"fixed": fixed, "per_unit": per_unit, "today": today}, needed),
        notes=[
            _("Der Kreis zeigt, wo beide gleich viel kosten, das Quadrat die geplante Menge."),
            _("Die rote Linie enthält die Sicherheit nach POL-26."),
        ],
    )


def _needed(facts: Facts) -> Decimal | None:
    """Return the amount that reaches the required utilisation (POL-26); None without one, or where it rounds to nothing."""
    required, side = facts["break_even"].get("required"), facts["target"]
    if required is None or side["paid_hours_month"] is None:
        return None
    amount = Decimal(required) * Decimal(side["paid_hours_month"]) / Decimal(side["hours_per_unit"])
    return amount.to_integral_value(ROUND_CEILING) or None


def _desc(facts: Facts, needed: Decimal | None) -> str:
    values = {
        "units": formats.exact(Decimal(facts["break_even"]["units"])),
        "planned": formats.exact(Decimal(facts["units_per_month"])),
    }
    if needed is None:
        return _("Das Ziel trägt sich ab %(units)s im Monat; geplant sind %(planned)s.") % values
    values["needed"] = formats.exact(needed)
    return (
        _(
            "Das Ziel trägt sich ab %(units)s im Monat; mit Sicherheit nötig sind %(needed)s, geplant sind %(planned)s."
        )
        % values
    )


def _table(
    facts: Facts, costs: Mapping[str, Decimal], needed: Decimal | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the same numbers: cost of both sides at the break-even, the needed and the planned amount."""
    rows = [(_("trägt sich ab"), Decimal(facts["break_even"]["units"]))]
    rows += [(_("mit Sicherheit nötig"), needed)] if needed is not None else []
    rows.append((_("geplant"), Decimal(facts["units_per_month"])))
    return (_("Menge im Monat"), _("Menge"), str(SIDES["baseline"]), str(SIDES["target"])), tuple(
        (
            label,
            formats.exact(amount),
            formats.money(costs["today"]),
            formats.money(costs["fixed"] / amount + costs["per_unit"]),
        )
        for label, amount in rows
    )


def by_category(facts: Facts) -> Chart[BarDrawing] | None:
    """Return the cost of a month by category and side, what costs nothing left out; None without any cost."""
    rows = []
    for code, name in CATEGORIES.items():
        for tone, (side, label) in enumerate(SIDES.items(), start=1):
            value = _month(facts, side, code)
            if value:
                rows.append(BarRow(f"{name} – {label}", float(value), tone=tone))
    if not rows:
        return None
    return horizontal_bars(
        rows, unit=Unit.EURO, title=_("Kosten im Monat nach Kostenart"), axis=_("€ im Monat"), decimals=2
    )


def _month(facts: Facts, side: str, code: str) -> Decimal:
    """Return what a category costs in a month; one-off costs are spread over the term."""
    data = facts[side]
    line = next((row for row in data["lines"] if row["category"] == code), None)
    if line is None:
        return Decimal(0)
    fixed, per_unit, once = (Decimal(line[name] or 0) for name in ("fixed_month", "per_unit", "one_off"))
    return fixed + per_unit * Decimal(facts["units_per_month"]) + once / Decimal(data["term_months"])
