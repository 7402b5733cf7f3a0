"""Fit the constants of the timing model to cases whose cycles are known.

A Gauss-Newton search in logarithms: relative errors count, every constant stays positive and is held to its published
starting value by a weak spring, so that a family which was left out is still predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import exp, log
from typing import Final

import numpy as np
import numpy.typing as npt

from pilots.wafer.cases import CannotPredict, Estimate, predict_cycles
from pilots.wafer.costs.constants import PRIOR, Constants
from pilots.wafer.workloads import Case

__all__ = ["PRIOR", "CannotPredict", "Constants", "Estimate", "Sample", "fit", "predict_cycles"]

Vector = npt.NDArray[np.float64]
SPRING: Final = 0.15  # weight of a starting value against one independent setting
ROUNDS: Final = 12
STEP: Final = 1e-3
LONGEST: Final = 1.0  # no constant moves by more than a factor e in one round
ENOUGH: Final = 1e-6
NAMES: Final = tuple(item.name for item in fields(Constants))


@dataclass(frozen=True, slots=True)
class Sample:
    """A case whose cycles were measured; weight: how much it counts (entries of one group share one)."""

    case: Case
    cycles: float
    weight: float


def fit(samples: Sequence[Sample]) -> Constants:
    """Return the constants with the least squared relative error over the samples."""
    prior = np.array([log(getattr(PRIOR, name)) for name in NAMES])
    point = prior.copy()
    for _ in range(ROUNDS):
        base = _residuals(samples, point, prior)
        slopes = np.stack(
            [(_residuals(samples, moved, prior) - base) / STEP for moved in _moved(point)], axis=1
        )
        step = np.clip(np.linalg.lstsq(slopes, -base, rcond=None)[0], -LONGEST, LONGEST)
        point = point + step
        if float(np.max(np.abs(step))) < ENOUGH:
            break
    return _constants(point)


def touches(case: Case) -> bool:
    """Say whether any constant changes the prediction of a case; a case that none touches is not fitted."""
    point = np.array([log(getattr(PRIOR, name)) for name in NAMES])
    base = predict_cycles(case, PRIOR).cycles
    return any(predict_cycles(case, _constants(moved)).cycles != base for moved in _moved(point))


def _moved(point: Vector) -> list[Vector]:
    return [point + STEP * unit for unit in np.eye(len(point))]


def _constants(point: Vector) -> Constants:
    return Constants(**{name: exp(value) for name, value in zip(NAMES, point, strict=True)})


def _residuals(samples: Sequence[Sample], point: Vector, prior: Vector) -> Vector:
    constants = _constants(point)
    errors = [
        sample.weight**0.5 * log(predict_cycles(sample.case, constants).cycles / sample.cycles)
        for sample in samples
    ]
    return np.array([*errors, *(SPRING**0.5 * (point - prior))])
