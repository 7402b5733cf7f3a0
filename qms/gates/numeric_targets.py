"""Quality targets that are judged on the outputs of a run (EV-06): which they are, the value found, whether it is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from qms.gates.evidence_facts import EquivalenceFacts, OutputFacts
from qms.workloads.rules import QualityTargetValues, quality_target_gaps

DEVIATION: Final = "output_rel_dev"
COSINE: Final = "output_cosine"
NUMERIC: Final = frozenset({DEVIATION, COSINE})


@dataclass(frozen=True, slots=True)
class Judged:
    """One target with the worst value of all outputs; value and met are None where the evidence has none."""

    target: QualityTargetValues
    value: Decimal | None
    met: bool | None


def judged(targets: Sequence[QualityTargetValues], found: EquivalenceFacts) -> list[Judged]:
    """Return every complete target that outputs decide, with its value and verdict."""
    rows = []
    for target in targets:
        if target.metric in NUMERIC and found.outputs and not quality_target_gaps(target):
            value = value_of(target.metric, found)
            rows.append(Judged(target, value, None if value is None else target.met_by(value)))
    return rows


def value_of(key: str, found: EquivalenceFacts) -> Decimal | None:
    """Return the worst value of all outputs: the largest deviation, the smallest cosine; None if one has no cosine."""
    if key == DEVIATION:
        return max(relative(output) for output in found.outputs)
    cosines = [output.cosine for output in found.outputs]
    return min((item for item in cosines if item is not None), default=None) if None not in cosines else None


def relative(output: OutputFacts) -> Decimal:
    """Return the largest deviation as a share of the largest value of the reference."""
    if output.max_abs_reference == 0:
        return Decimal(0) if output.max_abs_delta == 0 else Decimal("Infinity")
    return output.max_abs_delta / output.max_abs_reference
