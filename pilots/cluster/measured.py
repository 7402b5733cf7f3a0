"""Published tables of a known system: what they add to the formula of a collective, interpolated over the size.

A table belongs to one kind of collective on one span. Per doubling of the size it holds the middle logarithm of published
over computed seconds; between these knots it is interpolated over the logarithm of the size, beyond them nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log, log2
from typing import Any, Final, TypeAlias

import numpy as np

from pilots.cluster.costs.terms import Vector
from pilots.cluster.workloads import Case, Collective
from qms.core.values import decimal_text, rounded

LEAST_KNOTS: Final = 4  # fewer doublings of the size are single figures, not a table
MARGIN: Final = log(2.0)  # a table speaks up to half and twice its sizes
Knots: TypeAlias = tuple[tuple[float, float], ...]  # logarithm of the size, correction
Tables: TypeAlias = Mapping[str, Knots]


def table_of(case: Case) -> str:
    """Return the name of the system a collective runs on: everything but size and latency; empty where tables do not apply."""
    work, span = case.workload, case.span
    if not isinstance(work, Collective) or not span.switched or span.gpus == 1:
        return ""
    local, remote = span.local_bytes_per_s / 1e9, span.remote_bytes_per_s / 1e9
    inside = f", {local:g} GB/s je GPU" if span.per_node > 1 else ""
    between = f", {span.nodes} Knoten mit {remote:g} GB/s" if span.nodes > 1 else ""
    return f"{work.kind} {work.algorithm}{' ' * bool(work.algorithm)}{span.gpus} x {case.device.id}{inside}{between}"


def tables_of(cases: Sequence[Case], errors: Sequence[float]) -> dict[str, Knots]:
    """Return the tables of measured cases; errors: logarithm of computed over published seconds."""
    found: dict[str, dict[int, list[tuple[float, float]]]] = {}
    for case, error in zip(cases, errors, strict=True):
        name = table_of(case)
        if name:
            size = _size(case)
            found.setdefault(name, {}).setdefault(floor(log2(size)), []).append((log(size), -error))
    return {
        name: tuple(_knot(found[name][part]) for part in sorted(found[name]))
        for name in sorted(found)
        if len(found[name]) >= LEAST_KNOTS
    }


def covers(case: Case, tables: Tables) -> bool:
    """Say whether a table speaks about a case."""
    knots = tables.get(table_of(case), ())
    return bool(knots) and knots[0][0] - MARGIN <= log(_size(case)) <= knots[-1][0] + MARGIN


def corrections(cases: Sequence[Case], tables: Tables) -> Vector:
    """Return what tables add to the logarithm of the seconds of cases; 0 where none speaks."""
    return np.array([_correction(case, tables) for case in cases], dtype=np.float64)


def to_json(tables: Tables) -> dict[str, Any]:
    """Return tables as the calibration record stores them."""
    return {name: [[_text(size), _text(value)] for size, value in knots] for name, knots in tables.items()}


def from_json(stored: Mapping[str, Any]) -> dict[str, Knots]:
    """Return tables from a calibration record."""
    return {
        name: tuple((float(size), float(value)) for size, value in knots) for name, knots in stored.items()
    }


def _correction(case: Case, tables: Tables) -> float:
    if not covers(case, tables):
        return 0.0
    sizes, values = zip(*tables[table_of(case)], strict=True)
    return float(np.interp(log(_size(case)), sizes, values))


def _size(case: Case) -> int:
    assert isinstance(case.workload, Collective)
    return case.workload.size_bytes


def _knot(rows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    sizes, values = zip(*rows, strict=True)
    return float(np.mean(sizes)), float(np.median(values))


def _text(value: float) -> str:
    return decimal_text(rounded(value, 5))
