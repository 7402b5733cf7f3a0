"""What follows from a machine alone: latencies between elements and collectives over the whole mesh.

Nothing here is an achieved value. Every result is ABGELEITET; `weakest` is the weakest provenance among the figures
it was worked out from (EM-01). Formulas: hpdc.T, chain, tree, two-phase, star, bcast2d, allreduce of
`data/reference.json`, with the machine's own hop and wavelet cost in place of one cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final

from pilots.wafer.errors import WaferError
from pilots.wafer.german import NBSP, number
from pilots.wafer.machine import Machine
from qms.core.values import Provenance

NANOSECONDS: Final = 10**9
WESTBOUND_FREE_HOPS: Final = 32  # rt.west: the anomaly starts beyond them
BROADCAST_ERROR_PERCENT: Final = 21  # hpdc.bcast.err, upper end
REDUCE_ERROR_PERCENT: Final = 4  # hpdc.err
# The order of EM-01. It has no rank for ABGELEITET: what was worked out from published figures is as weak as those.
_ORDER: Final = (Provenance.MEASURED, Provenance.EMULATED, Provenance.VENDOR_STATED, Provenance.ESTIMATED)


class NoNeighbour(WaferError):
    """A mesh of a single element has no path; a mesh without an element is none."""

    def __init__(self, width: int, height: int) -> None:
        sentence = f"Ein Netz von {width} × {height} Rechenelementen hat keine Verbindung; es braucht mindestens zwei."
        super().__init__(f"no path in a mesh of {width} x {height}", message_de=sentence)


@dataclass(frozen=True, slots=True)
class Latency:
    """One wavelet from one element to another, or a collective over all; `terms` are cycles and add up to `cycles`.

    note_de: what the figure does not hold, or the published error of its formula.
    """

    key: str
    label_de: str
    hops: Fraction
    terms: tuple[tuple[str, Fraction], ...]
    clock_hz: int
    weakest: Provenance
    note_de: str = ""

    @property
    def cycles(self) -> Fraction:
        """All terms together."""
        return sum((value for _, value in self.terms), Fraction(0))

    @property
    def nanoseconds(self) -> Fraction:
        """The same at the clock of the machine."""
        return self.cycles * NANOSECONDS / self.clock_hz

    @property
    def sentence_de(self) -> str:
        """The row as a sentence of a report."""
        word = "Sprung" if self.hops == 1 else "Sprünge"
        text = (
            f"{self.label_de}: {_plain(self.hops)} {word}, {_plain(self.cycles)} Takte, "
            f"{number(self.nanoseconds, 1)}{NBSP}ns"
        )
        return f"{text} ({self.note_de})" if self.note_de else text


def weakest(machine: Machine, names: Iterable[str]) -> Provenance:
    """Return the weakest provenance among one or more named figures of a machine (EM-01)."""
    figures = machine.figures()
    found = {figures[name].provenance for name in names}
    plain = {Provenance.VENDOR_STATED if item is Provenance.DERIVED else item for item in found}
    return max(plain, key=_ORDER.index)


def latencies(machine: Machine, *, width: int = 0, height: int = 0) -> tuple[Latency, ...]:
    """Return neighbour, mean and worst latency of one wavelet between two elements of a rectangle.

    width and height: the rectangle in elements, 0 for the usable one. Routes go along the row, then along the column.
    The mean runs over all ordered pairs of different elements. Where the westbound cost is published the worst
    westbound path is a row of its own. Raises NoNeighbour.
    """
    columns, rows = _rectangle(machine, width, height)
    pairs = columns * rows - 1
    mean_hops = Fraction(columns * rows * (columns + rows) - (columns + rows), 3 * pairs)
    mean_turns = Fraction((columns - 1) * (rows - 1), pairs)
    far_hops, far_turns = Fraction(columns + rows - 2), Fraction(int(columns > 1 and rows > 1))
    found = [
        _path(machine, "neighbour", "Nachbar", hops=Fraction(1), turns=Fraction(0)),
        _path(machine, "mean", "Mittel aller Paare", hops=mean_hops, turns=mean_turns),
        _path(machine, "worst", "Längster Weg", hops=far_hops, turns=far_turns),
    ]
    if machine.westbound_hop_millicycles is not None:
        slow = max(0, columns - 1 - WESTBOUND_FREE_HOPS)
        extra = slow * (Fraction(machine.westbound_hop_millicycles.value, 1000) - machine.hop_cycles.value)
        label = "Längster Weg nach Westen"
        found.append(
            _path(machine, "worst_westbound", label, hops=far_hops, turns=far_turns, westbound=extra)
        )
    return tuple(found)


def broadcast(machine: Machine, *, words: int = 1, width: int = 0, height: int = 0) -> Latency:
    """Return one element's `words` wavelets reaching every element of a rectangle (bcast2d); raises NoNeighbour."""
    columns, rows = _rectangle(machine, width, height)
    hops = Fraction(columns + rows - 2)
    terms = (
        ("wavelets", _wavelets(machine, words)),
        ("hops", hops * machine.hop_cycles.value),
        ("turns", Fraction(machine.turn_cycles.value * int(columns > 1 and rows > 1))),
        ("ramps", Fraction(2 * machine.ramp_cycles.value + 1)),
    )
    note = _error_note(machine, "bcast2d", BROADCAST_ERROR_PERCENT)
    return _collective(machine, "broadcast", "Verteilen auf alle", hops=hops, terms=terms, note=note)


def all_reduce(machine: Machine, *, words: int = 1, width: int = 0, height: int = 0) -> Latency:
    """Return `words` sums over all elements, back on all: rows, then a column, then bcast2d; the best algorithm each.

    Raises NoNeighbour.
    """
    columns, rows = _rectangle(machine, width, height)
    row_name, row_cycles = _reduce(machine, columns, words)
    column_name, column_cycles = _reduce(machine, rows, words)
    back = broadcast(machine, words=words, width=columns, height=rows)
    terms = (
        (f"rows ({row_name})", row_cycles),
        (f"column ({column_name})", column_cycles),
        ("broadcast", back.cycles),
    )
    note = _error_note(machine, "allreduce", REDUCE_ERROR_PERCENT)
    label = "Summe über alle (Allreduce)"
    return _collective(machine, "all_reduce", label, hops=2 * back.hops, terms=terms, note=note)


def _plain(value: Fraction) -> str:
    return number(value, 0 if value.denominator == 1 else 1)


def _error_note(machine: Machine, formula: str, percent: int) -> str:
    note = f"Formel {formula}, veröffentlichter Fehler auf CS-2 bis {percent}{NBSP}%"
    return note if machine.calibrated else f"{note}; auf dieser Maschine nicht gemessen"


def _rectangle(machine: Machine, width: int, height: int) -> tuple[int, int]:
    columns, rows = width or machine.width_pes.value, height or machine.height_pes.value
    if columns < 1 or rows < 1 or columns * rows < 2:
        raise NoNeighbour(columns, rows)
    return columns, rows


def _path(
    machine: Machine,
    key: str,
    label: str,
    *,
    hops: Fraction,
    turns: Fraction,
    westbound: Fraction | None = None,
) -> Latency:
    terms = [
        ("send", Fraction(machine.send_cycles.value)),
        ("ramps", Fraction(2 * machine.ramp_cycles.value)),
        ("hops", hops * machine.hop_cycles.value),
        ("turns", turns * machine.turn_cycles.value),
    ]
    names = ["send_cycles", "ramp_cycles", "hop_cycles", "clock_hz"] + ["turn_cycles"] * bool(turns)
    if westbound is not None:
        terms.append(("westbound", westbound))
        names.append("westbound_hop_millicycles")
    return Latency(key, label, hops, tuple(terms), machine.clock_hz.value, weakest(machine, names))


def _collective(
    machine: Machine,
    key: str,
    label: str,
    *,
    hops: Fraction,
    terms: tuple[tuple[str, Fraction], ...],
    note: str,
) -> Latency:
    names = ("ramp_cycles", "hop_cycles", "turn_cycles", "wavelet_millicycles", "clock_hz")
    return Latency(key, label, hops, terms, machine.clock_hz.value, weakest(machine, names), note)


def _wavelets(machine: Machine, words: int) -> Fraction:
    return Fraction(words * machine.wavelet_millicycles.value, 1000)


def _reduce(machine: Machine, length: int, words: int) -> tuple[str, Fraction]:
    """Return the cheapest published reduce along `length` elements and its cycles; ties go to the first name."""
    if length == 1:
        return "none", Fraction(0)
    depth = Fraction(2 * machine.ramp_cycles.value + 1)
    hop = machine.hop_cycles.value
    block, span = _wavelets(machine, words), Fraction((length - 1) * hop)
    levels, group = (length - 1).bit_length(), isqrt(length - 1) + 1
    tree = max(block * levels, block * length * levels / (2 * (length - 1)) + span)
    choices = {
        "chain": block + (depth + hop) * (length - 1),
        "star": max(block * (length - 1), span) + depth,
        "tree": tree + depth * levels,
        "two-phase": max(2 * block, 2 * block - block / group + span) + (2 * group - 2) * depth,
    }
    return min(choices.items(), key=lambda item: item[1])
