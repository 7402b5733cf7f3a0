"""How far a prediction may be trusted: state and 90 % interval of EM-04, from held-out errors of the calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, Final

from pilots.cluster import measured
from pilots.cluster.features import NAMES, features
from pilots.cluster.workloads import Case
from qms.core.values import decimal_text, rounded

CALIBRATED: Final = "KALIBRIERT"
EXTRAPOLATED: Final = "EXTRAPOLIERT"
OUTSIDE: Final = "AUSSERHALB_KALIBRIERUNG"
TOLERANCE: Final = 0.01  # decimals of the record are rounded
VALID_UP_TO: Final = 100.0  # declared validity: no feature beyond this multiple of the largest one of its key
LEAST_OUTSIDE: Final = 0.336  # +-40 % (cluster.md), as a logarithm
UNKNOWN: Final = 0.693  # a factor of two where nothing was measured


@dataclass(frozen=True, slots=True)
class Trust:
    """state of EM-04; log_width: half-width of the 90 % interval in logarithms; reason in German unless KALIBRIERT."""

    state: str
    log_width: float
    reason: str

    @property
    def factor(self) -> float:
        """Half-width of the interval as a ratio."""
        return exp(self.log_width)


def trust(case: Case, record: Mapping[str, Any]) -> Trust:
    """Return how far a prediction may be trusted under a calibration record."""
    known = record["keys"].get(case.key)
    if known is None:
        return Trust(OUTSIDE, UNKNOWN, f"für {case.key} gibt es keine Messung in der Kalibrierung")
    width = float(known["log_width"])
    wide = max(width, LEAST_OUTSIDE)  # errors of settings left out are errors outside the range already
    span = known["range"]
    beyond = [name for name, value in _features(case) if value > VALID_UP_TO * float(span[name][1])]
    if beyond:
        return Trust(
            OUTSIDE, max(wide, UNKNOWN), f"mehr als das 100-Fache der größten Messung ({', '.join(beyond)})"
        )
    reason = _beyond(case, known)
    if reason:
        return Trust(EXTRAPOLATED, wide, reason)
    if measured.covers(case, measured.from_json(known.get("tables", {}))):
        width = float(known["table_log_width"])
    return Trust(CALIBRATED, width, "")


def _beyond(case: Case, known: Mapping[str, Any]) -> str:
    """Return why a case is not calibrated, else nothing."""
    span = known["range"]
    if case.device.id not in span["devices"]:
        return f"{case.device.name} wurde mit {case.stack} nicht gemessen"
    if not case.span.switched and case.span.gpus > 1:
        return "in einer Kette von GPUs wurde nicht gemessen"
    if not inside(case, span):
        return "Größe außerhalb des kalibrierten Bereichs"
    return "" if known["judged"] else "zu wenige unabhängige Messungen"


def range_of(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the range that cases span: ends of their features as decimal texts, and devices."""
    spans: dict[str, Any] = {"devices": sorted({case.device.id for case in cases})}
    values = zip(*(features(case) for case in cases), strict=True)
    for name, column in zip(NAMES, values, strict=True):
        spans[name] = [decimal_text(rounded(end(column))) for end in (min, max)]
    return spans


def inside(case: Case, span: Mapping[str, Any]) -> bool:
    """Say whether device and features of a case lie in a range."""
    return case.device.id in span["devices"] and all(
        float(span[name][0]) * (1 - TOLERANCE) <= value <= float(span[name][1]) * (1 + TOLERANCE)
        for name, value in _features(case)
    )


def _features(case: Case) -> list[tuple[str, float]]:
    return list(zip(NAMES, features(case), strict=True))
