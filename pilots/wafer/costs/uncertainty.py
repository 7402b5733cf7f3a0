"""How far a prediction may be trusted: the interval of its family, widened where nothing was calibrated (EM-04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pilots.wafer.costs.constants import record
from pilots.wafer.costs.terms import Span
from pilots.wafer.german import number
from pilots.wafer.machine import Machine
from pilots.wafer.memory import ATTENTIONS
from pilots.wafer.program import PRODUCTS, Call, Kernel, Mode, Program
from pilots.wafer.workloads import Family

CALIBRATED: Final = "KALIBRIERT"
EXTRAPOLATED: Final = "EXTRAPOLIERT"
OUTSIDE: Final = "AUSSERHALB_KALIBRIERUNG"
# The first kernel of a program that is found in this order decides which family its error is taken from.
FAMILY_OF: Final[tuple[tuple[Kernel, Family], ...]] = (
    (Kernel.STREAMED, Family.TRAINING),
    (Kernel.ATTENTION_CACHED, Family.DECODE),
    (Kernel.ATTENTION, Family.PREFILL),
    (Kernel.STENCIL, Family.STENCIL),
    (Kernel.EXPERTS, Family.DECODE),
    (Kernel.MESH_GEMM, Family.PREFILL),
    (Kernel.CANNON, Family.PREFILL),
    (Kernel.STATIONARY, Family.PREFILL),
    (Kernel.CONVOLUTION, Family.PREFILL),
    (Kernel.GEMV, Family.GEMV),
    (Kernel.SUMMA, Family.GEMM),
)
# Products that the runs a family was fitted on used; any other kernel has been calibrated on nothing.
FITTED_PRODUCTS: Final[dict[Family, tuple[Kernel, ...]]] = {
    Family.GEMM: (Kernel.SUMMA,),
    Family.GEMV: (Kernel.GEMV,),
    Family.DECODE: (Kernel.GEMV,),
    Family.PREFILL: (Kernel.MESH_GEMM, Kernel.GEMV),
}
MAX_DECODE_BATCH: Final = 64  # declared validity of the matrix-vector model


@dataclass(frozen=True, slots=True)
class Trust:
    """family: whose published error applies; state of EM-04; factor: half-width of the 90 % interval, as a ratio;
    reason: why it is not KALIBRIERT, in German, else empty.
    """

    family: Family
    state: str
    factor: float
    reason: str

    def span(self, value: float) -> Span:
        """Return the value with the interval of the model error."""
        return Span(value, value / self.factor, value * self.factor)


def family_record(family: Family) -> dict[str, Any]:
    """Return what the calibration knows of a family, or what it knows of none."""
    families = record()["families"]
    found: dict[str, Any] = families.get(family.value) or {}
    return found


def host_factor() -> float:
    """Return the half-width of the interval of host times."""
    return float(record()["factors"]["host"])


def trust_in(program: Program, machine: Machine, *, copies: int = 1) -> Trust:
    """Return whose error applies to a program and its copies on further systems, its state, and why it is not calibrated."""
    kernels = {call.kernel for call in program.calls}
    family = next((family for kernel, family in FAMILY_OF if kernel in kernels), Family.COLLECTIVES)
    if program.mode is Mode.WEIGHT_STREAMING:
        family = Family.TRAINING
    reasons = list(_outside_range(program, machine, family))
    if program.systems * copies > 1:
        reasons.insert(0, "mehrere Systeme")
    rows = max((call.shape[0] for call in program.calls if call.kernel is Kernel.ATTENTION_CACHED), default=1)
    outside = family_record(family).get("factor_extrapolated") is None or rows > MAX_DECODE_BATCH
    outside |= program.mode is Mode.WEIGHT_STREAMING and Kernel.ATTENTION_CACHED in kernels
    return trust(family, machine, reasons, outside=outside)


def trust(family: Family, machine: Machine, reasons: list[str], *, outside: bool) -> Trust:
    """Return the trust in a prediction of a family; any reason widens the interval."""
    known, factors = family_record(family), record()["factors"]
    wide = widened(known, factors, machine)
    if outside:
        wide = max(wide, float(factors["unknown"]))
        return Trust(family, OUTSIDE, wide, "außerhalb des erklärten Gültigkeitsbereichs dieser Familie")
    if reasons:
        return Trust(family, EXTRAPOLATED, wide, "; ".join(reasons))
    return Trust(family, CALIBRATED, float(known["factor_calibrated"]), "")


def widened(known: Mapping[str, Any], factors: Mapping[str, Any], machine: Machine) -> float:
    """Return the half-width of a family beyond its range as a ratio, on a machine that may not be calibrated."""
    wide = float(known.get("factor_extrapolated") or factors["unknown"])
    return wide if machine.calibrated else wide * float(factors["generation"])


def _outside_range(program: Program, machine: Machine, family: Family) -> list[str]:
    known = family_record(family)
    limits = known.get("range", {})
    found = []
    if not known.get("judged"):
        found.append("zu wenige unabhängige Messungen in dieser Familie")
    if not machine.calibrated:
        found.append(f"{machine.name} wurde nicht kalibriert")
    if program.dtype.item_bytes not in limits.get("item_bytes", ()):
        found.append(f"Zahlentyp {program.dtype.value} ist nicht kalibriert")
    used = {call.kernel for call in program.calls}
    if family in (Family.PREFILL, Family.DECODE) and not used & set(ATTENTIONS):
        found.append("das Modell ist kein Sprachmodell")
    products = used & {*PRODUCTS, Kernel.CONVOLUTION, Kernel.EXPERTS}
    strange = sorted(products - set(FITTED_PRODUCTS.get(family, ())))
    if strange:
        found.append(f"nicht kalibriert: Kernel {', '.join(strange)}")
    grid = limits.get("grid")
    side = max(max(region.rect.width, region.rect.height) for region in program.regions)
    if any(region.rect.width != region.rect.height for region in program.regions):
        found.append("eine Region ist nicht quadratisch")
    if grid and not grid[0] <= side <= grid[1]:
        found.append(_beyond(f"Gitter von {number(side)} Elementen Seitenlänge", *grid))
    found += [reason for call in program.calls if (reason := _call_outside(call, limits))][:1]
    return found


def _call_outside(call: Call, limits: dict[str, Any]) -> str:
    if call.kernel in ATTENTIONS:
        low, high = limits.get("context", (1, 0))
        if not low <= call.shape[2] <= high:
            return _beyond(f"Kontext von {number(call.shape[2])} Token", low, high)
        if call.shape[0] > limits.get("batch", (1, 1))[1]:
            return f"Stapel von {number(call.shape[0])} Anfragen ist größer als kalibriert"
    if call.kernel is Kernel.SUMMA and "tile" in limits:
        low, high = limits["tile"]
        if len(set(call.tile)) > 1 or not low <= call.tile[0] <= high:
            sides = " × ".join(number(side) for side in call.tile)
            return (
                f"Kachel {sides} ist nicht kalibriert (nur quadratische von {number(low)} bis {number(high)})"
            )
    return ""


def _beyond(what: str, low: int, high: int) -> str:
    """Return the sentence on a size that no calibrated case has."""
    if low == high:
        return f"{what} weicht vom einzigen kalibrierten Wert {number(low)} ab"
    return f"{what} liegt außerhalb des kalibrierten Bereichs {number(low)} bis {number(high)}"
