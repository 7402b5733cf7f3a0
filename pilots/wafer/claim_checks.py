"""What a machine description, and what runs of it gave, say about the statements of seed A.

A model neither confirms nor refutes a claim: GEMESSEN_BESTAETIGT and WIDERLEGT need measurements, so no check here
returns them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from pilots.wafer import bounds, fabric
from pilots.wafer.claim_types import Assessment, ClaimFigure, ClaimStatus, Given
from pilots.wafer.german import NBSP, number
from qms.core.values import Provenance

CLAIMED_CORES: Final = 900_000
CLAIMED_SRAM_BYTES: Final = 44 * 10**9
CLAIMED_BYTES_PER_SECOND: Final = 21 * 10**15
MICROSECOND: Final = 1000  # nanoseconds
_PREFIXES: Final = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def cores(given: Given) -> Assessment:
    """S009: the stated cores against the published fabric and what a program may use of it."""
    machine = given.machine
    stated, physical = machine.cores_total, machine.physical_pes
    figures = (
        ClaimFigure("Kerne laut Quelle", number(stated.value), stated.provenance, stated.source),
        ClaimFigure(
            "physische Fläche",
            number(physical),
            Provenance.DERIVED,
            "physical_width_pes × physical_height_pes",
        ),
        ClaimFigure(
            "für ein Programm nutzbar", number(machine.pes), Provenance.DERIVED, "width_pes × height_pes"
        ),
    )
    if stated.value < CLAIMED_CORES:
        sentence = f"{machine.name} hat {number(stated.value)} Kerne, die Aussage gilt ihr nicht."
        return Assessment(ClaimStatus.NOT_APPLICABLE, sentence, figures)
    if machine.pes >= CLAIMED_CORES:
        sentence = f"Ein Programm des Modells erreicht {number(machine.pes)} Rechenelemente."
        return Assessment(ClaimStatus.REPRODUCED, sentence, figures)
    sentence = (
        f"Der Hersteller nennt {number(stated.value)} Kerne; die veröffentlichte Fläche hat {number(physical)}, "
        f"ein Programm erreicht davon {number(machine.pes)}."
    )
    return Assessment(ClaimStatus.PARTLY, sentence, figures)


def sram(given: Given) -> Assessment:
    """S010: the stated capacity against what is left for data."""
    found = bounds.capacity(given.machine)
    figures = (
        _derived("SRAM aller Kerne", _size(found.wafer_bytes), "cores_total × sram_bytes_per_pe"),
        _derived("nutzbares Rechteck", _size(found.usable_bytes), "pes × sram_bytes_per_pe"),
        _derived("davon frei für Daten", _size(found.data_bytes), "pes × data_bytes_per_pe"),
    )
    if found.wafer_bytes < CLAIMED_SRAM_BYTES:
        sentence = f"{given.machine.name} hat {_size(found.wafer_bytes)} SRAM, die Aussage gilt ihr nicht."
        return Assessment(ClaimStatus.NOT_APPLICABLE, sentence, figures)
    sentence = (
        f"Kerne × SRAM je Kern ergeben {_size(found.wafer_bytes)}; nach Code und Stapelspeicher bleiben im "
        f"nutzbaren Rechteck {_size(found.data_bytes)} für Daten."
    )
    enough = found.data_bytes >= CLAIMED_SRAM_BYTES
    return Assessment(ClaimStatus.REPRODUCED if enough else ClaimStatus.PARTLY, sentence, figures)


def bandwidth(given: Given) -> Assessment:
    """S011: an upper bound, never an achieved value."""
    found = bounds.bandwidth(given.machine)
    stated = found.stated_bytes_per_second or 0
    figures = tuple(
        _derived(
            f"Obergrenze bei {_megahertz(item.clock_hz)}",
            _rate(item.wafer_bytes_per_second),
            "cores_total × sram_access_bytes_per_cycle_per_pe × clock",
        )
        for item in found.bounds
    )
    reached = [item for item in found.bounds if item.wafer_bytes_per_second >= CLAIMED_BYTES_PER_SECOND]
    if stated < CLAIMED_BYTES_PER_SECOND or not reached:
        best = stated or max(item.wafer_bytes_per_second for item in found.bounds)
        sentence = f"{given.machine.name} hat als Obergrenze {_rate(best)}, die Aussage gilt ihr nicht."
        return Assessment(ClaimStatus.NOT_APPLICABLE, sentence, figures)
    own = found.bounds[0]
    sentence = (
        f"21{NBSP}PB/s sind eine Obergrenze, kein erreichter Wert: im Takt von "
        f"{_megahertz(own.clock_hz)} sind es {_rate(own.wafer_bytes_per_second)}, im Takt "
        f"von {_megahertz(reached[0].clock_hz)} "
        f"{_rate(reached[0].wafer_bytes_per_second)}, wenn jedes Element in jedem Takt liest und schreibt."
    )
    return Assessment(ClaimStatus.PARTLY, sentence, figures)


def bypass(given: Given) -> Assessment:
    """S015: no bus between an element and its memory, but the edge of the wafer is still crossed."""
    capacity_bytes = bounds.capacity(given.machine).data_bytes
    link = given.machine.io_link_bits_per_second
    figures = [
        ClaimFigure(
            "Anbindung nach außen",
            _si(link.value, "bit/s"),
            link.provenance,
            link.source,
        ),
        _derived("Daten auf dem Wafer höchstens", _size(capacity_bytes), "pes × data_bytes_per_pe"),
    ]
    if given.off_wafer_bytes is not None:
        moved = f"{number(given.off_wafer_bytes)}{NBSP}B"
        figures.append(
            ClaimFigure(
                "über die Wafergrenze", moved, Provenance.EMULATED, "off_wafer_bytes des emulierten Laufs"
            )
        )
    if given.model_bytes is not None and given.model_bytes > capacity_bytes:
        sentence = (
            f"Das Modell ist mit {_size(given.model_bytes)} größer als der Wafer; die Gewichte kommen bei jedem "
            "Durchgang von außen, „vollständig“ gilt nicht."
        )
        return Assessment(ClaimStatus.NOT_APPLICABLE, sentence, tuple(figures))
    sentence = (
        "Zwischen Rechenelement und seinem Speicher liegt kein externer Bus; Ein- und Ausgaben, Prüfpunkte und "
        "nachgeladene Gewichte überqueren die Wafergrenze weiterhin, „vollständig“ gilt also nur auf dem Wafer."
    )
    return Assessment(ClaimStatus.PARTLY, sentence, tuple(figures))


def latency(given: Given) -> Assessment:
    """S016: every path latency, unvarnished."""
    if given.machine.pes < 2:
        return _too_small(given)
    rows = fabric.latencies(given.machine)
    figures = tuple(
        _derived(
            row.label_de,
            f"{number(row.nanoseconds, 1)}{NBSP}ns",
            f"{', '.join(name for name, _ in row.terms)}; Eingaben {row.weakest.value}",
        )
        for row in rows
    )
    within = [row for row in rows if row.nanoseconds < MICROSECOND]
    listed = "; ".join(f"{row.label_de} {number(row.nanoseconds, 1)}{NBSP}ns" for row in rows)
    clock = _megahertz(given.machine.clock_hz.value)
    if len(within) == len(rows):
        return Assessment(
            ClaimStatus.REPRODUCED, f"Im Modell unter 1{NBSP}µs bei {clock}: {listed}.", figures
        )
    beyond = ", ".join(row.label_de for row in rows if row not in within)
    sentence = f"Im Modell bei {clock}: {listed}; nicht unter 1{NBSP}µs: {beyond}."
    return Assessment(ClaimStatus.PARTLY if within else ClaimStatus.OPEN, sentence, figures)


def tensor_parallel(given: Given) -> Assessment:
    """S017: no network inside a wafer, but sums over all its elements take their time as well."""
    if given.machine.pes < 2:
        return _too_small(given)
    row = fabric.all_reduce(given.machine)
    microseconds = f"{number(row.nanoseconds / MICROSECOND, 1)}{NBSP}µs"
    figures = (_derived(row.label_de, microseconds, f"{row.note_de}; Eingaben {row.weakest.value}"),)
    sentence = (
        f"Innerhalb eines Wafers gibt es kein Clusternetz, eine Summe über alle Rechenelemente dauert im Modell "
        f"{microseconds}; ab zwei Systemen kommen Verteilen und Sammeln hinzu."
    )
    return Assessment(ClaimStatus.PARTLY, sentence, figures)


def linear(given: Given) -> Assessment:
    """S018: the word "linear" only from POL-31 on, and several systems always EXTRAPOLIERT."""
    several = [row for row in given.scaling if row.systems > 1]
    if not several:
        return Assessment(
            ClaimStatus.OPEN,
            "Ohne Skalierungstabelle über mehrere Systeme ist dazu nichts zu sagen.",
        )
    figures = tuple(
        ClaimFigure(
            f"{row.systems} Systeme",
            f"{row.word_de}, {row.calibration.value}",
            Provenance.EMULATED,
            "Skalierungstabelle des emulierten Laufs (POL-31)",
        )
        for row in several
    )
    linear = [row for row in several if row.linear]
    listed = ", ".join(f"{row.systems} Systeme {row.word_de}" for row in several)
    tail = "mehrere Systeme sind im Modell immer EXTRAPOLIERT"
    if len(linear) == len(several):
        return Assessment(
            ClaimStatus.REPRODUCED, f"Im Modell {listed}; {tail}, eine Messung steht aus.", figures
        )
    status = ClaimStatus.PARTLY if linear else ClaimStatus.OPEN
    ban = "das Wort „linear“ ist erst ab einer Effizienz von 0,95 zulässig"
    return Assessment(status, f"Im Modell {listed}; {ban}, {tail}.", figures)


def deterministic(given: Given) -> Assessment:
    """S019: a replay shows a property of the emulator, nothing about the hardware."""
    if not given.replayed:
        return Assessment(
            ClaimStatus.OPEN,
            "Noch kein Lauf wurde nachgerechnet; über Wiederholbarkeit ist noch nichts zu sagen.",
        )
    sentence = (
        "Die Wiederholung ergab dieselbe Prüfsumme: Das ist eine Eigenschaft des Emulators und sagt über Laufzeiten "
        "der Hardware nichts."
    )
    return Assessment(ClaimStatus.PARTLY, sentence)


def partitioning(given: Given) -> Assessment:
    """S020: depends on the size of the model."""
    room = bounds.capacity(given.machine).data_bytes
    figures = (_derived("frei für Daten", _size(room), "pes × data_bytes_per_pe"),)
    if given.model_bytes is None:
        return Assessment(
            ClaimStatus.OPEN, "Ob eine Aufteilung nötig ist, hängt von der Größe des Modells ab.", figures
        )
    size = _size(given.model_bytes)
    if given.model_bytes <= room:
        sentence = (
            f"Das Modell ({size}) passt nach Bytes in einen Wafer ({_size(room)} für Daten); "
            "eine Aufteilung auf mehrere Systeme entfällt."
        )
        return Assessment(ClaimStatus.REPRODUCED, sentence, figures)
    sentence = (
        f"Das Modell ({size}) passt nicht in einen Wafer ({_size(room)} für Daten); nachladen oder aufteilen."
    )
    return Assessment(ClaimStatus.NOT_APPLICABLE, sentence, figures)


def front_end(name: str, shown: str) -> Callable[[Given], Assessment]:
    """S023, S024: our own bridge to open kernels, never the vendor's toolchain."""

    def assess(given: Given) -> Assessment:
        if name not in given.front_ends:
            return Assessment(
                ClaimStatus.OPEN, f"Ein Graph aus {shown} wurde noch nicht übersetzt und verglichen."
            )
        sentence = (
            f"Graphen aus {shown} werden mit eigener Brücke (Emulator) auf offene Forschungskerne übersetzt; nicht "
            "unterstützte Operationen werden benannt. Über die Software des Herstellers sagt das nichts."
        )
        return Assessment(ClaimStatus.REPRODUCED, sentence)

    return assess


def telemetry(given: Given) -> Assessment:
    """S027 to S029: emulated series are synthetic (EM-07)."""
    if not given.telemetry:
        return Assessment(ClaimStatus.OPEN, "Noch kein Lauf hat Messreihen geliefert.")
    sentence = (
        "Die Überwachungskette wurde mit synthetischen Messreihen erprobt (EM-07); über Wärme, Spannung und Auslastung "
        "der Hardware sagen sie nichts."
    )
    return Assessment(ClaimStatus.PARTLY, sentence)


def says(status: ClaimStatus, sentence: str) -> Callable[[Given], Assessment]:
    """Return a check whose answer depends on no machine and no run."""
    return lambda _given: Assessment(status, sentence)


def _too_small(given: Given) -> Assessment:
    return Assessment(ClaimStatus.NOT_APPLICABLE, f"{given.machine.name} hat nur ein Rechenelement.")


def _derived(label: str, value: str, source: str) -> ClaimFigure:
    return ClaimFigure(label, value, Provenance.DERIVED, source)


def _si(value: int, unit: str) -> str:
    for factor, prefix in _PREFIXES:
        if value >= factor:
            return f"{number(Fraction(value, factor), 1)}{NBSP}{prefix}{unit}"
    return f"{number(value)}{NBSP}{unit}"


def _size(count: int) -> str:
    return _si(count, "B")


def _rate(per_second: int) -> str:
    return _si(per_second, "B/s")


def _megahertz(clock_hz: int) -> str:
    return f"{number(Fraction(clock_hz, 10**6))}{NBSP}MHz"
