"""The German texts of a bundle. They are part of the evidence, so they do not follow the reader's language."""

from __future__ import annotations

from qms.audit.export import Snapshot
from qms.core import clock

_LIESMICH = """\
Nachweispaket des Audit-Protokolls {origin}
Stand: {size} Ereignisse, erstellt {at} (UTC)

Beweismittel ist events.jsonl: eine Zeile je Ereignis, in der Reihenfolge der Buchung. Zeile i (ab 0) ist Blatt i
des Merkle-Baums nach RFC 6962. Der Kontrollpunkt (checkpoint) ist die unterschriebene Wurzel dieses Baums.
Nachträgliche Änderungen am Audit-Protokoll sind erkennbar. Einträge werden nur angefügt.

Inhalt
  events.jsonl        die Ereignisse; Namen und freie Texte stehen darin nur als gesalzene Prüfwerte
  disclosures.jsonl   Klartext zu den Prüfwerten (RFC 9901){disclosed}
  checkpoint          Kontrollpunkt dieses Pakets; checkpoints/ enthält die früheren
  tile/               Hashwerte des Baums (C2SP tlog-tiles)
  proofs/             Beweise einzelner Ereignisse (C2SP tlog-proof)
  anchors/            Anker außerhalb des Systems
  keys/, policy       öffentliche Schlüssel, nur zur Bequemlichkeit (siehe PRUEFEN.txt)
  documents/          Freigabedokumente; weitere Ordner bringen die Teile, die sie verantworten
  pruefen.py          Prüfprogramm, läuft ohne Netz und ohne Installation

Ein Prüfwert ohne Klartext heißt: geschwärzt (in dieser Ausfertigung nicht enthalten, durch Prüfwert gebunden)
oder gelöscht (dass ein Wert vorhanden war, bleibt nachweisbar; siehe Ereignis OFFENLEGUNG_GELOESCHT).
"""

_PRUEFEN = """\
So prüfen Sie dieses Paket

1. Holen Sie den öffentlichen Protokollschlüssel (VKEY) aus einer Quelle außerhalb dieses Pakets: Er steht auf jedem
   Freigabedokument, und die Organisation gibt ihn bekannt. Mit einem Schlüssel aus dem Paket selbst würde auch ein
   neu unterschriebenes Paket als gültig erscheinen.
2. Kopieren Sie pruefen.py an einen anderen Ort oder nehmen Sie es aus einer früheren Ausfertigung.
3. Rufen Sie auf: python3 pruefen.py VERZEICHNIS --schluessel VKEY
   VERZEICHNIS ist das entpackte Paket oder die ZIP-Datei. Ende 0: in Ordnung; 1: Fehler, mit Angabe der Stelle.
   Nach einem Schlüsselwechsel geben Sie --schluessel für jeden gültigen Schlüssel an.

Einzelne Schritte ohne pruefen.py
  Dateien:        sha256sum -c manifest-sha256.txt
  Ein Ereignis:   (printf '\\0'; sed -n 1p data/events.jsonl | tr -d '\\n') | sha256sum      (Blatt 0)
  Unterschrift:   openssl pkeyutl -verify -pubin -inkey k.pem -rawin -in text -sigfile sig
                  text = checkpoint bis einschließlich des Zeilenendes vor der Leerzeile;
                  sig = Base64 der Unterschriftszeile ohne die ersten 4 Byte;
                  k.pem = DER aus 302a300506032b6570032100 und den letzten 32 Byte des VKEY
"""


def liesmich(origin: str, snapshot: Snapshot) -> str:
    """Return LIESMICH.txt."""
    disclosed = "" if snapshot.with_disclosures else " - in dieser Ausfertigung nicht enthalten"
    return _LIESMICH.format(
        origin=origin, size=snapshot.size, at=clock.timestamp(snapshot.at), disclosed=disclosed
    )


def pruefen_text() -> str:
    """Return PRUEFEN.txt."""
    return _PRUEFEN
