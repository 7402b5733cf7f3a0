"""What the report says about aims that are missed: how large the error is where, and which inputs publications lack."""

from __future__ import annotations

from typing import Final

from pilots.cluster.german import percent
from pilots.cluster.validation.assessment import Assessment
from pilots.cluster.validation.gates import MIB
from pilots.cluster.validation.statistics import figures
from pilots.cluster.workloads import Collective

WHY: Final = """
- Kollektive unter 1 MiB: die Tabelle nennt Mediane weniger Wiederholungen. Bei 38 von 119 Einträgen liegen Mittel oder Minimum mehr als
  12 % neben dem Median, ab 1 MiB bei keinem von 112. Zwei A100 brauchen dort länger als acht, vier H100 länger als acht; das sagt keine
  Formel voraus.
- Kollektive über zwei Knoten: Version der Bibliothek, Algorithmus sowie Zahl und Tempo der Netzanschlüsse stehen nicht in der Tabelle.
  Zwischen 10 und 67 MB springt die Zeit von vier und 16 GPUs von Größe zu Größe bis zum Faktor zwei, wie beim Wechsel zwischen Ring und Baum.
- Kollektive schneller Netze: sechs einzelne Zahlen von drei Anlagen; eine Nachricht von 8 Byte braucht auf zwei davon 69 und 164 µs.
- MLPerf Inference Offline: GPUs je Kopie, Zahlentyp und Größe eines Schritts stehen nicht im Eintrag; eine Regel füllt sie.
- Megatron auf H100: Mikrobatch und Zahl der Modellstücke je GPU stehen nicht in der Tabelle; eine Regel füllt sie.
"""


def misses(found: Assessment) -> list[str]:
    """Return the lines of the report about missed aims."""
    return ["## Was verfehlt ist und warum", "", *_sizes(found), *WHY.strip().splitlines(), ""]


def _sizes(found: Assessment) -> list[str]:
    """Return the median error of collectives below and from 1 MiB, left out by setting and by range of sizes."""
    lines = []
    for label, covered in (("die Einstellung", found.held), ("ein Größenbereich", found.ranges)):
        rows = [item.held for item in covered if isinstance(item.held.row.case.workload, Collective)]
        small = figures([item.error for item in rows if _bytes(item.row.case.workload) < MIB])
        large = figures([item.error for item in rows if _bytes(item.row.case.workload) >= MIB])
        if small and large:
            lines.append(
                f"- Kollektive, {label} ausgelassen: Median {percent(large.median)} ab 1 MiB, {percent(small.median)} darunter."
            )
    return lines


def _bytes(work: object) -> int:
    assert isinstance(work, Collective)
    return work.size_bytes
