"""Defect maps: which elements and links of a wafer do not work, and the healthy mesh that software still sees.

The hardware hides defects (fault.model, WaferLLM); how it does so is not published. This is our own simple model of it,
GESCHAETZT: the manufactured fabric has spare columns and spare rows. A dead element is bridged inside its row, so that
each row offers its first `width` living elements; spare links join it straight to the shifted elements of the next
row. A dead link takes out its eastern or southern element. A row that cannot offer `width` elements is left out and
bridged by its neighbours, over at most `spare_rows` rows in a sequence. Each bridged element or row costs one more hop.
Coordinates are (column, row) on the manufactured fabric, from 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.graph import rng
from pilots.wafer.errors import WaferError
from pilots.wafer.german import number
from pilots.wafer.machine import Machine
from pilots.wafer.machine.figure import derived
from qms.core import canonical

MAX_FABRIC_PES: Final = 2**23
Pe = tuple[int, int]
Link = tuple[Pe, Pe]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


class OutsideFabric(WaferError):
    """A defect names an element or a link that the manufactured fabric does not have."""

    def __init__(self, what: str, columns: int, rows: int) -> None:
        sentence = (
            f"Die Defektkarte nennt {what}; die gefertigte Fläche hat {number(columns)} Spalten und {number(rows)} Zeilen "
            "(Zählung ab 0), und ein Link verbindet zwei Nachbarn."
        )
        super().__init__(f"{what} outside {columns} x {rows}", message_de=sentence)


class TooManyElements(WaferError):
    """The manufactured fabric would be larger than the emulator treats."""

    def __init__(self, columns: int, rows: int) -> None:
        sentence = (
            f"Die gefertigte Fläche hätte {number(columns)} × {number(rows)} Rechenelemente; "
            f"erlaubt sind {number(MAX_FABRIC_PES)}."
        )
        super().__init__(f"fabric of {columns} x {rows}", message_de=sentence)


class BadYield(WaferError):
    """A share of living elements that no wafer can have."""

    def __init__(self, permille: int) -> None:
        sentence = f"Die Ausbeute beträgt {number(permille)} Promille; erlaubt sind 1 bis 1.000 Promille."
        super().__init__(f"yield of {permille} permille", message_de=sentence)


class NoRectangle(WaferError):
    """No row offers enough living elements."""

    def __init__(self, *, width: int, best_row: int, alive: int, spare_columns: int) -> None:
        sentence = (
            f"Die Defektkarte lässt kein nutzbares Rechteck: selbst Zeile {number(best_row)} hat nur "
            f"{number(alive)} lebende Rechenelemente, nötig sind {number(width)} "
            f"({number(spare_columns)} Ersatzspalten)."
        )
        super().__init__(f"no row has {width} living elements", message_de=sentence)
        self.row = best_row


class CutApart(WaferError):
    """Defects divide the mesh; rows and columns are the first and the last that cause it or are cut off."""

    def __init__(self, sentence: str, *, rows: Pe, columns: Pe) -> None:
        super().__init__(f"cut apart at rows {rows}, columns {columns}", message_de=sentence)
        self.rows = rows
        self.columns = columns


@dataclass(frozen=True, slots=True)
class Defects:
    """What does not work on one wafer. spare_columns None: the margin of the machine, physical less usable width."""

    dead_pes: frozenset[Pe]
    dead_links: frozenset[Link] = frozenset()
    spare_rows: int = 0
    spare_columns: int | None = None

    def __post_init__(self) -> None:
        if self.spare_rows < 0 or (self.spare_columns or 0) < 0:
            raise ValueError(f"spares of {self.spare_rows} rows, {self.spare_columns} columns")

    def extent(self, machine: Machine) -> tuple[int, int]:
        """Return columns and rows of the manufactured fabric; raises TooManyElements."""
        spare = self.spare_columns
        margin = machine.physical_width_pes.value - machine.width_pes.value
        columns = machine.width_pes.value + (margin if spare is None else spare)
        rows = machine.height_pes.value + self.spare_rows
        if columns * rows > MAX_FABRIC_PES:
            raise TooManyElements(columns, rows)
        return columns, rows

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form, in ascending order."""
        return {
            "spare_rows": self.spare_rows,
            "spare_columns": self.spare_columns,
            "dead_pes": [list(pe) for pe in sorted(self.dead_pes)],
            "dead_links": [[list(pe) for pe in link] for link in sorted(map(ordered, self.dead_links))],
        }

    def digest(self) -> str:
        """Return the SHA-256 of the canonical form."""
        return canonical.digest(self.to_json())


@dataclass(frozen=True, slots=True, eq=False)
class Remap:
    """The healthy mesh over a wafer with defects.

    machine: what software sees; the same machine if its full rectangle is left. rows [height] and columns
    [height, width]: where each of its elements lies on the manufactured fabric. dropped_rows: left out between or
    before the rows in use.
    """

    machine: Machine
    rows: Numbers
    columns: Numbers
    dropped_rows: tuple[int, ...]

    @property
    def east_extra_hops(self) -> Numbers:
        """Hops beyond one of each link to the right, [height, width - 1]."""
        return np.diff(self.columns, axis=1) - 1

    @property
    def south_extra_hops(self) -> Numbers:
        """Hops beyond one of the links from each row to the next, [height - 1]."""
        return np.diff(self.rows) - 1

    @property
    def bridged_links(self) -> int:
        """Links that take more than one hop."""
        across = np.count_nonzero(self.south_extra_hops) * self.columns.shape[1]
        return int(np.count_nonzero(self.east_extra_hops) + across)

    @property
    def worst_extra_cycles(self) -> int:
        """Cycles that the worst row of links and the whole height add to the longest path."""
        along = int(self.east_extra_hops.sum(axis=1).max(initial=0))
        return (along + int(self.south_extra_hops.sum())) * self.machine.hop_cycles.value


def ordered(link: Link) -> Link:
    """Return a link with its western or northern element first."""
    first, second = link
    return (first, second) if first <= second else (second, first)


def dead_map(machine: Machine, defects: Defects) -> Mask:
    """Return the dead elements as a mask [rows, columns]; raises OutsideFabric, TooManyElements."""
    columns, rows = defects.extent(machine)
    return marked(defects.dead_pes, columns, rows)


def usable(machine: Machine, defects: Defects) -> Remap:
    """Return the healthy mesh that is left; raises OutsideFabric, TooManyElements, NoRectangle, CutApart.

    The mesh keeps the full width; it loses height when more rows fail than there are spare ones.
    """
    columns, rows = defects.extent(machine)
    width = machine.width_pes.value
    links = checked_links(defects.dead_links, columns, rows)
    alive = ~(dead_map(machine, defects) | marked((second for _, second in links), columns, rows))
    living = np.count_nonzero(alive, axis=1)
    kept = np.flatnonzero(living >= width)
    if kept.size == 0:
        best = int(living.argmax())
        raise NoRectangle(width=width, best_row=best, alive=int(living[best]), spare_columns=columns - width)
    _check_bridges(kept, defects.spare_rows, columns)
    chosen = kept[: machine.height_pes.value]
    # A stable sort of "is dead" puts the living elements of each row first, from west to east.
    places = np.argsort(~alive[chosen], axis=1, kind="stable")[:, :width]
    dropped = np.setdiff1d(np.arange(int(chosen[-1]) + 1), chosen)
    return Remap(_shrunk(machine, defects, chosen.size), chosen, places, tuple(dropped.tolist()))


def random_defects(
    machine: Machine,
    *,
    seed: int,
    yield_permille: int | None = None,
    spare_columns: int | None = None,
    spare_rows: int | None = None,
) -> Defects:
    """Return made-up, independent defects for teaching; real ones are clustered and no map is published.

    yield_permille: share of living elements, 1 .. 1000, by default the published one; spares by default: columns for
    the expected dead of a row and six standard deviations more, rows as the margin of the machine. Raises BadYield,
    TooManyElements; ValueError for a seed outside `rng.MAX_SEED`.
    """
    share = machine.functional_area_permille.value if yield_permille is None else yield_permille
    if not 1 <= share <= 1000:
        raise BadYield(share)
    if spare_columns is None:
        expected = -(-machine.width_pes.value * (1000 - share) // share)
        spare_columns = expected + 6 * (isqrt(expected) + 1) if expected else 0
    margin = machine.physical_height_pes.value - machine.height_pes.value
    empty = Defects(frozenset(), frozenset(), margin if spare_rows is None else spare_rows, spare_columns)
    columns, rows = empty.extent(machine)
    drawn = rng.words(seed, f"defects {machine.id}", columns * rows) % np.uint64(1000)
    below, beside = np.nonzero(drawn.reshape(rows, columns) >= np.uint64(share))
    return replace(empty, dead_pes=frozenset(zip(beside.tolist(), below.tolist(), strict=True)))


def marked(pes: Iterable[Pe], columns: int, rows: int) -> Mask:
    """Return elements as a mask [rows, columns]; raises OutsideFabric."""
    places: Numbers = np.array(sorted(pes), dtype=np.int64).reshape(-1, 2)
    wrong = (places < 0).any(axis=1) | (places[:, 0] >= columns) | (places[:, 1] >= rows)
    if wrong.any():
        column, row = places[int(wrong.argmax())].tolist()
        raise OutsideFabric(f"das Rechenelement ({column}, {row})", columns, rows)
    mask = np.zeros((rows, columns), dtype=bool)
    mask[places[:, 1], places[:, 0]] = True
    return mask


def checked_links(links: Iterable[Link], columns: int, rows: int) -> list[Link]:
    """Return links in ascending order, each with its western or northern end first; raises OutsideFabric."""
    found = sorted(map(ordered, links))
    for (x, y), (right, below) in found:
        inside = x >= 0 and y >= 0 and right < columns and below < rows
        if not inside or (right - x, below - y) not in {(1, 0), (0, 1)}:
            raise OutsideFabric(f"den Link ({x}, {y}) – ({right}, {below})", columns, rows)
    return found


def _check_bridges(kept: Numbers, spare_rows: int, columns: int) -> None:
    gaps = np.diff(kept) - 1
    if gaps.size and int(gaps.max()) > spare_rows:
        first = int(kept[int(gaps.argmax())]) + 1
        last = first + int(gaps.max()) - 1
        raise CutApart(
            f"Die Ausfälle schneiden das Netz durch: die Zeilen {number(first)} bis {number(last)} haben zu wenige "
            f"lebende Rechenelemente, überbrückt werden höchstens {number(spare_rows)} Zeilen in Folge.",
            rows=(first, last),
            columns=(0, columns - 1),
        )


def _shrunk(machine: Machine, defects: Defects, height: int) -> Machine:
    if height == machine.height_pes.value:
        return machine
    digest = defects.digest()
    base, at, profile = machine.id.partition("@")
    return replace(
        machine,
        id=f"{base}-d{digest[:8]}{at}{profile}",
        calibrated=False,
        height_pes=derived(height, f"defect map {digest}"),
    )
