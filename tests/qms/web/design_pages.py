"""The pages of the style guide: every component with realistic content, rendered without database or server."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from django import forms
from django.template import engines
from django.template.loader import render_to_string
from django.test import override_settings
from django.utils import translation

from pilots.wafer import map_png
from qms.core import formats
from qms.core.chart_bars import BarRow, horizontal_bars, sparkline
from qms.core.charts import CdfSeries, Limit, latency_cdf
from qms.core.values import Assurance, Axes, Calibration, Interval, Metric, Origin, Provenance, Unit
from qms.web.templatetags.status_table import STATUS
from qms.web.widgets import ChoiceCards

HERE = Path(__file__).parent
DIGEST = "9f2c1d84e6b7a05533f1c0aa7be94d2206f8d1c3b5a79e40c1d2e3f405162738"
AT = datetime(2026, 11, 4, 15, 42, tzinfo=UTC)
MEASURED = Axes(Provenance.MEASURED, Assurance.SIGNED_BY_COMMAND, Origin.OWN)
EMULATED = Axes(Provenance.EMULATED, Assurance.CROSS_CHECKED, Origin.OWN)
VENDOR = Axes(Provenance.VENDOR_STATED, Assurance.SUBMITTED, Origin.THIRD_PARTY)
FRAME: dict[str, Any] = {
    "demo": True,
    "organisation_name": "Beispielwerk AG (fiktiv)",
    "user": SimpleNamespace(is_authenticated=True, username="owner"),
    "user_label": "Workload-Owner 1",
    "user_roles": "Workload-Owner, Prüfer(in)",
    "user_links": [{"label": "Konto und Passkeys", "url": "/konto/"}],
    "nav": [
        {"label": "Wartet auf mich", "url": "/", "current": False, "count": 3},
        {"label": "Workloads", "url": "/workloads/", "current": False},
        {"label": "Freigaben", "url": "/freigaben/", "current": True},
        {"label": "Plattformen", "url": "/plattformen/", "current": False},
        {"label": "Audit-Protokoll", "url": "/protokoll/", "current": False},
    ],
}


class WorkloadForm(forms.Form):
    title = forms.CharField(label="Titel", help_text="Kurz und so, wie man im Haus davon spricht.")
    process = forms.ChoiceField(
        label="Geschäftsprozess", choices=[("", "Bitte wählen"), ("a", "Ersatzteilversorgung")]
    )
    budget = forms.DecimalField(label="Budget im Jahr in Euro", min_value=0, required=False)
    purpose = forms.CharField(label="Zweck", widget=forms.Textarea(attrs={"rows": 3}))
    model = forms.FileField(
        label="Modellkonfiguration", help_text="config.json, höchstens 1\u00a0MiB.", required=False
    )
    personal = forms.ChoiceField(
        label="Sind Daten von Personen dabei?",
        help_text="Im Zweifel ja.",
        choices=[("ja", "Ja"), ("nein", "Nein")],
        widget=ChoiceCards(hints={"nein": "Weder in Eingaben noch in Protokollen oder Ausgaben."}),
    )
    accept = forms.BooleanField(label="Ich übernehme die Owner-Rolle für diesen Workload.")


class DecisionForm(forms.Form):
    decision = forms.ChoiceField(
        label="Ihre Entscheidung",
        choices=[("FREIGEGEBEN", "Freigeben"), ("BEDINGT", "Bedingt freigeben"), ("ABGELEHNT", "Ablehnen")],
        widget=ChoiceCards(hints={"BEDINGT": "Mit Auflagen, die ein Enddatum haben."}),
    )
    reason = forms.CharField(
        label="Begründung",
        help_text="Erscheint im signierten Dokument.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


def wafer_png() -> bytes:
    """Return the picture the style guide shows as wafer map."""
    return base64.b64decode(_wafer()["data"])


def page(name: str, *, language: str = "de", **extra: Any) -> str:
    """Render `styleguide.html` or `styleguide_freigabe.html` of this folder, or a template of the product."""
    urls = override_settings(ROOT_URLCONF="tests.qms.web.design_urls")
    with translation.override(language), urls:
        context = {**FRAME, **CONTENT[name](), **extra} if name in CONTENT else {**FRAME, **extra}
        if name not in CONTENT:
            return render_to_string(name, context)
        template = engines["django"].from_string((HERE / name).read_text(encoding="utf-8"))
        return template.render(context)


def _components() -> dict[str, Any]:
    form = WorkloadForm({"title": "", "process": "a", "budget": "-5", "personal": ""})
    form.fields["process"].proposed = True  # type: ignore[attr-defined]
    return {
        "crumbs": [{"label": "Start", "url": "/"}, {"label": "Bausteine", "url": ""}],
        "tasks": _tasks(),
        "waiting": [
            {
                "subject": "Datenklassifizierung bestätigen",
                "url": "#",
                "who": "Prüfer(in) 1",
                "since": date(2026, 11, 2),
            }
        ],
        "codes": list(STATUS),
        "metrics": _metrics(),
        "table": _evidence_table(),
        "wide_columns": [
            "WSE-2",
            "WSE-3",
            "DISKRET-4GPU",
            "dieser Rechner",
            "Rechenzentrum A",
            "Rechenzentrum B",
        ],
        "wafer": _wafer(),
        "form": form,
    }


def _tasks() -> list[dict[str, Any]]:
    first = {
        "verb": "Entscheiden",
        "subject": "Ersatzteil-Assistent, Version 3",
        "url": "#",
        "type": "Vorfreigabe",
    }
    second = {
        "verb": "Bestätigen",
        "subject": "Datenklassifizierung: Schadensberichtszusammenfassung",
        "url": "#",
    }
    third = {
        "verb": "Erneuern",
        "subject": "Sicherheitskonzept der Plattform",
        "url": "#",
        "type": "Nachweis",
    }
    return [
        {
            **first,
            "due": date(2026, 11, 3),
            "due_id": "D-04",
            "overdue": True,
            "meta": "von Workload-Owner 1",
        },
        {**second, "type": "Workload", "due": date(2026, 11, 12), "due_id": "D-01"},
        third,
    ]


def _metrics() -> list[Metric]:
    interval = Interval(Decimal("36.1"), Decimal("41.8"))
    return [
        Metric("e2e_latency_ms", Decimal("47.0"), Unit.MILLISECONDS, MEASURED, n=1000, percentile="p95"),
        Metric("e2e_latency_ms", Decimal("38.9"), Unit.MILLISECONDS, EMULATED, interval=interval,
               calibration=Calibration.EXTRAPOLATED, note="Hardwaremodell mit offenen Forschungskernen."),
        Metric("peak_memory_bytes", Decimal(19_300_000), Unit.BYTES, VENDOR, reliable=False),
    ]  # fmt: skip


def _evidence_table() -> dict[str, Any]:
    labels = ["Nachweis", "Wert", "gemessen am", "Prüfsumme", "Ergebnis"]
    rows = [
        ("EV-02 Vergleichsbasis", "p95 47 ms", MEASURED, "GEPRUEFT"),
        ("EV-04 Ziellauf auf dem emulierten Wafer", "p95 38,9 ms", EMULATED, "ERNEUT_ZU_BEWERTEN"),
    ]
    return {
        "label": "Nachweise",
        "columns": [{"label": label, "numeric": label == "Wert"} for label in labels],
        "rows": [
            {
                "cells": [
                    {"header": True, "text": name, "url": "#"},
                    {
                        "label": "Wert",
                        "text": value.replace(" ms", "\u00a0ms"),
                        "axes": axes,
                        "numeric": True,
                    },
                    {"label": "gemessen am", "text": formats.day(AT)},
                    {"label": "Prüfsumme", "digest": DIGEST},
                    {"label": "Ergebnis", "status": status},
                ]
            }
            for name, value, axes, status in rows
        ],
    }


def _wafer() -> dict[str, Any]:
    random = np.random.default_rng(7)
    rows, columns = np.mgrid[0:240, 0:300]
    values = np.clip(
        70 - 0.15 * np.hypot(rows - 120, columns - 150) + random.normal(0, 6, (240, 300)), 0, 100
    )
    made = map_png.tiles(values, random.random((240, 300)) < 0.004)
    data = base64.b64encode(map_png.tiles_png(made)).decode()
    legend = [
        {"colour": "#{:02x}{:02x}{:02x}".format(*map_png.ramp()[step]), "label": f"{step}\u00a0%"}
        for step in (0, 25, 50, 75, 100)
    ]
    labels = ["Feld", "Mittel", "Maximum", "ausgefallen"]
    return {
        "url": "/karte.png", "data": data, "width": made.pes.shape[1], "height": made.pes.shape[0],
        "alt": "Auslastung des Wafers: Mittel 57\u00a0%, am niedrigsten am Rand.",
        "views": [{"label": "Mittel", "url": "?ansicht=mittel", "current": True}, {"label": "Maximum", "url": "#"},
                  {"label": "Ausfälle", "url": "#"}],
        "legend": [*legend, {"colour": map_png.NOTHING_ALIVE, "label": "alle ausgefallen"}],
        "notes": ["Skala fest von 0 bis 100\u00a0%. Ein Feld sind 8 × 8 Rechenelemente."],
        "table": {
            "label": "Zehn auffälligste Felder",
            "columns": [{"label": label, "numeric": label != "Feld"} for label in labels],
            "rows": [{"cells": [
                {"header": True, "text": f"Spalte {spot.column}, Zeile {spot.row}", "url": "#"},
                {"label": "Mittel", "text": formats.percent(spot.mean / 100), "numeric": True},
                {"label": "Maximum", "text": formats.percent(spot.maximum / 100), "numeric": True},
                {"label": "ausgefallen", "text": str(spot.dead), "numeric": True},
            ]} for spot in map_png.conspicuous(made, 3)],
        },
    }  # fmt: skip


def _approval() -> dict[str, Any]:
    return {
        "crumbs": [{"label": "Freigaben", "url": "/freigaben/"}, {"label": "Ersatzteil-Assistent", "url": ""}],
        "head_facts": [
            {"label": "antragstellende Person", "value": "Workload-Owner 1"},
            {"label": "Prüfsumme des Inhalts", "digest": DIGEST},
            {"label": "fällig am", "value": "18.11.2026"},
        ],
        "steps": [{"label": label, "state": state} for label, state in (
            ("Entwurf", "done"), ("Eingereicht", "done"), ("In Prüfung", "done"),
            ("Entscheidungsreif", "current"), ("Freigegeben", "open"))],
        "figures": [
            {"label": "Latenz p95, Zielplattform", "value": "38,9\u00a0ms", "axes": EMULATED, "note": "Grenzwert 50\u00a0ms, beurteilt: 41,8\u00a0ms"},
            {"label": "Latenz p95, Vergleichsbasis", "value": "47\u00a0ms", "axes": MEASURED},
            {"label": "Kosten im Jahr", "value": "184.300\u00a0€", "axes": VENDOR},
        ],
        "criteria": _criteria(),
        "not_applicable": [{"id": "G5-3", "title": "Beschäftigtendaten", "reason": "kein Kennzeichen F-BD gesetzt ist."}],
        "changes": [
            {"field": "Grenzwert Latenz p95", "before": "60\u00a0ms", "now": "50\u00a0ms", "who": "Workload-Owner 1", "at": AT, "touches": "G4-2, EV-04"},
            {"field": "Sicherheitskonzept", "before": "Fassung 2", "carried": True, "who": "Informationssicherheit 1", "at": AT, "touches": "G2-1"},
        ],
        "table": _evidence_table(),
        "cdf": cdf_chart(),
        "bars": bars_chart(),
        "spark": sparkline("Latenz p95", [41.0, 40.2, 38.1, 39.5, 38.9], unit="ms"),
        "decision_form": DecisionForm(),
        "events": [
            {"at": AT, "sentence": "Prüfer(in) 1 hat zugestimmt: Qualität, Informationssicherheit, Betrieb, Kosten.", "url": "#"},
            {"at": AT.replace(day=3), "sentence": "Workload-Owner 1 hat die Vorfreigabe beantragt."},
            {"at": AT.replace(day=2), "sentence": "Der Ziellauf ist beendet; Ziele und Abbruchkriterien sind eingefroren."},
        ],
        "log_url": "#",
    }  # fmt: skip


def _criteria() -> list[dict[str, Any]]:
    return [
        {"id": "G4-6", "title": "Nutzen gegenüber der Vergleichsbasis", "status": "OFFEN", "who": "",
         "reason": "Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner.",
         "asked": "Ein Faktor gegenüber der Plattform, die ersetzt werden soll.", "why": "Regelwerk kompakt 0.2.0",
         "missing": "EV-02 von der echten Vergleichsplattform", "closes": "Workload-Owner",
         "next_step": "Vergleichsbasis auf der Plattform messen", "next_url": "#"},
        {"id": "G4-2", "title": "Latenz p95 unter dem Grenzwert", "status": "NICHT_ERFUELLT", "who": "automatisch", "when": AT,
         "reason": "Nachweis fehlt.", "value": "41,8\u00a0ms (ungünstiges Ende)", "axes": EMULATED, "threshold": "40\u00a0ms"},
        {"id": "G1-1", "title": "Datenklassifizierung bestätigt", "status": "ERFUELLT", "who": "Prüfer(in) 1", "when": AT,
         "evidence": {"label": "EV-01", "url": "#"}, "asked": "Alle sieben Datenarten sind eingestuft."},
        {"id": "G3-4", "title": "Ausweichübung durchgeführt", "status": "AUSNAHME", "who": "Freigeber(in) 1", "when": AT,
         "reason": "Ausnahme bis 31.01.2027."},
    ]  # fmt: skip


def cdf_chart() -> Any:
    """Return a latency chart with two series, a limit and a tail beyond the axis."""
    base = ((0, 22), (0.25, 29), (0.5, 33.5), (0.75, 38), (0.9, 43), (0.95, 47), (0.99, 58), (1, 91))
    goal = ((0, 20), (0.25, 24), (0.5, 27), (0.75, 31), (0.95, 38.9), (0.99, 42), (1, 44))
    series = [CdfSeries("Vergleichsbasis (gemessen)", base), CdfSeries("Ziellauf (emuliert)", goal)]
    return latency_cdf(series, limit=Limit(50, "Grenzwert 50\u00a0ms"))


def bars_chart() -> Any:
    """Return a bar chart with intervals and a limit."""
    rows = [
        BarRow("GPU-Cluster, heutiger Betrieb (gemessen)", 212_400, tone=3),
        BarRow("Wafer, erwartete Auslastung (geschätzt)", 184_300, 151_000, 221_000),
        BarRow("Wafer, halbe Auslastung (geschätzt)", 301_900, 262_000, 344_000),
    ]
    limit = Limit(250_000, "Budget 250.000\u00a0€")
    return horizontal_bars(
        rows, unit="EUR", title="Kosten im Jahr", axis="Euro im Jahr", limit=limit, decimals=0
    )


def _passkey() -> dict[str, Any]:
    options = {"challenge": "AAECAwQFBgcICQoLDA0ODw", "rpId": "localhost", "userVerification": "required"}
    return {"options": {"publicKey": options}}


CONTENT = {"styleguide.html": _components, "styleguide_freigabe.html": _approval, "passkey.html": _passkey}
