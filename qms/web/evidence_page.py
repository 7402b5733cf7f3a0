"""The stored facts of a piece of evidence in words and tables; what has no German name stands in the listing alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from qms.approvals import figures
from qms.core import formats, store
from qms.core.values import Assurance, Axes, Metric, MetricError, Origin, Provenance
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.web import evidence_costs, evidence_deviations, evidence_holders, evidence_porting, evidence_targets
from qms.web.evidence_names import MANIFEST, NAMES, WORDS
from qms.web.templatetags.status_table import STATUS
from qms.workloads.choices import PlatformKind

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
SEEDED: Final = "mlp"  # kind of model that is made of layer widths
BUSINESS: Final = frozenset({EvidenceType.COSTS, EvidenceType.DEMAND})  # shown by tables of their own
MAX_LISTING: Final = 200_000  # characters of the facts on the page; whoever wants more takes the file


@dataclass(frozen=True, slots=True)
class FactsView:
    """The facts of one piece of evidence; damaged: the stored file no longer has its digest."""

    damaged: bool = False
    metrics: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    platform: list[dict[str, Any]] = field(default_factory=list)
    operations: dict[str, Any] | None = None
    effort: dict[str, Any] | None = None
    targets: dict[str, Any] | None = None
    manifest: list[dict[str, Any]] = field(default_factory=list)
    recorded: dict[str, Any] | None = None
    costs: dict[str, Any] | None = None
    demand: dict[str, Any] | None = None
    listing: str = ""


def facts_view(item: EvidenceItem) -> FactsView:
    """Return the facts of a piece of evidence in tables; damaged files give an empty view that says so."""
    try:
        facts = item.facts()
    except store.StoredFileError:
        return FactsView(damaged=True)
    replay = {f"replay.{key}": value for key, value in (facts.get("replay") or {}).items()}
    recorded_once = evidence_holders.table_of(item.type, facts)
    listing = json.dumps(facts, ensure_ascii=False, indent=1, sort_keys=True)
    return FactsView(
        metrics=[_metric(row) for row in facts.get("metrics", [])],
        outputs=[_output(row) for row in _outputs(facts)],
        rows=[] if item.type in BUSINESS or recorded_once else _rows(facts | replay | _lineage(facts), NAMES),
        platform=_rows(_platform(facts), NAMES),
        operations=evidence_porting.operations(facts),
        effort=evidence_porting.effort(facts) if item.type == EvidenceType.PORTING else None,
        targets=evidence_targets.table_of(item),
        recorded=recorded_once or evidence_deviations.table_of(facts),
        costs=evidence_costs.shown(facts, axes_of(item)) if item.type == EvidenceType.COSTS else None,
        demand=evidence_costs.demand(facts, axes_of(item)) if item.type == EvidenceType.DEMAND else None,
        manifest=_rows(_flat(facts.get("manifest") or {}), MANIFEST),
        listing=listing if len(listing) <= MAX_LISTING else "",
    )


def axes_of(item: EvidenceItem) -> Axes:
    """Return the axes of a piece of evidence."""
    return Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin))


def _platform(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the platform a run was measured on; what is recorded at a platform names only its key."""
    found = facts.get("platform")
    return found if isinstance(found, dict) else {}


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
        "rows": [row for row in found.rows if row["key"] in wanted] + _amounts(found),
        "outputs": found.outputs,
    }


def _amounts(found: FactsView) -> list[dict[str, Any]]:
    """Return unit costs, ratio and utilisation of a cost sheet, or the amounts of a demand, as rows."""
    shown = found.costs["figures"] if found.costs else found.demand["facts"] if found.demand else []
    return [{"label": one["label"], "value": one["value"]} for one in shown]


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
    shown = {name: formats.number(Decimal(row[name])) for name in numbers if row.get(name)}
    return {**row, **shown, "cosine": formats.exact(Decimal(row["cosine"])) if row.get("cosine") else ""}


def _outputs(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the compared outputs, then those of the cross-check with the name of their reference."""
    own = facts.get("cross_check") or {"reference": "", "outputs": []}
    return [
        *facts.get("outputs", []),
        *(row | {"name": f"{row['name']} ({own['reference']})"} for row in own["outputs"]),
    ]


def _lineage(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the links of the chain of origin, and by name those that nobody stated.

    A model of layer widths comes from a seed in the manifest: it has no source, data or file that somebody could state.
    """
    given = {f"lineage.{key}": value for key, value in facts.get("lineage", {}).items() if key != "run_id"}
    if "lineage.environment" in given:
        given["lineage.environment"] = dict(given["lineage.environment"])
    model = facts.get("manifest", {}).get("model", {})
    if model.get("kind") == SEEDED:
        seeded = {"lineage.seed": str(model["seed"]), "lineage.seeded": seeded_sentence()}
        return given | seeded | {"open_links": []}
    missing = [str(NAMES.get(f"lineage.{name}", name)) for name in facts.get("open_links", [])]
    return given | {"open_links": missing}


def seeded_sentence() -> str:
    """Return why a model of layer widths has no links of origin."""
    return _("entfällt: Gewichte und Eingaben entstehen aus festem Startwert")


def _rows(facts: Mapping[str, Any], names: Mapping[str, Promise | str]) -> list[dict[str, Any]]:
    """Return what has a name, in the order of the names, digests last."""
    found = []
    for key, label in names.items():
        value = facts.get(key)
        if value in ("", None, [], {}) and not (key == "unsupported_ops" and key in facts):
            continue
        row: dict[str, Any] = {"key": key, "label": str(label)}
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
        return _whole(key, value)
    if isinstance(value, str):
        return _text(key, value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or _("keine")
    if isinstance(value, dict):
        return ", ".join(f"{NAMES.get(name, name)}: {item}" for name, item in value.items())
    return str(value)


def _whole(key: str, value: int) -> str:
    if key.endswith("seed"):  # a name, not an amount
        return str(value)
    return formats.byte_size(value) if key.endswith("_bytes") else formats.number(value, 0)


def _text(key: str, value: str) -> str:
    if key.endswith(("_cv", "_ratio")):
        return formats.percent(Decimal(value))
    if key.endswith("_at"):
        return formats.moment(datetime.fromisoformat(value))
    known: dict[str, Mapping[str, object]] = {
        **WORDS,
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
