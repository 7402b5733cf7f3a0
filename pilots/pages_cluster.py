"""The page "GPU-Cluster": what a language model would do on connected GPUs. Pure preparation, no rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from pilots import pages_blocks as blocks
from pilots import pages_cluster_picture as picture
from pilots.catalog import EMULATED, Figure, cluster
from qms.core import formats
from qms.core.chart_bars import BarRow, horizontal_bars
from qms.core.values import Assurance, Axes, Metric, Origin

FIGURES: Final[dict[str, Promise]] = {
    "tokens": lazy("Token je Sekunde"),
    "first_token": lazy("Zeit bis zum ersten Token, ohne Warteschlange"),
    "step": lazy("Zeit je Ausgabetoken"),
    "whole": lazy("Zeit bis zum letzten Token"),
    "comm_share": lazy("Anteil Kommunikation"),
    "mem_stall_share": lazy("Anteil Warten auf Speicher"),
}
PARTS: Final[dict[str, Promise]] = {
    "compute": lazy("Rechnen"),
    "mem_wall": lazy("Warten auf Speicher (HBM)"),
    "net_serialisation": lazy("Netz zwischen GPUs"),
    "bubble": lazy("Leerlauf der Pipeline"),
    "launch": lazy("Start der Kernel"),
    "host": lazy("Host und Ablaufplanung"),
}
MEMORY: Final[dict[str, Promise]] = {
    "capacity": lazy("Speicher einer GPU laut Hersteller"),
    "usable": lazy("davon nutzbar (90 %)"),
    "weights": lazy("Gewichte des Modells, je GPU"),
    "cache": lazy("KV-Cache bei voller Länge, je GPU"),
    "need": lazy("Bedarf je GPU"),
    "free": lazy("frei"),
}


def answer(found: cluster.ClusterAnswer) -> dict[str, Any]:
    """Return the context of the result."""
    return {
        "note": cluster.note(),
        "headline": headline(found),
        "state": blocks.state_of(found.state),
        "figures": _figures(found),
        "chart": parts_chart(
            cluster.parts(found.whole), _("Zeit bis zum letzten Token nach Ursache – emuliert")
        ),
        "axes": EMULATED,
        "memory": _memory(found),
        "topology": topology(found.asked.topology, found.asked.gpus),
        "basis": _basis(found),
    }


def as_json(found: cluster.ClusterAnswer) -> dict[str, Any]:
    """Return the answer for machines: every figure with its axes, interval and state."""
    figures = {**cluster.figures(found), **cluster.parts(found.whole)}
    return {
        "ok": True,
        "note": cluster.note(),
        "headline": headline(found),
        "figures": [
            item.metric.to_json() | {"state": item.state.code, "reason": item.state.reason_de}
            for item in figures.values()
        ],
        "memory": [item.to_json() for item in cluster.memory(found).values()],
    } | cluster.provenance()


def headline(found: cluster.ClusterAnswer) -> str:
    """Return the answer in one sentence."""
    tokens = cluster.figures(found)["tokens"].metric
    asked = found.asked
    facts = {
        "model": asked.config.name,
        "gpus": formats.number(asked.gpus, 0),
        "device": found.case.device.name,
        "tokens": formats.metric_value(tokens),
        "interval": formats.metric_interval(tokens),
        "prompt": formats.number(asked.prompt, 0),
        "answer": formats.number(asked.answer, 0),
        "batch": formats.number(asked.batch, 0),
    }
    sentence = ngettext(
        "%(model)s auf %(gpus)s × %(device)s: %(tokens)s (%(interval)s) bei %(prompt)s Token Eingabe, "
        "%(answer)s Token Antwort und einer Anfrage.",
        "%(model)s auf %(gpus)s × %(device)s: %(tokens)s (%(interval)s) bei %(prompt)s Token Eingabe, "
        "%(answer)s Token Antwort und %(batch)s Anfragen zugleich.",
        asked.batch,
    )
    return sentence % facts


def parts_chart(parts: Mapping[str, Figure], title: str) -> Any:
    """Return the bars of the milliseconds by cause, with their intervals."""
    rows = [_bar(str(PARTS[name]), item.metric) for name, item in parts.items() if item.metric.value]
    return horizontal_bars(rows, unit="ms", title=title, axis=_("Millisekunden, emuliert")) if rows else None


def _bar(label: str, metric: Metric) -> BarRow:
    interval = metric.interval
    ends = (float(interval.lower), float(interval.upper)) if interval else (None, None)
    return BarRow(label, float(metric.value), *ends)


def topology(profile: cluster.Topology, used: int) -> dict[str, Any]:
    """Return picture, path and links of a profile of whose GPUs a plan uses the first `used`."""
    return {
        "name": profile.name,
        "drawings": picture.drawings(profile, used),
        "sentence": path_sentence(profile),
        "table": _links(profile),
    }


def path_sentence(profile: cluster.Topology) -> str:
    """Return the way from the first GPU to the last: links, the narrowest of them, and the sum of latencies (S007)."""
    last = profile.gpus - 1
    path = profile.path(0, last)
    facts = {
        "last": last,
        "n": len(path),
        "names": ", ".join(link.name for link in path),
        "slowest": picture.speed(min(link.bytes_per_s.value for link in path)),
        "delay": picture.delay(sum(link.latency_s.value for link in path)),
    }
    sentence = ngettext(
        "Der Weg von GPU 0 zu GPU %(last)d führt über eine Verbindung (%(names)s): höchstens %(slowest)s in einer "
        "Richtung, %(delay)s Latenz.",
        "Der Weg von GPU 0 zu GPU %(last)d führt über %(n)d Verbindungen (%(names)s): höchstens %(slowest)s in einer "
        "Richtung, zusammen %(delay)s Latenz.",
        len(path),
    )
    return sentence % facts


def _links(profile: cluster.Topology) -> dict[str, Any]:
    columns = [(_("Verbindung"), False), (_("Bandbreite, eine Richtung"), True), (_("Latenz"), True)]
    rows: list[list[dict[str, Any]]] = []
    for index, link in enumerate(profile.links):
        axes = [
            Axes(figure.provenance, Assurance.SUBMITTED, Origin.PUBLISHED)
            for figure in (link.bytes_per_s, link.latency_s)
        ]
        rows.append(
            [
                {"text": _place(profile, index), "small": link.name},
                {"text": picture.speed(link.bytes_per_s.value), "axes": axes[0]},
                {"text": picture.delay(link.latency_s.value), "axes": axes[1]},
            ]
        )
    return blocks.table(_("Verbindungen"), columns, rows)


def _place(profile: cluster.Topology, index: int) -> str:
    link = profile.links[index]
    if profile.kind is cluster.Kind.CHAIN:
        return _("GPU %(a)d – GPU %(b)d") % {"a": link.a, "b": link.b}
    return _("im Knoten, je GPU") if profile.is_local(index) else _("zwischen Knoten, je GPU")


def _figures(found: cluster.ClusterAnswer) -> list[dict[str, Any]]:
    rows = []
    for name, figure in cluster.figures(found).items():
        notes = [formats.metric_interval(figure.metric), blocks.state_of(figure.state)["label"]]
        rows.append(
            {
                "label": str(FIGURES[name]),
                "value": formats.metric_value(figure.metric),
                "axes": figure.metric.axes,
                "note": "; ".join(text for text in notes if text),
            }
        )
    return rows


def _memory(found: cluster.ClusterAnswer) -> dict[str, Any]:
    metrics = cluster.memory(found)
    columns = [(_("Posten"), False), (_("Größe"), True), (_("Anteil am nutzbaren Speicher"), True)]
    usable = metrics["usable"].value
    rows: list[list[dict[str, Any]]] = [
        [
            {"text": str(MEMORY[name])},
            {"text": formats.byte_size(metric.value), "axes": metric.axes},
            {"text": formats.percent(metric.value / usable)},
        ]
        for name, metric in metrics.items()
    ]
    facts = {name: formats.byte_size(metrics[name].value) for name in ("need", "usable")}
    sentence = _(
        "Je GPU werden %(need)s von %(usable)s nutzbarem Speicher gebraucht; gemeinsamen Speicher gibt es nicht."
    )
    return {
        "sentence": sentence % facts,
        "axes": metrics["need"].axes,
        "table": blocks.table(_("Speicher"), columns, rows),
    }


def _basis(found: cluster.ClusterAnswer) -> list[dict[str, Any]]:
    return [
        {"label": _("Software, deren Konstanten gelten"), "value": found.case.stack},
        {"label": _("GPU"), "value": found.case.device.name},
        {"label": _("Verbindung der GPUs"), "value": found.asked.topology.name},
        {"label": _("Zahlentyp"), "value": _("16 Bit (bfloat16)")},
        {"label": _("Prüfsumme der Kalibrierung"), "digest": cluster.provenance()["calibration_sha256"]},
    ]
