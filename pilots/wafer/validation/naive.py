"""The naive curve: cycles = e^a * operations^b * bytes^c * elements^d by least squares in logarithms, no hardware.

Solved by plain elimination in a fixed order, so it gives the same figures on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Final

from pilots.wafer.features import features
from pilots.wafer.workloads import Case

RIDGE: Final = 1e-6  # keeps exponents finite where the cases do not tell them apart
Vector = tuple[float, ...]


def fit(cases: Sequence[Case], cycles: Sequence[float]) -> Vector | None:
    """Return the four parameters of the curve through at least one case, None without any."""
    if not cases:
        return None
    rows = [tuple(log(value) for value in features(case).values) for case in cases]
    goals = [log(value) for value in cycles]
    count, width = len(rows), len(rows[0])
    means = [sum(row[i] for row in rows) / count for i in range(width)]
    centre = sum(goals) / count
    shifted = [[row[i] - means[i] for i in range(width)] for row in rows]
    matrix = [
        [sum(row[i] * row[j] for row in shifted) + (RIDGE * count if i == j else 0.0) for j in range(width)]
        for i in range(width)
    ]
    right = [
        sum(row[i] * (goal - centre) for row, goal in zip(shifted, goals, strict=True)) for i in range(width)
    ]
    slopes = _solve(matrix, right)
    return (centre - sum(s * m for s, m in zip(slopes, means, strict=True)), *slopes)


def predict(case: Case, curve: Vector) -> float:
    """Return the cycles of a case on the curve, held between 1e-3 and 1e30."""
    values = (1.0, *(log(value) for value in features(case).values))
    exponent = sum(parameter * value for parameter, value in zip(curve, values, strict=True))
    return exp(min(max(exponent, log(1e-3)), log(1e30)))


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a small positive definite system by elimination without exchanging rows."""
    size = len(right)
    rows = [[*matrix[i], right[i]] for i in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            share = rows[j][i] / rows[i][i]
            rows[j] = [rows[j][k] - share * rows[i][k] for k in range(size + 1)]
    found = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][k] * found[k] for k in range(i + 1, size))
        found[i] = (rows[i][size] - known) / rows[i][i]
    return found
