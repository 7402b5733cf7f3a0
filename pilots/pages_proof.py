"""What a run proves and how to check it: outputs beside their reference, porting, origin, replay. No rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import pages_blocks as blocks
from pilots.choices import ExitState, RunRole, RunSource
from pilots.models import Replay, Run
from pilots.pages_capture import coverage_sentence
from pilots.services.replays import CHECK_RECORD
from qms.core import formats
from qms.core.models import JobState
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles.models import User
from qms.web import evidence_page, evidence_targets
from qms.workloads.services import model_file

LINKS: Final[dict[str, Promise]] = {
    "commit": lazy("Stand des Quelltexts (Commit)"),
    "data_sha256": lazy("Trainingsdaten"),
    "inputs_sha256": lazy("Eingaben des Laufs"),
    "environment": lazy("Umgebung der Aufzeichnung"),
    "seed": lazy("Startwert"),
    "registry": lazy("Eintrag im Modellverzeichnis"),
    "artefact": lazy("Modelldatei"),
    "run_id": lazy("Lauf"),
}
PARTS: Final[dict[str, Promise]] = {  # of a manifest, as the command names them
    "format": lazy("Format"),
    "emulator_version": lazy("Version des Emulators"),
    "calibration_sha256": lazy("Kalibrierung"),
    "machine": lazy("Maschine"),
    "model": lazy("Modell"),
    "model_digest": lazy("Prüfsumme des Modells"),
    "graph_signature": lazy("Aufbau des Modells"),
    "kernels": lazy("erlaubte Kernel"),
    "inputs": lazy("Eingaben"),
    "plan": lazy("Länge von Eingabe und Antwort"),
    "program_digest": lazy("Programm"),
    "programs": lazy("Programme"),
    "prediction": lazy("vorhergesagte Zeiten"),
    "predictions": lazy("vorhergesagte Zeiten"),
    "result": lazy("Ausgaben"),
    "result_digest": lazy("Prüfsumme des Ergebnisses"),
}
_SHA256_HEX: Final = 64


def equivalence_of(run: Run) -> dict[str, Any] | None:
    """Return every output beside its tolerance and the sentence about all of them, or None."""
    found = run.summary.get("equivalence") or {}
    rows = found.get("outputs")
    if not rows:
        return None
    columns = [
        (_("Ausgabe"), False),
        (_("größte Abweichung"), True),
        (_("zulässig (POL-06)"), True),
        (_("Kosinus"), True),
        (_("Urteil"), False),
    ]
    return {
        "sentence": _sentence(run, all(row["within"] for row in rows)),
        "reference": found["reference"],
        "table": blocks.table(_("Ausgaben im Vergleich"), columns, [_output(row) for row in rows]),
        "targets": _targets(run),
    }


def _targets(run: Run) -> dict[str, Any] | None:
    """Return the quality targets that the outputs of a target run decide, or None."""
    item = EvidenceItem.objects.filter(run_id=run.pk, type=EvidenceType.EQUIVALENCE).last()
    return evidence_targets.table_of(item) if item else None


def _sentence(run: Run, within: bool) -> str:
    if not within:
        return _("Mindestens eine Ausgabe weicht stärker ab, als die Toleranz erlaubt.")
    if run.role == RunRole.TARGET:
        return _("Alle Ausgaben stimmen innerhalb der Toleranz überein (mit Emulatornumerik berechnet).")
    return _("Alle Ausgaben stimmen innerhalb der Toleranz überein.")


def _output(row: dict[str, Any]) -> list[dict[str, Any]]:
    exact = not Decimal(row["rtol"])
    cosine = row["cosine"]
    within = {"status": "INNERHALB", "text": _("innerhalb"), "tone": "ok"}
    outside = {"status": "AUSSERHALB", "text": _("außerhalb"), "tone": "bad"}
    return [
        {"text": row["name"], "small": row["dtype"]},
        _deviation(row),
        {"text": _("keine") if exact else _percent(Decimal(row["rtol"]))},
        {"text": formats.exact(Decimal(cosine)) if cosine else "–"},
        within if row["within"] else outside,
    ]


def _deviation(row: dict[str, Any]) -> dict[str, Any]:
    """Return the largest deviation relative to the largest value of the reference."""
    if row["max_abs_delta"] is None or row["max_abs_reference"] is None:
        return {"text": _("keine endlichen Zahlen")}
    delta, reference = Decimal(row["max_abs_delta"]), Decimal(row["max_abs_reference"])
    if not delta:
        return {"text": _percent(delta)}
    if not reference:
        return {"text": formats.exact(delta), "small": _("die Referenz ist überall 0")}
    return {"text": _percent(delta / reference)}


def _percent(share: Decimal) -> str:
    shown = share.quantize(Decimal(1).scaleb(share.adjusted() - 2)) if share else share
    return f"{formats.exact(shown * 100)}{formats.NBSP}%"


def porting_of(run: Run) -> dict[str, Any] | None:
    """Return what became of the operations of the model, with the way to the whole report; or None."""
    found = run.summary.get("porting")
    if not found:
        return None
    needed = {True: _("ja"), False: _("nein"), None: _("nicht geprüft")}[found["partitioning_required"]]
    source = " ".join(found[name] for name in ("framework", "version", "provenance") if found[name])
    return {
        "sentence": coverage_sentence(found),
        "facts": [
            *([{"label": _("Aufgezeichnet aus"), "value": source}] if source else []),
            {"label": _("Operationen"), "value": formats.number(found["total_ops"], 0)},
            {"label": _("davon nicht unterstützt"), "value": formats.number(found["unsupported_ops"], 0)},
            {"label": _("davon eigene Operationen"), "value": formats.number(found["custom_ops"], 0)},
            {"label": _("Aufteilung auf mehrere Systeme nötig"), "value": needed},
        ],
        "reason": found["partitioning_reason"],
        "url": _evidence_url(run, EvidenceType.PORTING),
    }


def lineage_of(run: Run) -> dict[str, Any] | None:
    """Return the links of the chain of origin and which of them nobody stated, or None.

    A model of layer widths comes from a seed: what has no source, data or file is no gap.
    """
    found = run.summary.get("lineage")
    if not found:
        return None
    seeded = not run.parameters.get("model_file_sha256")
    if seeded:
        found = found | {"seed": str(run.parameters["seed"])}
    missing = {name for name in run.summary["open_links"] if not found[name]}
    columns = [(_("Glied"), False), (_("Angabe"), False), (_("Stand"), False)]
    rows = [
        [{"text": str(label)}, _link(found[name]), _state(name in missing, seeded)]
        for name, label in LINKS.items()
    ]
    return {
        "table": blocks.table(_("Herkunft"), columns, rows),
        "open": "" if seeded else ", ".join(str(label) for name, label in LINKS.items() if name in missing),
        "url": _evidence_url(run, EvidenceType.LINEAGE),
    }


def _link(value: Any) -> dict[str, Any]:
    if not value:
        return {"text": "–"}
    if isinstance(value, list):
        return {"text": ", ".join(f"{name} {release}" for name, release in value)}
    is_digest = len(value) == _SHA256_HEX and set(value) <= set("0123456789abcdef")
    return {"digest": value} if is_digest else {"text": value}


def _state(missing: bool, seeded: bool) -> dict[str, Any]:
    if not missing:
        return {"status": "ANGEGEBEN", "text": _("angegeben"), "tone": "ok"}
    if seeded:
        return {"text": evidence_page.seeded_sentence()}
    return {"status": "FEHLT", "text": _("fehlt"), "tone": "warn"}


def replay_of(run: Run, actor: User) -> dict[str, Any] | None:
    """Return the newest replay of a finished target run, how to start one, and what an own computer needs; or None."""
    if run.source != RunSource.EMULATOR or run.exit_state != ExitState.COMPLETED:
        return None
    latest = run.replays.select_related("job", "started_by").first()
    is_open = latest is not None and latest.ended_at is None
    may = guards.may(actor=actor, permission=CHECK_RECORD, workload=run.workload)
    capture = run.parameters.get("model_file_sha256", "")
    takes = bool(capture) and guards.may(
        actor=actor, permission=model_file.needed_to_take(run.workload, capture), workload=run.workload
    )
    manifest = EvidenceItem.objects.filter(run_id=run.pk, type=EvidenceType.LINEAGE).first()
    return {
        "latest": latest,
        "capture": bool(capture),
        "open": is_open,
        "progress": progress_of(latest) if latest is not None and is_open else None,
        "verdict": _verdict(latest) if latest is not None and not is_open else None,
        "may_start": may and not is_open and manifest is not None,
        "manifest_url": reverse("evidence_file", args=[manifest.pk]) if manifest else "",
        "model_url": reverse("run_model", args=[run.pk]) if takes else "",
        "command": _command(manifest, capture),
    }


def _command(manifest: EvidenceItem | None, capture: str) -> str:
    """Return the command for an own computer, with the names under which the files are downloaded."""
    name = f"EV-16-{manifest.facts_sha256[:12]}.json" if manifest else "EV-16.json"
    return f"python -m pilots.wafer replay {name}{' --evidence .' if capture else ''}"


def progress_of(replay: Replay) -> dict[str, Any]:
    """Return the context of the progress component."""
    job, ended = replay.job, replay.ended_at is not None
    permille = 1000 if ended or job is None else job.progress_permille
    waiting = job is not None and job.state == JobState.QUEUED
    return {
        "id": "nachrechnung",
        "label": _("Wartet auf den Start") if waiting else _("Fortschritt"),
        "permille": permille,
        "percent": formats.percent(permille / 1000, 0),
        "text": (job.progress_text if job else "") or _("Der Auftrag ist angenommen."),
        "done": ended,
        "milestone": ended,
        "url": reverse("replay_progress", args=[replay.run_id]),
    }


def _verdict(replay: Replay) -> dict[str, Any]:
    """Return tone, sentence and digests of a replay that has ended."""
    if replay.equal is None:
        text = _("Die Nachrechnung kam zu keinem Ergebnis: %(reason)s") % {"reason": replay.failure}
        return {"tone": "bad", "text": text, "facts": []}
    facts = [
        {"label": _("Prüfsumme im Laufmanifest"), "digest": replay.expected},
        {"label": _("Prüfsumme der Nachrechnung"), "digest": replay.actual},
    ]
    if replay.equal:
        text = _("Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit.")
        return {"tone": "ok", "text": text, "facts": facts}
    different = _("Nachgerechnet, anderes Ergebnis. Verschieden: %(parts)s.")
    if replay.expected == replay.actual:
        different = _(
            "Nachgerechnet: Die Prüfsumme des Ergebnisses ist gleich, aber das Laufmanifest nennt andere Angaben, als "
            "die Nachrechnung ergibt. Verschieden: %(parts)s."
        )
    parts = ", ".join(str(PARTS.get(name, f"„{name}“")) for name in replay.differs)
    return {"tone": "bad", "text": different % {"parts": parts}, "facts": facts}


def _evidence_url(run: Run, kind: EvidenceType) -> str:
    item = EvidenceItem.objects.filter(run_id=run.pk, type=kind.value).last()
    return reverse("evidence", args=[item.pk]) if item else ""
