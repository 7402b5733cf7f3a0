"""The page "Prognose gegen Wirklichkeit": each figure of a measured target run beside its forecast (S019, POL-54)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pilots import catalog, selectors
from pilots import pages_blocks as blocks
from pilots.models import Run
from pilots.pages import metric_name
from pilots.pages_import import named
from qms.core import formats
from qms.gates import services as gates
from qms.workloads.models import Workload


def shown(workload: Workload) -> dict[str, Any] | None:
    """Return what the page shows; None without a measured run, an emulated one of the same model, or a common figure."""
    measured = selectors.measured_target(workload)
    emulated = selectors.forecast_of(measured) if measured else None
    if measured is None or emulated is None:
        return None
    limit = gates.policy().share("POL-54", "max")
    found = catalog.compare_forecast(
        emulated.summary.get("metrics", []), measured.summary.get("metrics", []), limit
    )
    if not found.rows:
        return None
    return {
        "measured": measured,
        "emulated": emulated,
        "sentence": _sentence(found),
        "matched": _matched(measured),
        "table": _table(found),
        "alone": named(list(found.alone)),
        "axes": catalog.forecast_axes(found),
    }


def url_of(run: Run) -> str:
    """Return the address of the page for a measured target run that has a forecast, else an empty text."""
    newest = selectors.measured_target(run.workload)
    if newest is None or newest.pk != run.pk or shown(run.workload) is None:
        return ""
    return reverse("pilot_forecast", args=[run.workload_id])


def _sentence(found: catalog.Forecast) -> str:
    """Return the answer in one sentence: whether every error is within POL-54, and how many figures are."""
    limit, total = formats.percent(found.limit, 0), len(found.rows)
    good = sum(row.within(found.limit) is True for row in found.rows)
    if found.worst is None:
        return _("Ein Prognosefehler lässt sich nicht bilden: Gemessen wurde null.")
    facts = {"limit": limit, "good": good, "total": total, "worst": formats.percent(found.worst, 1)}
    if found.holds:
        return _("Die Prognose hält: Größter Fehler %(worst)s, zulässig %(limit)s (POL-54).") % facts
    text = ngettext(
        "Die Prognose hält nicht: Größter Fehler %(worst)s, zulässig %(limit)s; %(good)s von %(total)s Größe liegt darin (POL-54).",
        "Die Prognose hält nicht: Größter Fehler %(worst)s, zulässig %(limit)s; %(good)s von %(total)s Größen liegen darin (POL-54).",
        total,
    )
    return text % facts


def _matched(measured: Run) -> str:
    if measured.fingerprint:
        return _("Verglichen wird mit der letzten Emulation desselben Fingerabdrucks.")
    return _(
        "Die Messdatei trägt keinen Fingerabdruck; verglichen wird mit der letzten Emulation desselben Modells."
    )


def _table(found: catalog.Forecast) -> dict[str, Any]:
    columns = [
        (_("Größe"), False),
        (_("Prognose"), True),
        (_("Gemessen"), True),
        (_("Fehler"), True),
        (_("Im Intervall"), False),
        (_("POL-54"), False),
    ]
    rows = [
        [
            {"text": metric_name(row.measured.key, row.measured.percentile)},
            blocks.with_interval(row.emulated),
            {"text": formats.metric_value(row.measured), "axes": row.measured.axes},
            {"text": _error(row.error)},
            _verdict(row.inside, _("ja"), _("nein")),
            _verdict(row.within(found.limit), _("eingehalten"), _("überschritten")),
        ]
        for row in found.rows
    ]
    return blocks.table(_("Prognose und Messung"), columns, rows)


def _error(error: Decimal | None) -> str:
    if error is None:
        return _("nicht bestimmbar")
    return f"+{formats.percent(error, 1)}" if error > 0 else formats.percent(error, 1)


def _verdict(value: bool | None, good: str, bad: str) -> dict[str, Any]:
    if value is None:
        return {"text": _("offen")}
    return {
        "status": "HAELT" if value else "VERLETZT",
        "text": good if value else bad,
        "tone": "ok" if value else "bad",
    }
