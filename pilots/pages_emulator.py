"""The page "Emulator": what a language model would do on a wafer. Pure preparation, no rules, nothing is stored."""

from __future__ import annotations

from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from pilots import catalog
from pilots import pages_beside as beside
from pilots import pages_blocks as blocks
from pilots.catalog.wafer_map import View
from qms.core import formats
from qms.core.values import Metric

FIGURES: Final[dict[str, Promise]] = {
    "tokens": lazy("Token je Sekunde"),
    "tokens_each": lazy("Token je Sekunde und Anfrage"),
    "first_token": lazy("Zeit bis zum ersten Token, eine Eingabe"),
    "prompt": lazy("Token der Eingabe je Sekunde"),
    "step": lazy("Zeit je Schritt"),
    "energy": lazy("Energie je Token"),
}
MEMORY: Final[dict[str, Promise]] = {
    "stated": lazy("SRAM laut Hersteller"),
    "usable": lazy("davon in einem Programm nutzbar"),
    "data": lazy("davon für Daten, ohne Code und Stapelspeicher"),
    "weights": lazy("Gewichte des Modells"),
    "cache": lazy("KV-Cache"),
    "used": lazy("belegt, mit Code, Zwischenwerten und Rundung je Element"),
    "free": lazy("frei"),
}
_LISTED_LINES: Final = 200


def answer(found: catalog.Estimate, *, view: View, map_url: str, page_url: str) -> dict[str, Any]:
    """Return the context of the result; map_url: of the picture in this view; page_url: where the form is sent."""
    grown = catalog.over_systems(found)
    return {
        "note": catalog.calibration_note(),
        "headline": headline(found),
        "state": blocks.state_of(catalog.state_of(found.decode)),
        "figures": _figures(found),
        "worth": _worth(found),
        "prompt_refused": found.prefill_refusal_de,
        "causes": _causes(found),
        "memory": _memory(found),
        "limits": _limits(found),
        "ways": blocks.ways_table(catalog.ways(found.machine)),
        "scaling": beside.scaling(grown),
        "published": beside.published(found),
        "claims": beside.claims(found, grown),
        "map": _map(found, view, map_url, page_url),
        "listing": _listing(found),
        "basis": _basis(found),
    }


def as_json(found: catalog.Estimate) -> dict[str, Any]:
    """Return the answer for machines: every figure with its axes, interval and state."""
    figures = {**catalog.figures(found), **catalog.causes(found)}
    return {
        "ok": True,
        "note": catalog.calibration_note(),
        "headline": headline(found),
        "figures": [
            item.metric.to_json() | {"state": item.state.code, "reason": item.state.reason_de}
            for item in figures.values()
        ],
        "memory": [item.to_json() for item in catalog.memory(found).values()],
    } | catalog.provenance(found)


def headline(found: catalog.Estimate) -> str:
    """Return the answer in one sentence."""
    tokens = catalog.figures(found)["tokens"].metric
    question = found.question
    facts = {
        "model": found.config.name,
        "params": _params(found.config.params),
        "machine": blocks.machine_name(found.machine.id),
        "clock": blocks.clock(found.machine.clock_hz.value),
        "tokens": formats.metric_value(tokens),
        "interval": formats.metric_interval(tokens),
        "context": formats.number(question.context, 0),
        "batch": formats.number(question.batch, 0),
    }
    sentence = ngettext(
        "%(model)s (%(params)s) auf %(machine)s bei %(clock)s: %(tokens)s "
        "(%(interval)s) bei %(context)s Token Kontext und einer Anfrage.",
        "%(model)s (%(params)s) auf %(machine)s bei %(clock)s: %(tokens)s "
        "(%(interval)s) bei %(context)s Token Kontext und %(batch)s Anfragen zugleich.",
        question.batch,
    )
    return sentence % facts


def _params(count: int) -> str:
    if count >= 10**9:
        return _("%(n)s\u00a0Mrd. Parameter") % {"n": formats.number(count / 1e9, 1)}
    return _("%(n)s\u00a0Mio. Parameter") % {"n": formats.number(count / 1e6, 1)}


def _shown(found: catalog.Estimate) -> dict[str, catalog.Figure]:
    """Return the figures to show: one request at once needs no figure for each of them."""
    alone = found.question.batch == 1
    return {key: item for key, item in catalog.figures(found).items() if not (alone and key == "tokens_each")}


def _figures(found: catalog.Estimate) -> list[dict[str, Any]]:
    return [
        {
            "label": str(FIGURES[name]),
            "value": formats.metric_value(figure.metric),
            "axes": figure.metric.axes,
            "note": f"{formats.metric_interval(figure.metric)}; {blocks.state_of(figure.state)['label']}",
        }
        for name, figure in _shown(found).items()
    ]


def _worth(found: catalog.Estimate) -> list[dict[str, str]]:
    """Return state, reason and note of every figure."""
    rows = []
    for name, figure in _shown(found).items():
        state = blocks.state_of(figure.state)
        reason = "; ".join(text for text in (state["reason"], figure.metric.note) if text)
        rows.append({"label": str(FIGURES[name]), "state": state["label"], "reason": reason})
    return rows


def _causes(found: catalog.Estimate) -> dict[str, Any]:
    metrics = {name: figure.metric for name, figure in catalog.causes(found).items()}
    title = _("Zeit eines Schritts nach Ursache – emuliert")
    return {
        "chart": blocks.causes_chart(metrics, title),
        "sentence": blocks.largest_cause(metrics),
        "axes": catalog.EMULATED,
    }


def _memory(found: catalog.Estimate) -> dict[str, Any]:
    rows, metrics = [], catalog.memory(found)
    usable = metrics["usable"].value
    columns = [(_("Posten"), False), (_("Größe"), True), (_("Anteil am nutzbaren SRAM"), True)]
    for name, metric in metrics.items():
        share = formats.percent(metric.value / usable)
        rows.append([{"text": str(MEMORY[name])}, _bytes(metric), {"text": share}])
    facts = {
        "used": _size(metrics["used"]),
        "usable": _size(metrics["usable"]),
        "free": _size(metrics["free"]),
    }
    return {
        "sentence": _("Belegt sind %(used)s von %(usable)s nutzbarem SRAM, frei bleiben %(free)s.") % facts,
        "axes": metrics["used"].axes,
        "table": blocks.table(_("Speicher"), columns, rows),
    }


def _bytes(metric: Metric) -> dict[str, Any]:
    interval = metric.interval
    small = ""
    if interval is not None:
        ends = {"lower": blocks.si(interval.lower, "B"), "upper": blocks.si(interval.upper, "B")}
        small = _("%(lower)s bis %(upper)s") % ends
    return {"text": _size(metric), "axes": metric.axes, "small": small}


def _size(metric: Metric) -> str:
    return blocks.si(metric.value, "B")


def _limits(found: catalog.Estimate) -> dict[str, Any]:
    phases = [(_("Antwort"), found.decode)]
    phases += [(_("Eingabe"), found.prefill)] if found.prefill else []
    checks = [item.to_json() | {"phase": label} for label, phase in phases for item in phase.checks]
    return blocks.limits_table(checks, catalog.EMULATED, catalog.FROM_MACHINE)


def _map(found: catalog.Estimate, view: View, map_url: str, page_url: str) -> dict[str, Any]:
    action = f"{page_url}#karte"
    views = [item | {"form": "frage", "action": action} for item in blocks.map_views(view)]
    made = catalog.estimate_tiles(found, view)
    return blocks.wafer_map(made, found.machine, url=map_url, view=view, views=views)


def _listing(found: catalog.Estimate) -> str:
    lines = catalog.listing_of(found).splitlines()
    left = len(lines) - _LISTED_LINES
    if left <= 0:
        return "\n".join(lines)
    return "\n".join([*lines[:_LISTED_LINES], _("… und %(n)d weitere Zeilen") % {"n": left}])


def _basis(found: catalog.Estimate) -> list[dict[str, Any]]:
    facts = catalog.provenance(found)
    return [
        {"label": _("Version des Emulators"), "value": facts["emulator_version"]},
        {"label": _("Maschine"), "value": facts["machine_id"]},
        {"label": _("Betriebsart"), "value": str(blocks.MODES[found.question.mode.value])},
        {"label": _("Prüfsumme der Maschine"), "digest": facts["machine_sha256"]},
        {"label": _("Prüfsumme der Kalibrierung"), "digest": facts["calibration_sha256"]},
        {"label": _("Prüfsumme des Programms"), "digest": facts["program_digest"]},
    ]
