"""Whether a case lies inside what was calibrated, and how wide its 90 % interval is (EM-04).

A family's range holds the labels of the cases it was fitted on and the ends of their features; the sizes that a program
shows (grid, tile, context, batch, bytes of an element) stand beside them for `costs.uncertainty`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pilots.graph.ir import DType
from pilots.wafer.costs.uncertainty import CALIBRATED, EXTRAPOLATED, OUTSIDE, Trust, widened
from pilots.wafer.features import NAMES, features, label
from pilots.wafer.machine import MACHINES
from pilots.wafer.workloads import (
    Case,
    Decode,
    EndToEnd,
    Fft,
    Gemm,
    Gemv,
    LocalProduct,
    Prefill,
    Stencil,
    Training,
)
from qms.core.values import decimal_text, rounded

TOLERANCE: Final = 0.01  # decimals in the record are rounded
VALID_UP_TO: Final = (
    100  # declared validity: no feature beyond this multiple of the largest one any family was fitted on
)
LISTED: Final = ("item_bytes",)


def trust(case: Case, record: Mapping[str, Any]) -> Trust:
    """Return how far a prediction of `case` may be trusted under a calibration record."""
    families, factors = record["families"], record["factors"]
    known = families.get(case.family.value, {})
    wide = widened(known, factors, MACHINES[case.machine_id])
    outside = _outside(case, [item.get("range", {}) for _, item in sorted(families.items())])
    if outside:
        return Trust(case.family, OUTSIDE, max(wide, float(factors["unknown"])), outside)
    span = known.get("range", {})
    if not known.get("judged") or not inside(case, span):
        return Trust(case.family, EXTRAPOLATED, wide, _beyond(case, known))
    return Trust(case.family, CALIBRATED, float(known["factor_calibrated"]), "")


def range_of(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the range that cases span; features are decimal texts, sizes whole numbers."""
    if not cases:
        return {}
    found = [features(case).values for case in cases]
    spans: dict[str, Any] = {"labels": sorted({label(case) for case in cases})}
    for name, values in zip(NAMES, zip(*found, strict=True), strict=True):
        spans[name] = [decimal_text(rounded(edge(values))) for edge in (min, max)]
    sizes: dict[str, list[int]] = {}
    for name, value in (size for case in cases for size in _sizes(case)):
        if value:  # a grid of 0 is the compiler's choice
            sizes.setdefault(name, []).append(value)
    spans |= {name: [min(values), max(values)] for name, values in sizes.items() if name not in LISTED}
    return spans | {name: sorted(set(sizes[name])) for name in LISTED if name in sizes}


def inside(case: Case, span: Mapping[str, Any]) -> bool:
    """Say whether a case has a label that occurs in the range, and neither a feature nor a size beyond its ends."""
    if label(case) not in span.get("labels", ()):
        return False
    if any(not _within(name, value, span) for name, value in _sizes(case) if value):
        return False
    return all(
        float(span[name][0]) * (1 - TOLERANCE) <= value <= float(span[name][1]) * (1 + TOLERANCE)
        for name, value in zip(NAMES, features(case).values, strict=True)
    )


def _within(name: str, value: int, span: Mapping[str, Any]) -> bool:
    if name in LISTED:
        return value in span.get(name, ())
    low, high = span.get(name, (1, 0))
    return bool(low <= value <= high)


def _beyond(case: Case, known: Mapping[str, Any]) -> str:
    span = known.get("range", {})
    if not span.get("labels"):
        return "für diese Familie gibt es keine Messung auf Silizium in der Kalibrierung"
    if label(case) not in span["labels"]:
        return f"nicht kalibriert: {label(case)}"
    if not known.get("judged"):
        return "zu wenige unabhängige Messungen in dieser Familie"
    return "Größe außerhalb des kalibrierten Bereichs"


def _outside(case: Case, spans: Sequence[Mapping[str, Any]]) -> str:
    """Return why a case lies outside the declared validity, else nothing."""
    machine = MACHINES[case.machine_id]
    side = max((value for name, value in _sizes(case) if name == "grid"), default=0)
    if side > max(machine.width_pes.value, machine.height_pes.value):
        return f"Netz von {side} Elementen Seitenlänge ist größer als die Maschine"
    for name, value in zip(NAMES, features(case).values, strict=True):
        largest = max((float(span[name][1]) for span in spans if name in span), default=0.0)
        if largest and value > VALID_UP_TO * largest:
            return f"mehr als das {VALID_UP_TO}-Fache der größten kalibrierten Messung"
    return ""


def _sizes(case: Case) -> Iterator[tuple[str, int]]:
    """Yield the sizes of a case that a program shows too."""
    workload = case.workload
    match workload:
        case Gemm(grid=grid, dtype=dtype):
            yield from (("grid", grid), ("item_bytes", dtype.item_bytes))
            if grid:
                yield from (("tile", -(-side // grid)) for side in (workload.m, workload.k, workload.n))
        case Gemv(grid=grid, dtype=dtype):
            yield from (("grid", grid), ("item_bytes", dtype.item_bytes))
        case LocalProduct(dtype=dtype):
            yield from (("grid", 1), ("item_bytes", dtype.item_bytes))
        case Stencil(nx=nx, ny=ny):
            yield from (("grid", nx), ("grid", ny), ("item_bytes", DType.FLOAT32.item_bytes))
        case Fft(n=n):
            yield from (("grid", n), ("item_bytes", DType.FLOAT32.item_bytes))
        case (
            Decode(context=context, batch=batch, grid=grid)
            | Prefill(sequence=context, batch=batch, grid=grid)
        ):
            yield from (("grid", grid), ("context", context), ("batch", batch), ("item_bytes", 2))
        case EndToEnd(prompt=prompt, generated=generated):
            yield from (("grid", workload.decode_grid), ("context", prompt), ("context", prompt + generated))
            yield from (("batch", 1), ("item_bytes", 2))
        case Training(batch=batch, sequence=sequence):
            yield from (("context", sequence), ("batch", batch), ("item_bytes", 2))
        case _:
            return
