"""How far a graph is from what its framework computed: the largest deviation of each output, and its limit (POL-06)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.capture import Captured
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import DType

LIMITS: Final = {DType.FLOAT32: 1e-5, DType.FLOAT16: 1e-2, DType.BFLOAT16: 1e-2}  # POL-06; all else is equal


@dataclass(frozen=True, slots=True)
class Agreement:
    """One output: largest deviation by the largest number of the framework, and how much that may be."""

    name: str
    deviation: float
    limit: float

    @property
    def within(self) -> bool:
        """Say whether the deviation is allowed; NaN is not."""
        return self.deviation <= self.limit


def agreements(captured: Captured) -> tuple[Agreement, ...]:
    """Compute the graph on its example in double precision and compare every output; nothing without an example.

    Raises GraphError if the graph cannot be computed on it.
    """
    example, types = captured.example, captured.graph.tensors()
    if example is None:
        return ()
    found = evaluate(captured.graph, {**example.inputs, **captured.weights})
    rows = []
    for name, own in example.outputs.items():
        wanted = own.astype(np.float64)
        delta = float(np.max(np.abs(found[name].astype(np.float64) - wanted), initial=0.0))
        largest = float(np.max(np.abs(wanted), initial=0.0))
        relative = delta / largest if largest else (0.0 if delta == 0.0 else np.inf)
        rows.append(Agreement(name, relative, LIMITS.get(types[name].dtype, 0.0)))
    return tuple(rows)
