"""The table of the page "Vergleich": every metric of both sides, what is better, and what POL-23 says. No rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import pgettext

from pilots import pages
from pilots import pages_blocks as blocks
from pilots.catalog.comparison import Bounds, Judgement, Row, WhyNot
from qms.core import formats
from qms.core.values import Metric

WHY_NOT: Final[dict[WhyNot, Promise]] = {
    WhyNot.DEVELOPMENT_MACHINE: lazy("kein Vergleichsfaktor (EM-12)"),
    WhyNot.ANOTHER_WORKLOAD: lazy("kein Vergleichsfaktor: derselbe Workload ist nicht belegt (G4-1)"),
    WhyNot.ONLY_BASELINE: lazy("nur in der Vergleichsbasis"),
    WhyNot.ONLY_TARGET: lazy("nur am Ziel"),
    WhyNot.UNRELIABLE: lazy("nicht belastbar: zu wenige Messungen für dieses Perzentil (POL-56)"),
    WhyNot.OTHER_UNIT: lazy("verschiedene Einheiten"),
    WhyNot.OTHER_MEMORY: lazy(
        "kein Vergleichsfaktor: Speicher eines Prozesses oder Geräts gegen SRAM des Wafers, verschiedene Arten von Speicher"
    ),
    WhyNot.ZERO_BASELINE: lazy("kein Verhältnis: Vergleichsbasis ist null"),
    WhyNot.NO_DIRECTION: lazy("ohne Wertung"),
}
JUDGEMENTS: Final[dict[Judgement, tuple[Promise, str]]] = {
    Judgement.MET: (lazy("erfüllt"), "ok"),
    Judgement.NOT_MET: (lazy("nicht erfüllt"), "bad"),
    Judgement.OPEN: (lazy("offen"), "open"),
}


def metrics(rows: tuple[Row, ...], bounds: Bounds) -> dict[str, Any]:
    """Return the table of all metrics; what POL-23 says stands in it once somebody chose the primary ones."""
    columns = [
        (_("Messgröße"), False),
        (_("Vergleichsbasis"), False),  # notes beside the numbers must wrap, which numeric cells do not
        (_("Ziel"), False),
        (_("Vergleich, ungünstiges Ende"), False),
    ]
    judged = any(row.judgement for row in rows)
    columns += [(_("POL-23"), False)] if judged else []
    return blocks.table(
        _("Messgrößen im Vergleich"), columns, [_cells(row, bounds, judged=judged) for row in rows]
    )


def _cells(row: Row, bounds: Bounds, *, judged: bool) -> list[dict[str, Any]]:
    primary = {True: _("erste Hauptmessgröße"), False: _("Hauptmessgröße")}
    small = primary[row.first] if row.judgement else ""
    cells = [
        {"text": name(row), "small": small},
        _value(row.baseline, _("nicht gemessen")),
        _value(row.target, _("nicht vorhanden")),
        _compared(row),
    ]
    if judged:
        cells.append(_judged(row, bounds))
    return cells


def name(row: Row) -> str:
    """Return what people call the metric of a row, with its percentile."""
    return pages.metric_name(row.key, row.percentile)


def _value(metric: Metric | None, missing: str) -> dict[str, Any]:
    if metric is None:
        return {"text": missing}
    notes = [formats.metric_interval(metric)]
    if metric.n is not None and metric.interval is None:
        notes.append(_("n = %(n)s") % {"n": formats.number(metric.n, 0)})
    if metric.interval is None and metric.note:
        notes.append(metric.note)
    return {
        "text": formats.metric_value(metric),
        "axes": metric.axes,
        "small": "; ".join(text for text in notes if text),
    }


def _compared(row: Row) -> dict[str, Any]:
    if row.benefit is None:
        return {"text": str(WHY_NOT[row.why_not]) if row.why_not else "–"}
    benefit = row.benefit
    facts = {"pessimistic": signed(benefit.pessimistic), "optimistic": signed(benefit.optimistic)}
    small = _("Änderung %(pessimistic)s") % facts
    if benefit.pessimistic != benefit.optimistic:
        small = _("Änderung %(pessimistic)s, am anderen Ende %(optimistic)s") % facts
    return {"text": gain_words(benefit.gain), "small": small}


def _judged(row: Row, bounds: Bounds) -> dict[str, Any]:
    if row.judgement is None:
        return {"text": "–"}
    label, tone = JUDGEMENTS[row.judgement]
    asked = {"gain": formats.percent(bounds.min_gain, 0), "loss": formats.percent(bounds.max_loss, 0)}
    small = _("mindestens %(gain)s besser") if row.first else _("höchstens %(loss)s schlechter")
    return {"status": row.judgement.value, "text": str(label), "tone": tone, "small": small % asked}


def gain_words(gain: Decimal) -> str:
    """Return a gain in words: "um 35 % besser", "um 5 % schlechter", "gleich"."""
    if not gain:
        return pgettext("Vergleich", "gleich")
    facts = {"share": formats.percent(abs(gain))}
    return (_("um %(share)s besser") if gain > 0 else _("um %(share)s schlechter")) % facts


def signed(share: Decimal) -> str:
    """Return a change with its sign: "+35,0 %"."""
    text = formats.percent(share)
    return f"+{text}" if share > 0 else text
