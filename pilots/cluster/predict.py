"""One call for a question: seconds with their parts, the 90 % interval and how far it may be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

from pilots.cluster.constants import constants, record, tables
from pilots.cluster.costs import memory
from pilots.cluster.costs.terms import PARTS
from pilots.cluster.formulas import formula_of
from pilots.cluster.measured import corrections
from pilots.cluster.validity import Trust, trust
from pilots.cluster.workloads import Case


@dataclass(frozen=True, slots=True)
class Prediction:
    """seconds with their parts (name -> seconds, sum = seconds) and the interval of the model error."""

    seconds: float
    parts: Mapping[str, float]
    trust: Trust

    @property
    def lower(self) -> float:
        """Lower end of the 90 % interval, in seconds."""
        return self.seconds / self.trust.factor

    @property
    def upper(self) -> float:
        """Upper end of the 90 % interval, in seconds."""
        return self.seconds * self.trust.factor

    @property
    def comm_share(self) -> float:
        """Share of exposed communication (M-14)."""
        return self.parts["net_serialisation"] / self.seconds

    @property
    def mem_stall_share(self) -> float:
        """Share of waiting for memory (M-15)."""
        return self.parts["mem_wall"] / self.seconds

    def to_json(self) -> dict[str, Any]:
        """Return the form for programs; parts in milliseconds."""
        return {
            "seconds": self.seconds,
            "lower": self.lower,
            "upper": self.upper,
            "state": self.trust.state,
            "reason": self.trust.reason,
            "comm_share": self.comm_share,
            "mem_stall_share": self.mem_stall_share,
            "parts_ms": {f"{name}_ms": 1e3 * value for name, value in self.parts.items()},
        }


def predict(case: Case) -> Prediction:
    """Return the prediction of a case with the calibration in use; raises DoesNotFit for a plan beyond the memory."""
    memory.check(case)
    formula = formula_of(case.key)
    terms = formula.terms(formula.columns([case]), constants().get(case.key, formula.start))
    scale = exp(corrections([case], tables().get(case.key, {}))[0])
    parts = {name: scale * float(terms.part(name)[0]) for name in PARTS}
    return Prediction(sum(parts.values()), parts, trust(case, record()))
