"""The same requests over more and more systems: how much faster, and which word may be used for it (POL-31)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pilots.catalog.figures import Figure, State, emulated
from pilots.wafer import german
from pilots.wafer.costs.uncertainty import OUTSIDE, Trust, trust
from pilots.wafer.errors import DoesNotFit, WaferError
from pilots.wafer.estimate import Estimate, step_seconds
from pilots.wafer.scaling import SYSTEMS, ScalingRow, scaling_table
from qms.core.values import Unit

SEVERAL = "mehrere Systeme"
NOT_ASKED = "andere Zahl von Systemen als gefragt"


@dataclass(frozen=True, slots=True)
class Grown:
    """One step of the answer phase on a number of systems; `row` compares it exactly with the reference.

    speedup and efficiency: cut to two places, so that 0.9499 never reads 0.95.
    """

    systems: int
    step: Figure
    row: ScalingRow
    speedup: Decimal
    efficiency: Decimal

    @property
    def is_reference(self) -> bool:
        """Say whether the others are compared with this row."""
        return self.row.systems == 1


def over_systems(found: Estimate) -> tuple[Grown, ...]:
    """Return a row for 1, 2, 4, 8 and 16 systems, from the first on which the model fits; none if it never does."""
    seconds = _steps(found)
    if not seconds:
        return ()
    least = min(seconds)
    rows = scaling_table(lambda groups: seconds[groups * least], [count // least for count in seconds])
    return tuple(_grown(found, row, row.systems * least, seconds[row.systems * least]) for row in rows)


def _steps(found: Estimate) -> dict[int, float]:
    steps = {found.question.systems: found.decode.step_seconds.value}
    for count in set(SYSTEMS) - set(steps):
        try:
            steps[count] = step_seconds(found.config, found.machine, found.question, count)
        except DoesNotFit:
            continue
        except WaferError:
            return {}
    return {count: steps[count] for count in SYSTEMS if count in steps}


def _grown(found: Estimate, row: ScalingRow, systems: int, seconds: float) -> Grown:
    known = _trust(found, systems)
    step = emulated("step_ms", known.span(seconds * 1e3), Unit.MILLISECONDS, State(known.state, known.reason))
    return Grown(
        systems=systems,
        step=step,
        row=row,
        speedup=german.rounded(row.speedup, 2, down=True),
        efficiency=german.rounded(row.efficiency, 2, down=True),
    )


def _trust(found: Estimate, systems: int) -> Trust:
    """Return the trust in a row: several systems are always EXTRAPOLIERT (EM-04)."""
    known = found.decode.prediction.trust
    if systems == found.question.systems == 1:
        return known
    reason = SEVERAL if systems > 1 else NOT_ASKED
    return trust(known.family, found.machine, [reason], outside=known.state == OUTSIDE)
