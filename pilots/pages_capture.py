"""The page of a captured model: what the file says, what becomes of each operation, where it came from. No rules."""

from __future__ import annotations

from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from pilots import pages_blocks as blocks
from qms.core import canonical, formats, store
from qms.web.workload_page import model_facts
from qms.workloads.models import Workload

MAX_ROWS: Final = 200
MAX_PLACES: Final = 3
LINEAGE: Final[dict[str, Promise]] = {
    "commit": lazy("Stand des Quelltexts"),
    "data_sha256": lazy("Prüfsumme der Trainingsdaten"),
    "seed": lazy("Startwert"),
    "registry": lazy("Eintrag im Modellverzeichnis"),
    "environment": lazy("Umgebung"),
}


def shown(workload: Workload) -> dict[str, Any] | None:
    """Return what the page shows of the file, None where the model is no file."""
    if not workload.model_file_sha256:
        return None
    report = _report(workload)
    return {
        "facts": _facts(workload),
        "sentence": coverage_sentence(report) if report else "",
        "coverage": coverage(report["operations"]) if report else None,
        "more": max(len(report["operations"]) - MAX_ROWS, 0) if report else 0,
        "lineage": _lineage(workload.model_facts),
        "open": _open(workload.model_facts),
    }


def coverage_sentence(report: dict[str, Any]) -> str:
    """Return in one sentence whether the emulator computes every operation."""
    total, missing = report["total_ops"], report["unsupported_ops"]
    counts = {"total": formats.number(total, 0), "missing": formats.number(missing, 0)}
    if not total:
        return _("Die Aufzeichnung enthält keine Operation.")
    if missing:
        text = ngettext(
            "%(missing)s von %(total)s Operationen wird nicht unterstützt.",
            "%(missing)s von %(total)s Operationen werden nicht unterstützt.",
            missing,
        )
        return text % counts
    text = ngettext(
        "Die eine Operation wird unterstützt.", "Alle %(total)s Operationen werden unterstützt.", total
    )
    return text % counts


def coverage(operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the table from the operation of the framework to the kernel; what is not supported comes first."""
    columns = [
        (_("Operation im Framework"), False),
        (_("Anzahl"), True),
        (_("im Graphen"), False),
        (_("Kernel"), False),
        (_("im Quelltext"), False),
        (_("Stand"), False),
    ]
    ordered = sorted(operations, key=lambda item: not item["reason"])
    return blocks.table(_("Operationen"), columns, [_row(item) for item in ordered[:MAX_ROWS]])


def _row(item: dict[str, Any]) -> list[dict[str, Any]]:
    places = item["places"]
    rest = len(places) - MAX_PLACES
    more = _("und %(n)d weitere") % {"n": rest} if rest > 0 else ""
    state = (
        {"text": _("nicht unterstützt"), "tone": "bad"}
        if item["reason"]
        else {"text": _("unterstützt"), "tone": "ok"}
    )
    notes = [_("eigene Operation")] if item["custom"] else []
    notes += [item["reason"]] if item["reason"] else []
    notes += [] if item["became"] or item["reason"] else [_("nur umgeordnet oder vorab berechnet")]
    return [
        {"text": item["op"], "code": True},
        {"text": formats.number(item["count"], 0)},
        {"text": ", ".join(item["became"]) or "–"},
        {"text": ", ".join(item["kernels"]) or "–"},
        {"text": ", ".join(places[:MAX_PLACES]) or "–", "code": True, "small": more},
        {"status": "OPERATION", **state, "small": " · ".join(notes)},
    ]


def _report(workload: Workload) -> dict[str, Any] | None:
    """Return the porting report stored with the file; None if it is gone or damaged, which the page says."""
    try:
        report: dict[str, Any] = canonical.loads(store.get(workload.model_facts["report_sha256"]))
    except store.StoredFileError:
        return None
    return report


def _facts(workload: Workload) -> list[dict[str, str]]:
    facts = workload.model_facts
    batch = facts["example"]["batch"]
    samples = formats.number(batch, 0) if batch is not None else _("1, mit fester Form")
    return [
        *model_facts(workload),
        {"label": _("Eingänge"), "value": _values(facts["inputs"])},
        {"label": _("Ausgänge"), "value": _values(facts["outputs"])},
        {"label": _("Beispiele in der Datei"), "value": samples},
        {"label": _("Prüfsumme der Beispieleingaben"), "digest": facts["example"]["inputs_sha256"]},
        {"label": _("Prüfsumme des Modells"), "digest": workload.model_digest},
        {"label": _("Prüfsumme des Aufbaus"), "digest": facts["graph_signature"]},
    ]


def _values(rows: list[dict[str, Any]]) -> str:
    return "; ".join(f"{row['name']} ({_shape(row['shape'])}, {row['dtype']})" for row in rows)


def _shape(shape: list[int | None]) -> str:
    return " × ".join(_("Stapel") if size is None else str(size) for size in shape)


def _lineage(facts: dict[str, Any]) -> list[dict[str, str]]:
    given = facts["lineage"]
    return [
        {"label": str(label), "value": _link(given[name]) or _("nicht angegeben")}
        for name, label in LINEAGE.items()
    ]


def _link(value: str | list[list[str]]) -> str:
    return value if isinstance(value, str) else ", ".join(f"{name} {release}" for name, release in value)


def _open(facts: dict[str, Any]) -> str:
    """Return in one sentence which links of the chain were not given, or an empty text."""
    names = ", ".join(str(LINEAGE[name]) for name in facts["open_links"])
    return _("Nicht angegeben: %(names)s.") % {"names": names} if names else ""
