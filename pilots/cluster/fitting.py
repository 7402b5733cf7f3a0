"""Fit the constants of one key to cases whose time is known.

A Gauss-Newton search in logarithms: relative errors count, every constant stays positive and is held to its starting
value by a weak spring; a far outlier counts less than its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.cluster.costs.terms import Columns, Vector
from pilots.cluster.formulas import Formula, formula_of
from pilots.cluster.workloads import Case

SPRING: Final = 0.05
ROUNDS: Final = 30
STEP: Final = 1e-4
LONGEST: Final = 0.5
ENOUGH: Final = 1e-5
OF_PEAK: Final = ("memory_share", "attention_share", "link_share", "network_share")  # never above 1
OUTLIER: Final = 0.1  # logarithmic error from which on an entry counts less


@dataclass(frozen=True, slots=True)
class Sample:
    """A case and its seconds; weight: how much it counts."""

    case: Case
    seconds: float
    weight: float = 1.0


def fit(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the constants with the least squared relative error over samples of one key; at least one sample."""
    formula = formula_of(samples[0].case.key)
    names = tuple(formula.prior)
    given = formula.columns([item.case for item in samples])
    goal = np.log(np.array([item.seconds for item in samples]))
    weights = np.array([item.weight for item in samples])
    start = np.log(np.array(list(formula.start.values())))
    point = start.copy()
    bounded = np.array([name in OF_PEAK for name in names])
    for _ in range(ROUNDS):
        base = _errors(formula, given, names, point, goal)
        scale = np.sqrt(weights / np.sqrt(1 + (base / OUTLIER) ** 2))
        slopes = np.stack(
            [
                (_errors(formula, given, names, point + STEP * unit, goal) - base) / STEP
                for unit in np.eye(len(names))
            ],
            axis=1,
        )
        springs = SPRING**0.5 * np.eye(len(names))
        matrix = np.concatenate([slopes * scale[:, None], springs])
        right = np.concatenate([-base * scale, SPRING**0.5 * (start - point)])
        step = np.clip(np.linalg.lstsq(matrix, right, rcond=None)[0], -LONGEST, LONGEST)
        point = np.where(bounded, np.minimum(point + step, 0.0), point + step)
        if float(np.max(np.abs(step))) < ENOUGH:
            break
    return {name: float(value) for name, value in zip(names, np.exp(point), strict=True)}


def _errors(formula: Formula, given: Columns, names: Sequence[str], point: Vector, goal: Vector) -> Vector:
    constants = dict(zip(names, (float(value) for value in np.exp(point)), strict=True))
    return np.asarray(np.log(formula.terms(given, constants).seconds) - goal)
