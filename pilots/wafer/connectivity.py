"""Which elements of a wafer with defects reach one another as they are, before anything is bridged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pilots.wafer.defects import CutApart, Defects, Link, Mask, Numbers, Pe, checked_links, dead_map
from pilots.wafer.german import number
from pilots.wafer.machine import Machine


@dataclass(frozen=True, slots=True)
class Connectivity:
    """A mesh as it is, without remapping: living elements, parts, and what the largest part does not reach.

    cut_off_rows and cut_off_columns: first and last row and column with an unreached element, None if there is none.
    """

    alive: int
    parts: int
    reached: int
    cut_off_rows: Pe | None
    cut_off_columns: Pe | None


def connectivity(machine: Machine, defects: Defects) -> Connectivity:
    """Return which living elements of the manufactured fabric reach one another without any bridge.

    Rows are cut into runs of joined elements; runs above one another are united until nothing changes.
    """
    columns, rows = defects.extent(machine)
    alive = ~dead_map(machine, defects)
    east, south = _joined(alive, checked_links(defects.dead_links, columns, rows))
    starts = alive.copy()
    starts[:, 1:] &= ~east
    run = np.cumsum(starts.ravel()).reshape(rows, columns) - 1
    roots = _united(int(starts.sum()), run[:-1][south], run[1:][south])
    if roots.size == 0:
        return Connectivity(0, 0, 0, None, None)
    part = roots[np.maximum(run, 0)]
    sizes = np.bincount(part[alive])
    unreached = np.argwhere(alive & (part != int(sizes.argmax())))
    spans: tuple[Pe, Pe] | tuple[None, None] = (None, None)
    if unreached.size:
        (top, left), (bottom, right) = unreached.min(axis=0).tolist(), unreached.max(axis=0).tolist()
        spans = ((top, bottom), (left, right))
    return Connectivity(int(alive.sum()), int(np.count_nonzero(sizes)), int(sizes.max()), *spans)


def require_connected(machine: Machine, defects: Defects) -> Connectivity:
    """Return the connectivity of a mesh in one part; raises CutApart that names the rows and columns cut off."""
    found = connectivity(machine, defects)
    if found.cut_off_rows is None or found.cut_off_columns is None:
        return found
    (top, bottom), (left, right) = found.cut_off_rows, found.cut_off_columns
    raise CutApart(
        f"Die Ausfälle teilen das Netz in {number(found.parts)} Teile: {number(found.alive - found.reached)} von "
        f"{number(found.alive)} lebenden Rechenelementen sind vom größten Teil getrennt "
        f"(Zeilen {number(top)} bis {number(bottom)}, Spalten {number(left)} bis {number(right)}).",
        rows=(top, bottom),
        columns=(left, right),
    )


def _joined(alive: Mask, links: list[Link]) -> tuple[Mask, Mask]:
    east, south = alive[:, :-1] & alive[:, 1:], alive[:-1] & alive[1:]
    for (x, y), (right, _) in links:
        (east if right > x else south)[y, x] = False
    return east, south


def _united(count: int, upper: Numbers, lower: Numbers) -> Numbers:
    """Return for each of `count` runs the smallest run it is joined with, over pairs of touching runs."""
    if upper.size:  # neighbours along a row mostly repeat the same pair
        fresh = np.append(True, (np.diff(upper) != 0) | (np.diff(lower) != 0))
        upper, lower = upper[fresh], lower[fresh]
    roots = np.arange(count, dtype=np.int64)
    while True:
        first, second = roots[upper], roots[lower]
        apart = first != second
        if not apart.any():
            return roots
        small, large = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
        np.minimum.at(roots, large, small)
        while not np.array_equal(roots, roots[roots]):
            roots = roots[roots]
