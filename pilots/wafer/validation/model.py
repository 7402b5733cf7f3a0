"""The model under test, as two functions: so tests can put a small one in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pilots.wafer import fitting
from pilots.wafer.costs.constants import Constants
from pilots.wafer.workloads import Case


@dataclass(frozen=True, slots=True)
class Model:
    """fit: samples -> constants; cycles: (case, constants) -> cycles, raises fitting.CannotPredict; prior: constants;
    read: constants of a calibration record -> constants.
    """

    fit: Callable[[Sequence[fitting.Sample]], Any]
    cycles: Callable[[Case, Any], float]
    prior: Any
    read: Callable[[Mapping[str, Any]], Any]


def _cycles(case: Case, constants: Any) -> float:
    return fitting.predict_cycles(case, constants).cycles


EMULATOR = Model(fitting.fit, _cycles, fitting.PRIOR, Constants.from_json)
