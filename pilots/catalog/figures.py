"""Numbers of the emulator as metrics: value, unit, three axes, interval, state (EM-01, EM-04)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from pilots.wafer.costs.terms import Span
from pilots.wafer.machine import Machine
from pilots.wafer.predict import Prediction
from qms.core.values import Assurance, Axes, Calibration, Interval, Metric, Origin, Provenance, Unit, rounded

EMULATED: Final = Axes(Provenance.EMULATED, Assurance.SUBMITTED, Origin.OWN)
REPEATED: Final = replace(EMULATED, assurance=Assurance.REPEATED)
COUNTED: Final = Axes(Provenance.DERIVED, Assurance.SUBMITTED, Origin.OWN)
FROM_MACHINE: Final = Axes(Provenance.DERIVED, Assurance.SUBMITTED, Origin.PUBLISHED)
PUBLISHED: Final = Axes(Provenance.VENDOR_STATED, Assurance.SUBMITTED, Origin.PUBLISHED)
EXTRAPOLATED: Final = Calibration.EXTRAPOLATED.value


@dataclass(frozen=True, slots=True)
class State:
    """KALIBRIERT, EXTRAPOLIERT or AUSSERHALB_KALIBRIERUNG (EM-04), with the reason in German if it is not the first."""

    code: str
    reason_de: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of the emulator and what it is worth."""

    metric: Metric
    state: State


def emulated(
    key: str, span: Span, unit: Unit, state: State, *, note: str = "", axes: Axes = EMULATED
) -> Figure:
    """Return an emulated value with the 90 % interval of the model error; a state outside is no calibration."""
    known = state.code in set(Calibration)
    metric = Metric(
        key=key,
        value=rounded(span.value),
        unit=unit,
        axes=axes,
        interval=Interval(rounded(span.lower), rounded(span.upper)),
        calibration=Calibration(state.code) if known else None,
        note=note,
    )
    return Figure(metric, state)


def plain(key: str, value: float, unit: Unit, axes: Axes) -> Metric:
    """Return a value that was counted or stated: it has no interval."""
    return Metric(key=key, value=rounded(value, 12), unit=unit, axes=axes)


def by_cause(prediction: Prediction, machine: Machine, axes: Axes = EMULATED) -> dict[str, Figure]:
    """Return the milliseconds of all passes by cause; they add up to the time on the wafer and of waiting for weights."""
    known = prediction.trust
    state = State(known.state, known.reason)
    per_cycle = prediction.passes * 1e3 / machine.clock_hz.value
    spans = {name: known.span(cycles * per_cycle) for name, cycles in prediction.pass_cycles.items()}
    spans["off_wafer"] = prediction.off_wafer_seconds.times(1e3)
    return {
        name: emulated(f"step_{name}_ms", span, Unit.MILLISECONDS, state, axes=axes)
        for name, span in spans.items()
    }
