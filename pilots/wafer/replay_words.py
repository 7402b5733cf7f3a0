"""What a replay says to people: which parts differ in German words, and what it does not check. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

MEANING_DE: Final = "Das belegt die Rechnung, nicht die Wirklichkeit."
ORIGIN_DE: Final = (
    "Angaben zur Herkunft (Quelltext, Trainingsdaten, Modellverzeichnis) sind nicht Teil der Nachrechnung. Ob sie "
    "unverändert sind, zeigt nur die Prüfsumme der Datei: Sie muss der im gesiegelten Dokument oder auf der Seite des "
    "Nachweises gleichen."
)
PARTS_DE: Final = {
    "format": "Format",
    "emulator_version": "Version des Emulators",
    "calibration_sha256": "Kalibrierung",
    "machine": "Maschine",
    "model": "Modell",
    "model_digest": "Prüfsumme des Modells",
    "graph_signature": "Aufbau des Modells",
    "kernels": "erlaubte Kernel",
    "inputs": "Eingaben",
    "plan": "Länge von Eingabe und Antwort",
    "program_digest": "Programm",
    "programs": "Programme",
    "prediction": "vorhergesagte Zeiten",
    "predictions": "vorhergesagte Zeiten",
    "result": "Ausgaben",
    "result_digest": "Prüfsumme des Ergebnisses",
}
_NAMED: Final = re.compile(r"EV-16-([0-9a-f]{12})")


def parts_de(differs: Sequence[str]) -> str:
    """Return the parts of a manifest that differ in German words; a part no manifest has keeps its name in quotes."""
    return ", ".join(PARTS_DE.get(name, f"„{name}“") for name in differs)


def sentence_de(expected: str, actual: str, differs: Sequence[str]) -> str:
    """Return what a replay found, in German: the same, another result, or the same result of other statements."""
    if not differs:
        return f"Nachgerechnet, gleiches Ergebnis. {MEANING_DE}"
    if expected != actual:
        return f"Nachgerechnet, anderes Ergebnis. Verschieden: {parts_de(differs)}."
    return (
        "Nachgerechnet: Die Prüfsumme des Ergebnisses ist gleich, aber das Laufmanifest nennt andere Angaben, als die "
        f"Nachrechnung ergibt. Verschieden: {parts_de(differs)}."
    )


def changed_de(name: str, sha256: str) -> str:
    """Return the sentence on an EV-16 whose name holds another digest than its content has, "" where it fits."""
    named = _NAMED.search(PurePath(name).name)
    if named is None or sha256.startswith(named[1]):
        return ""
    return (
        f"Die Datei {name} wurde verändert: Ihr Name nennt die Prüfsumme {named[1]}…, ihr Inhalt hat {sha256[:12]}…. Bitte "
        "laden Sie den Nachweis neu herunter."
    )
