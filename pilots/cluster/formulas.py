"""The table of formulas: which starting values, columns and terms belong to the cases of a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.cluster.costs import collectives, operators, serving, steady, training
from pilots.cluster.costs.terms import Columns, Constants, Terms, Vector
from pilots.cluster.measured import Tables, corrections
from pilots.cluster.workloads import Case, Family


@dataclass(frozen=True, slots=True)
class Formula:
    """prior: constant -> starting value and its reason; columns: of cases; terms: of columns and constants."""

    prior: Mapping[str, tuple[float, str]]
    columns: Callable[[Sequence[Case]], Columns]
    terms: Callable[[Columns, Constants], Terms]

    @property
    def start(self) -> dict[str, float]:
        """The constants before any fit."""
        return {name: value for name, (value, _) in self.prior.items()}


FORMULAS: Final[dict[str, Formula]] = {
    Family.OPERATORS.value: Formula(operators.PRIOR, operators.columns, operators.terms),
    Family.COLLECTIVES.value: Formula(collectives.PRIOR, collectives.columns, collectives.terms),
    Family.SERVING.value: Formula(serving.PRIOR, serving.columns, serving.terms),
    Family.OFFLINE.value: Formula(steady.PRIOR, steady.columns, steady.terms),
    Family.TRAINING.value: Formula(training.PRIOR, training.columns, training.terms),
}


def formula_of(key: str) -> Formula:
    """Return the formula of a key such as "serving/vLLM 2024"."""
    return FORMULAS[key.partition("/")[0]]


def seconds(
    cases: Sequence[Case], constants: Mapping[str, Constants], tables: Mapping[str, Tables] | None = None
) -> Vector:
    """Return the seconds of cases of one key; without constants of its own the key starts from the prior.

    tables: what published tables of known systems add, per key.
    """
    key = cases[0].key
    formula = formula_of(key)
    found = formula.terms(formula.columns(cases), constants.get(key, formula.start)).seconds
    return found * np.exp(corrections(cases, (tables or {}).get(key, {})))
