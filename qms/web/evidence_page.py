"""The stored facts of a piece of evidence as tables: known keys get their German name, unknown ones stay as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals import figures
from qms.core import formats, store
from qms.core.values import Metric, MetricError
from qms.evidence.models import EvidenceItem
from qms.web.templatetags.status_table import STATUS
from qms.workloads.choices import PlatformKind

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_NAMES: Final[dict[str, Promise | str]] = {
    "role": lazy("Art des Laufs"),
    "source": lazy("Entstanden durch"),
    "mode": lazy("Betriebsmodus"),
    "tool": lazy("Werkzeug"),
    "emulator_version": lazy("Version des Emulators"),
    "repetitions": lazy("Wiederholungen"),
    "iterations": lazy("Durchläufe je Wiederholung"),
    "throughput_cv": lazy("Streuung des Durchsatzes"),
    "failed_requests": lazy("Fehlgeschlagene Anfragen"),
    "measured_at": lazy("gemessen am"),
    "started_at": lazy("begonnen am"),
    "peak_sram_bytes": lazy("Belegter Speicher auf dem Wafer"),
    "sram_capacity_bytes": lazy("Vorhandener Speicher auf dem Wafer"),
    "off_wafer_bytes": lazy("Verkehr außerhalb des Wafers"),
    "unsupported_ops": lazy("Nicht unterstützte Operatoren"),
    "calibration_note": lazy("Kalibrierung"),
    "fingerprint": lazy("Fingerabdruck des Workloads"),
    "model_digest": lazy("Prüfsumme des Modells"),
    "criteria_sha256": lazy("Prüfsumme der eingefrorenen Kriterien"),
    "result_digest": lazy("Prüfsumme des Ergebnisses"),
    "machine_sha256": lazy("Prüfsumme der Maschinenbeschreibung"),
    "program_digest": lazy("Prüfsumme des Programms"),
    "environment_digest": lazy("Prüfsumme der Messumgebung"),
    "manifest_sha256": lazy("Prüfsumme des Laufmanifests"),
    "raw_sha256": lazy("Prüfsumme der Rohdatei"),
    "validity": lazy("Gültigkeit des Laufs"),
    "note": lazy("Hinweis"),
    "hardware_gen": lazy("Hardware"),
    "system_release": lazy("System-Release"),
    "framework_release": lazy("Framework"),
    "operating_model": lazy("Betriebsmodell"),
    "profile": lazy("Plattformprofil"),
    "profile_version": lazy("Version des Profils"),
    "kind": lazy("Art der Plattform"),
    "bestand": lazy("im Bestand"),
    "development_machine": lazy("Entwicklungsrechner"),
    "devices": lazy("Geräte"),
    "memory_bytes": lazy("Speicher je Gerät"),
    "topology": lazy("Verbindung"),
    "sharding": lazy("Aufteilung"),
    "reference": lazy("Verglichen mit"),
    "framework": lazy("Framework"),
    "version": lazy("Release des Frameworks"),
    "provenance": lazy("Übernahme aus dem Framework"),
    "total_ops": lazy("Operationen"),
    "unsupported_ratio": lazy("Anteil nicht unterstützter Operationen"),
    "custom_ops": lazy("Eigene Operationen"),
    "weight_bytes": lazy("Größe der Gewichte"),
    "partitioning_required": lazy("Aufteilung auf mehrere Systeme nötig"),
    "partitioning_reason": lazy("Begründung der Aufteilung"),
    "lineage.commit": lazy("Stand des Quelltexts (Commit)"),
    "lineage.data_sha256": lazy("Trainingsdaten"),
    "lineage.inputs_sha256": lazy("Eingaben des Laufs"),
    "lineage.environment": lazy("Umgebung der Aufzeichnung"),
    "lineage.seed": lazy("Startwert"),
    "lineage.registry": lazy("Eintrag im Modellverzeichnis"),
    "lineage.artefact": lazy("Modelldatei"),
    "open_links": lazy("Herkunft nicht angegeben"),
    "replay.equal": lazy("Nachgerechnet, gleiches Ergebnis"),
    "replay.digest": lazy("Prüfsumme der Nachrechnung"),
}
_SILENT: Final = frozenset(
    {"type", "format", "run_id", "metrics", "platform", "outputs", "op_coverage", "plausibility", "manifest"}
    | {
        "cross_check",
        "replay",
        "lineage",
        "open_links",
        "operations",
        "adaptations",
        "porting_effort_pt",
        "effort_reasons",
    }
)
_MODES: Final = {
    "RESIDENT": lazy("Gewichte liegen auf dem Wafer"),
    "WEIGHT_STREAMING": lazy("Gewichte werden geladen"),
}
_ROLES: Final = {"ZIEL": lazy("Ziellauf"), "BASELINE": lazy("Vergleichsbasis")}
_SOURCES: Final = {
    "MESSBEFEHL": lazy("Messbefehl"),
    "IMPORT": lazy("eingereichte Datei"),
    "EMULATOR": lazy("Emulator"),
}


@dataclass(frozen=True, slots=True)
class FactsView:
    """The facts of one piece of evidence; damaged: the stored file no longer has its digest."""

    damaged: bool = False
    metrics: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    platform: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)
    manifest: list[dict[str, Any]] = field(default_factory=list)


def facts_view(item: EvidenceItem) -> FactsView:
    """Return the facts of a piece of evidence in tables; damaged files give an empty view that says so."""
    try:
        facts = item.facts()
    except store.StoredFileError:
        return FactsView(damaged=True)
    replay = {f"replay.{key}": value for key, value in (facts.get("replay") or {}).items()}
    shown = {key: value for key, value in facts.items() if key not in _SILENT}
    return FactsView(
        metrics=[_metric(row) for row in facts.get("metrics", [])],
        outputs=[_output(row) for row in _outputs(facts)],
        rows=_rows(shown | replay | _lineage(facts)),
        platform=_rows(facts.get("platform") or {}),
        operators=facts.get("op_coverage") or [_operation(row) for row in facts.get("operations", [])],
        manifest=_rows(_flat(facts.get("manifest") or {})),
    )


def headline(item: EvidenceItem) -> dict[str, Any]:
    """Return the few values of a piece of evidence that a reviewer compares first."""
    found = facts_view(item)
    wanted = {
        "repetitions",
        "iterations",
        "throughput_cv",
        "mode",
        "replay.equal",
        "unsupported_ops",
        "manifest_sha256",
    }
    first = [
        row
        for row in found.metrics
        if row["metric"].key.startswith("throughput") or row["metric"].percentile == "p95"
    ]
    return {
        "damaged": found.damaged,
        "metrics": first[:3],
        "rows": [row for row in found.rows if row["key"] in wanted],
        "outputs": found.outputs,
    }


def _metric(row: dict[str, Any]) -> dict[str, Any]:
    try:
        metric = Metric.from_json(row)
    except MetricError:
        return {"name": str(row.get("key", "")), "metric": None}
    return {
        "name": figures.metric_name(metric),
        "metric": metric,
        "interval": formats.metric_interval(metric),
    }


def _output(row: dict[str, Any]) -> dict[str, Any]:
    numbers = ("max_abs_delta", "max_abs_reference", "rtol")
    return {**row, **{name: formats.number(Decimal(row[name])) for name in numbers if row.get(name)}}


def _outputs(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the compared outputs, then those of the cross-check with the name of their reference."""
    own = facts.get("cross_check") or {"reference": "", "outputs": []}
    return [
        *facts.get("outputs", []),
        *(row | {"name": f"{row['name']} ({own['reference']})"} for row in own["outputs"]),
    ]


def _lineage(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the links of the chain of origin, and by name those that nobody stated."""
    given = {f"lineage.{key}": value for key, value in facts.get("lineage", {}).items() if key != "run_id"}
    if "lineage.environment" in given:
        given["lineage.environment"] = dict(given["lineage.environment"])
    missing = [str(_NAMES.get(f"lineage.{name}", name)) for name in facts.get("open_links", [])]
    return given | {"open_links": missing}


def _operation(row: dict[str, Any]) -> dict[str, str]:
    """Return an operation of the framework with its kernels, or the reason why it has none."""
    return {"op": row["op"], "kernel": row["reason"] or ", ".join(row["kernels"])}


def _rows(facts: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for key, value in facts.items():
        if value in ("", None, [], {}) and key != "unsupported_ops":
            continue
        row: dict[str, Any] = {"key": key, "label": str(_NAMES.get(key, key))}
        if isinstance(value, str) and _SHA256.fullmatch(value):
            row["digest"] = value
        else:
            row["value"] = _words(key, value)
        found.append(row)
    return sorted(found, key=lambda one: "digest" in one)


def _words(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("ja") if value else _("nein")
    if isinstance(value, int):
        return formats.byte_size(value) if key.endswith("_bytes") else formats.number(value, 0)
    if isinstance(value, str):
        return _text(key, value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or _("keine")
    if isinstance(value, dict):
        return ", ".join(f"{name}: {item}" for name, item in value.items())
    return str(value)


def _text(key: str, value: str) -> str:
    if key.endswith(("_cv", "_ratio")):
        return formats.percent(Decimal(value))
    if key.endswith("_at"):
        return formats.moment(datetime.fromisoformat(value))
    known: dict[str, Mapping[str, object]] = {
        "mode": _MODES,
        "source": _SOURCES,
        "role": _ROLES,
        "kind": {kind.value: kind.label for kind in PlatformKind},
        "validity": {code: STATUS[code][0] for code in ("GUELTIG", "UNGUELTIG", "AUSSERHALB_KALIBRIERUNG")},
    }
    return str(known.get(key, {}).get(value, value))


def _flat(value: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return nested objects, also in lists, as one with dotted names; rows of a list are numbered from 1."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{path}.{key}" if path else key
        inner = _numbered(item)
        found |= _flat(inner, name) if isinstance(inner, dict) else {name: inner}
    return found


def _numbered(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return {str(number): row for number, row in enumerate(value, start=1)}
    return value
