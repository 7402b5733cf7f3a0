"""How a workload grows over several systems: speed-up, efficiency, and the word that may be used for it (POL-31).

Times are taken exactly as their shortest decimal text says, so that an efficiency of 0.95 is 0.95 and not a float
beside it. What an emulator says about several systems is always EXTRAPOLIERT (EM-04).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Final

from pilots.wafer.errors import WaferError
from pilots.wafer.german import number
from qms.core.values import Calibration

LINEAR_FROM: Final = Fraction(95, 100)  # POL-31
SYSTEMS: Final = (1, 2, 4, 8, 16)
Seconds = float | Decimal | Fraction


class BadScaling(WaferError):
    """The systems or the times do not make a scaling table."""


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """The same step on `systems` systems. speedup: against one system; efficiency: speedup per system.

    calibration: of one system as the caller says, of several always EXTRAPOLIERT.
    """

    systems: int
    seconds: Fraction
    speedup: Fraction
    efficiency: Fraction
    calibration: Calibration

    @property
    def linear(self) -> bool:
        """Say whether the word "linear" may be used (POL-31)."""
        return self.efficiency >= LINEAR_FROM

    @property
    def word_de(self) -> str:
        """What the screen says, such as "sublinear (0,88)"; the number is cut, so that 0.9499 never reads 0,95."""
        if self.systems == 1:
            return "Bezug (1 System)"
        word = "linear" if self.linear else "sublinear"
        if self.efficiency > 1:
            word = "überlinear, bitte prüfen"
        return f"{word} ({number(self.efficiency, 2, down=True)})"


def scaling_table(
    step_seconds: Callable[[int], Seconds],
    systems: Sequence[int] = SYSTEMS,
    *,
    one_system: Calibration = Calibration.EXTRAPOLATED,
) -> tuple[ScalingRow, ...]:
    """Return a row for each number of systems; `step_seconds(n)` is the time of the same step on n systems.

    systems: ascending, at least 1; one system is computed as the reference even if it is not listed.
    one_system: the calibration of a single system. Raises BadScaling.
    """
    if not systems or systems[0] < 1 or any(b <= a for a, b in pairwise(systems)):
        raise BadScaling(
            f"systems {tuple(systems)}",
            message_de=f"Die Anzahlen der Systeme müssen ab 1 aufsteigen; gegeben sind {tuple(systems)}.",
        )
    reference = _exact(step_seconds(1), 1)
    rows = []
    for count in systems:
        seconds = reference if count == 1 else _exact(step_seconds(count), count)
        speedup = reference / seconds
        state = one_system if count == 1 else Calibration.EXTRAPOLATED
        rows.append(ScalingRow(count, seconds, speedup, speedup / count, state))
    return tuple(rows)


def _exact(seconds: Seconds, systems: int) -> Fraction:
    try:
        exact = Fraction(repr(float(seconds))) if isinstance(seconds, float) else Fraction(seconds)
    except (ValueError, OverflowError) as error:  # NaN and infinity have no fraction
        raise _bad_time(seconds, systems) from error
    if exact <= 0:
        raise _bad_time(seconds, systems)
    return exact


def _bad_time(seconds: Seconds, systems: int) -> BadScaling:
    return BadScaling(
        f"{seconds} s on {systems} systems",
        message_de=f"Die Schrittzeit auf {systems} Systemen ist {seconds} s; sie muss größer als 0 sein.",
    )
