"""What the page of a run says of how it was measured: repetitions, spread, machine, signature."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import catalog, selectors
from pilots.models import Run
from qms.core import formats

METHOD_LABELS = {
    "evaluator": lazy("Gerechnet mit"),
    "warm_up": lazy("Aufwärmen, nicht gezählt"),
    "blas_threads": lazy("Threads der Matrixbibliothek"),
    "model": lazy("Modell an der Schnittstelle"),
    "concurrency": lazy("Anfragen zugleich"),
    "prompt_tokens": lazy("Eingabe in Wörtern"),
    "output_tokens": lazy("Ausgabetoken, höchstens"),
}
MACHINE_LABELS = {
    "cpu_model": lazy("Prozessor"),
    "usable_cores": lazy("Nutzbare Kerne"),
    "operating_system": lazy("Betriebssystem"),
    "python": lazy("Python"),
    "numpy": lazy("NumPy"),
    "blas": lazy("Matrixbibliothek"),
}


def measured_of(run: Run) -> list[dict[str, Any]]:
    """Return repetitions, method, machine and signature of a measured run; [] for one that does not say."""
    shown = run.summary
    if "repetitions" not in shown:
        return []
    count = _("%(repetitions)s, je %(iterations)s Durchläufe") % {
        "repetitions": formats.number(shown["repetitions"], 0),
        "iterations": formats.number(shown["iterations"], 0),
    }
    facts: list[dict[str, Any]] = [{"label": _("Wiederholungen"), "value": count}]
    method = dict(shown.get("method", []))
    if method.get("blas_threads") == "0":
        method["blas_threads"] = _("nicht festgelegt")
    facts += [
        {"label": label, "value": method[name]} for name, label in METHOD_LABELS.items() if name in method
    ]
    return [*facts, *_machine(shown.get("environment", {})), *_signature(shown.get("measurement"))]


def _machine(here: dict[str, Any]) -> list[dict[str, Any]]:
    found = [{"label": label, "value": here[name]} for name, label in MACHINE_LABELS.items() if name in here]
    if "memory_bytes" in here:
        found.append({"label": _("Arbeitsspeicher"), "value": formats.byte_size(here["memory_bytes"])})
    return found


def _signature(measurement: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return whose key signed; whether it counts here was judged when the file came and stands in what it says."""
    if measurement is None:
        return []
    label = _("Signatur")
    if not measurement["public_key"]:
        return [{"label": label, "value": _("ohne")}]
    key = selectors.measuring_key(measurement["public_key"])
    names = {"id": catalog.key_id(measurement["public_key"]), "label": key.label if key else ""}
    if key is None:
        text = _(
            "Schlüssel %(id)s, nicht registriert; registrieren Sie ihn unter „Messschlüssel“ und reichen Sie die Datei erneut ein"
        )
        return [{"label": label, "value": text % names, "url": reverse("measuring_keys")}]
    if key.revoked_at is not None:
        return [{"label": label, "value": _("Schlüssel %(id)s (%(label)s), inzwischen widerrufen") % names}]
    return [{"label": label, "value": _("Schlüssel %(id)s (%(label)s)") % names}]
