"""Building blocks that pages of the emulator share: causes of time, wafer map, ways, limits, states. No rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import pgettext

from pilots import catalog
from pilots.catalog import wafer_map as maps
from pilots.catalog.wafer_map import View
from qms.core import formats
from qms.core.chart_bars import BarRow, horizontal_bars
from qms.core.values import Axes, Metric
from qms.web import tables

STATES: Final[dict[str, tuple[Promise, str]]] = {
    "KALIBRIERT": (lazy("kalibriert"), "ok"),
    "EXTRAPOLIERT": (lazy("extrapoliert"), "warn"),
    "AUSSERHALB_KALIBRIERUNG": (lazy("außerhalb der Kalibrierung"), "bad"),
}
MODES: Final[dict[str, Promise]] = {
    "RESIDENT": lazy("Gewichte im Wafer"),
    "WEIGHT_STREAMING": lazy("Gewichte von außen"),
}
CAUSES: Final[dict[str, Promise]] = {
    "compute": lazy("Rechnen"),
    "memory": lazy("Speicher der Rechenelemente"),
    "fabric": lazy("Netz auf dem Wafer"),
    "launch": lazy("Start der Kernel"),
    "off_wafer": lazy("Warten auf Gewichte von außen"),
    "host": lazy("Host und Übertragung"),
}
WAYS: Final[dict[str, Promise]] = {
    "neighbour": lazy("Nachbar"),
    "mean": lazy("Mittel aller Paare"),
    "worst": lazy("Längster Weg"),
    "worst_westbound": lazy("Längster Weg nach Westen"),
    "broadcast": lazy("Verteilen auf alle"),
    "all_reduce": lazy("Summe über alle (Allreduce)"),
}
LIMITS: Final[dict[str, Promise]] = {
    "effective FLOP/s": lazy("Rechenleistung"),
    "effective SRAM bandwidth": lazy("Bandbreite des SRAM"),
    "resident bytes": lazy("Belegter Speicher"),
    "off-wafer bytes": lazy("Bytes über die Wafergrenze"),
}
VIEWS: Final[dict[View, Promise]] = {
    View.MEAN: lazy("Mittel"),
    View.MAXIMUM: lazy("Maximum"),
    View.DEAD: lazy("Ausfälle"),
}
table: Final = tables.table
_SI: Final = ("", "k", "M", "G", "T", "P", "E")
_PIXELS: Final = 3  # of the picture for each tile


def si(value: float | Decimal, unit: str) -> str:
    """Return a quantity in decimal steps of its unit, bytes in binary ones: "22,2 TFLOP/s", "44,0 GiB"."""
    if unit == "B":
        return formats.byte_size(value)
    amount, step = float(value), 0
    while abs(amount) >= 1000 and step < len(_SI) - 1:
        amount, step = amount / 1000, step + 1
    return f"{formats.number(amount, 1 if step else 0)}{formats.NBSP}{_SI[step]}{unit}"


def clock(hertz: int) -> str:
    """Return a clock: "0,85 GHz"."""
    return f"{formats.number(hertz / 1e9, 2)}{formats.NBSP}GHz"


def machine_name(machine_id: str) -> str:
    """Return what people call a machine: "WSE-2"."""
    return machine_id.partition("@")[0].upper()


def machine_label(choice: catalog.Choice) -> str:
    """Return what a machine at one of its clocks is called: "WSE-2, 0,85 GHz"."""
    return f"{machine_name(choice.id)}, {clock(choice.clock_hz)}"


def state_badge(code: str) -> dict[str, str]:
    """Return code, label and tone of a state of EM-04."""
    label, tone = STATES[code]
    return {"code": code, "label": str(label), "tone": tone}


def state_of(state: catalog.State) -> dict[str, str]:
    """Return the badge of a state with its reason, which is German."""
    return state_badge(state.code) | {"reason": state.reason_de}


def state_cell(state: catalog.State) -> dict[str, Any]:
    """Return a cell of a table with the badge of a state and its reason."""
    shown = state_of(state)
    return {"status": shown["code"], "text": shown["label"], "tone": shown["tone"], "small": shown["reason"]}


def with_interval(metric: Metric) -> dict[str, Any]:
    """Return a cell of a table with value, axes and interval."""
    small = formats.metric_interval(metric)
    return {"text": formats.metric_value(metric), "axes": metric.axes, "small": small}


def causes_chart(found: dict[str, Metric], title: str) -> Any:
    """Return the bars of the milliseconds by cause, with their intervals."""
    rows = [_bar(str(CAUSES[name]), metric) for name, metric in found.items() if metric.value]
    return horizontal_bars(rows, unit="ms", title=title, axis=_("Millisekunden, emuliert")) if rows else None


def _bar(label: str, metric: Metric) -> BarRow:
    interval = metric.interval
    ends = (float(interval.lower), float(interval.upper)) if interval else (None, None)
    return BarRow(label, float(metric.value), *ends)


def largest_cause(found: dict[str, Metric]) -> str:
    """Return the sentence that names the largest cause and its share."""
    total = sum((metric.value for metric in found.values()), Decimal(0))
    name = max(found, key=lambda key: found[key].value)
    if not total:
        return ""
    facts = {"cause": str(CAUSES[name]), "share": formats.percent(found[name].value / total, 0)}
    return _("Die meiste Zeit braucht: %(cause)s (%(share)s).") % facts


def ways_table(ways: tuple[catalog.Way, ...]) -> dict[str, Any]:
    """Return the table of latencies between elements."""
    columns = [(_("Weg"), False), (_("Sprünge"), True), (_("Takte"), True), (_("Zeit"), True)]
    rows: list[list[dict[str, Any]]] = [
        [
            {"text": str(WAYS[way.key]), "small": way.note_de},
            {"text": formats.number(way.hops, 0)},
            {"text": formats.number(way.cycles.value, 0)},
            {"text": f"{formats.number(way.latency_ns, 1)}{formats.NBSP}ns", "axes": way.cycles.axes},
        ]
        for way in ways
    ]
    return table(_("Wege auf dem Wafer"), columns, rows)


def limits_table(checks: list[dict[str, Any]], value_axes: Axes, limit_axes: Axes) -> dict[str, Any]:
    """Return the table of the physical limits (EM-11); checks as the emulator writes them, with a `phase` or none."""
    columns = [(_("Grenze"), False), (_("Wert"), True), (_("höchstens"), True), (_("Urteil"), False)]
    rows = [
        [
            {"text": str(LIMITS.get(item["name"], item["name"])), "small": item.get("phase", "")},
            {"text": si(int(item["value"]), item["unit"]), "axes": value_axes},
            {"text": si(int(item["limit"]), item["unit"]), "axes": limit_axes},
            {
                "status": "HAELT" if item["holds"] else "VERLETZT",
                "text": _("eingehalten") if item["holds"] else _("verletzt"),
                "tone": "ok" if item["holds"] else "bad",
            },
        ]
        for item in checks
    ]
    return table(_("Physikalische Grenzen"), columns, rows)


def view_of(text: str | None) -> View:
    """Return the view of the wafer map that a person asks for; the maximum if it is none of them."""
    return View(text) if text in set(View) else View.MAXIMUM


def wafer_map(
    made: maps.Tiles, machine: Any, *, url: str, view: View, views: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the context of the wafer map: picture, legend, notes, and the table of the tiles to look at first.

    made: the tiles of this view; url: of the picture; views: what leads to the others.
    """
    dead = view is View.DEAD
    return {
        "url": url,
        "width": made.pes.shape[1] * _PIXELS,
        "height": made.pes.shape[0] * _PIXELS,
        "alt": _alt(made, view),
        "views": views,
        "legend": _dead_legend() if dead else _ramp_legend(),
        "notes": _failure_notes(machine) if dead else _use_notes(),
        "table": _spots(made, view),
    }


def map_views(current: View) -> list[dict[str, Any]]:
    """Return the three views of the wafer map; the caller adds the address of each."""
    return [
        {"value": view.value, "label": str(label), "current": view is current}
        for view, label in VIEWS.items()
    ]


def _alt(made: maps.Tiles, view: View) -> str:
    facts = {"used": int((made.maximum > 0).sum()), "total": made.pes.size, "hit": int((made.dead > 0).sum())}
    if view is View.DEAD:
        return (
            _("Ausgedachte Ausfälle: %(hit)d von %(total)d Feldern enthalten ausgefallene Elemente.") % facts
        )
    return _("Belegter Speicher je Feld: %(used)d von %(total)d Feldern tragen das Programm.") % facts


def _use_notes() -> list[str]:
    return [
        _(
            "Belegter Speicher je Rechenelement (SRAM), Skala fest von 0 bis 100\u00a0%. Ein Feld sind 8 × 8 Rechenelemente."
        ),
        _("Emuliert: Belegung nach dem übersetzten Programm."),
    ]


def _failure_notes(machine: Any) -> list[str]:
    found = catalog.failures(machine)
    facts = {
        "dead": formats.number(found.dead, 0),
        "all": formats.number(found.manufactured, 0),
        "cycles": formats.number(found.extra_cycles, 0),
    }
    return [
        _(
            "Ausgedacht, nicht gemessen: Bei der veröffentlichten Ausbeute fallen %(dead)s von %(all)s gefertigten "
            "Rechenelementen aus. Eine Karte echter Ausfälle ist nicht veröffentlicht."
        )
        % facts,
        _(
            "Ersatzspalten ersetzen sie: Das Programm sieht das volle Rechteck, der längste Weg wird um höchstens "
            "%(cycles)s Takte länger. Gezählt sind Ausfälle je Feld von 8 × 8."
        )
        % facts,
    ]


def _ramp_legend() -> list[dict[str, str]]:
    colours = maps.ramp()
    return [
        {"colour": "#{:02x}{:02x}{:02x}".format(*colours[step]), "label": formats.percent(step / 100, 0)}
        for step in (0, 25, 50, 75, 100)
    ]


def _dead_legend() -> list[dict[str, str]]:
    labels = ("0", "1", "2–3", _("4 und mehr"))
    return [
        {"colour": colour, "label": label} for colour, label in zip(maps.DEAD_COLOURS, labels, strict=True)
    ]


def _spots(made: maps.Tiles, view: View) -> dict[str, Any]:
    spots = maps.conspicuous(made)
    places = [{"text": _("Spalte %(x)d, Zeile %(y)d") % {"x": spot.column, "y": spot.row}} for spot in spots]
    if view is View.DEAD:
        columns = [(pgettext("Karte", "Feld"), False), (_("Ausfälle"), True)]
        counts = [[{"text": formats.number(spot.dead, 0)}] for spot in spots]
    else:
        columns = [(pgettext("Karte", "Feld"), False), (_("Mittel"), True), (_("Maximum"), True)]
        counts = [
            [{"text": formats.percent(spot.mean / 100)}, {"text": formats.percent(spot.maximum / 100)}]
            for spot in spots
        ]
    rows = [[place, *values] for place, values in zip(places, counts, strict=True)]
    return table(_("Zehn auffälligste Felder"), columns, rows)
