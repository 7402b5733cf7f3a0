"""LIESMICH.txt of the evidence ZIP: what is in it, how to compute the run again, what that proves. German, pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

DOCUMENT: Final = "freigabe.pdf"

_TEXT: Final = """\
Nachweise zur Freigabe {number}

Inhalt (SHA-256, Name)
{files}

{document} ist das gesiegelte Dokument. EV-*.json sind die Nachweise, auf denen die Entscheidung beruht, Byte für Byte:
Das Dokument nennt die SHA-256 jeder dieser Dateien. EV-*-rohdatei-* wurde dazu eingereicht.
{model}

Nachrechnen ohne Netz und ohne Konto
Nötig ist der Quelltext von AI-QMS mit seiner Python-Umgebung. Damit Python ihn hier findet, nennt PYTHONPATH seinen
Ordner. Dann in dem Ordner, in dem diese Datei liegt:

{commands}

Der erste Befehl prüft das Dokument und rechnet die Läufe nach, auf denen es beruht. Wem das Siegel gehört, prüft er nur
mit --root und dem Wurzelzertifikat der Organisation; nehmen Sie es nie aus einem Paket wie diesem.

Was eine Nachrechnung belegt
„gleich“: Derselbe Emulator errechnet aus Modell, Eingaben und Maschinenbeschreibung des Laufmanifests dasselbe Ergebnis.
Das belegt die Rechnung, nicht die Wirklichkeit: Es sagt nichts darüber, wie schnell eine echte Maschine wäre, ob die
Eingaben die richtigen waren und ob die Freigabe heute wirksam ist. Letzteres sagt die Statusseite, deren Adresse im
Dokument steht. „verschieden“ nennt, was abweicht; bei einer anderen Version des Emulators ist das zu erwarten.
"""
_MODEL: Final = {
    "": "Eine Modelldatei gibt es nicht: Das Modell steht im Laufmanifest (EV-16).",
    "with": "Die Datei *.wgraph ist das Modell des Laufs. Sie kann Gewichte enthalten, die schützenswert sind.",
    "without": "Die Modelldatei liegt nicht bei: Sie enthält Gewichte; es erhält sie, wer Läufe dieses Workloads startet (P13).\n"
    "Ohne sie ist der Lauf nicht nachzurechnen.",
}


def readme(number: str, files: Mapping[str, str], *, manifests: Sequence[str], model: str) -> str:
    """Return the text. files: name -> SHA-256; manifests: names of EV-16; model: "", "with" or "without" its file."""
    commands = [
        f"python -m qms.signing.verify {DOCUMENT} --replay --evidence .",
        *(f"python -m pilots.wafer replay {name} --evidence ." for name in manifests),
    ]
    return _TEXT.format(
        number=number,
        document=DOCUMENT,
        files="\n".join(f"  {sha256}  {name}" for name, sha256 in sorted(files.items())),
        model=_MODEL[model],
        commands="\n".join(f"  {command}" for command in commands),
    )
