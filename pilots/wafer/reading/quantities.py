"""Units of published figures, and the way between cycles and a figure in its unit."""

from __future__ import annotations

import re
from math import log2
from typing import Final

from pilots.wafer.machine import MACHINES
from pilots.wafer.reading.inputs import Inputs, NotReadable, Question
from pilots.wafer.workloads import (
    Case,
    Collective,
    Decode,
    EndToEnd,
    Fft,
    Gemm,
    Gemv,
    LocalProduct,
    Prefill,
    Quantity,
    Stencil,
    Training,
    Workload,
)

# unit in lower case -> what it measures, and how many SI units one of it is
UNITS: Final[dict[str, tuple[Quantity, float]]] = {
    "cycles": (Quantity.CYCLES, 1.0),
    "kcycles": (Quantity.CYCLES, 1e3),
    "ns": (Quantity.SECONDS, 1e-9),
    "us": (Quantity.SECONDS, 1e-6),
    "µs": (Quantity.SECONDS, 1e-6),
    "ms": (Quantity.SECONDS, 1e-3),
    "s": (Quantity.SECONDS, 1.0),
    "tokens/s": (Quantity.TOKENS_PER_SECOND, 1.0),
    "tok/s": (Quantity.TOKENS_PER_SECOND, 1.0),
    "samples/s": (Quantity.SAMPLES_PER_SECOND, 1.0),
    "timesteps/s": (Quantity.STEPS_PER_SECOND, 1.0),
    "steps/s": (Quantity.STEPS_PER_SECOND, 1.0),
    "iterations/s": (Quantity.STEPS_PER_SECOND, 1.0),
    "flop/s": (Quantity.FLOPS_PER_SECOND, 1.0),
    "gflop/s": (Quantity.FLOPS_PER_SECOND, 1e9),
    "tflop/s": (Quantity.FLOPS_PER_SECOND, 1e12),
    "pflop/s": (Quantity.FLOPS_PER_SECOND, 1e15),
}
_TIME: Final = (Quantity.CYCLES, Quantity.SECONDS)
_RATES: Final = (Quantity.STEPS_PER_SECOND, Quantity.FLOPS_PER_SECOND)

# which figures make sense for which workload
ASKED: Final[dict[type[Workload], tuple[Quantity, ...]]] = {
    Gemm: (*_TIME, Quantity.FLOPS_PER_SECOND),
    LocalProduct: (*_TIME, Quantity.FLOPS_PER_SECOND),
    Gemv: (*_TIME, Quantity.FLOPS_PER_SECOND),
    Collective: _TIME,
    Stencil: (*_TIME, *_RATES),
    Fft: (*_TIME, Quantity.FLOPS_PER_SECOND),
    Decode: (*_TIME, Quantity.TOKENS_PER_SECOND),
    Prefill: (*_TIME, Quantity.TOKENS_PER_SECOND),
    EndToEnd: (*_TIME, Quantity.TOKENS_PER_SECOND),
    Training: (*_TIME, Quantity.SAMPLES_PER_SECOND),
}
# metrics and units that are no time and no rate of a run: pattern over "metric [unit]" -> why
REFUSED: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"speedup|\bratio\b|\[x\]", re.IGNORECASE),
        "Verhältnis zweier Systeme, keine Zeit und keine Rate eines Laufs.",
    ),
    (re.compile(r"\berr(or)?\b|\|err\|", re.IGNORECASE), "Fehlerangabe eines fremden Modells, kein Lauf."),
    (
        re.compile(r"skew|overhead", re.IGNORECASE),
        "Versatz oder Nebenaufwand der Messung, kein Lauf eines Kernels.",
    ),
    (
        re.compile(r"\[%\]|percent|efficiency|utili[sz]ation", re.IGNORECASE),
        "Anteil oder Wirkungsgrad, keine Zeit und keine Rate.",
    ),
    (
        re.compile(r"power|energy|watt|\[k?w\]|\[k?j\]|/j\]", re.IGNORECASE),
        "Leistungsaufnahme oder Energie, keine Zeit eines Laufs.",
    ),
    (re.compile(r"bandwidth|\[[kmgtp]?b/s\]", re.IGNORECASE), "Bandbreite statt Zeit oder Rate eines Laufs."),
    (re.compile(r"bytes|\[[kmgt]?i?b\]", re.IGNORECASE), "Speichermenge, keine Zeit eines Laufs."),
    (re.compile(r"\[tokens\]", re.IGNORECASE), "Länge eines Kontexts, keine Zeit und keine Rate."),
)


def unit_of(inputs: Inputs) -> tuple[Quantity, float]:
    """Return what the unit measures and its scale; raises NotReadable for what is no time and no rate of a run."""
    described = f"{inputs.metric} [{inputs.unit}]"
    for pattern, reason in REFUSED:
        if pattern.search(described):
            raise NotReadable(reason)
    name = inputs.unit.strip().casefold().replace("flops", "flop/s")
    if name not in UNITS:
        raise NotReadable("Die Einheit ist keine Zeit und keine Rate, die vorhergesagt wird.")
    return UNITS[name]


def check_asked(workload: Workload, quantity: Quantity) -> None:
    """Raise NotReadable if the figure makes no sense for the workload."""
    if quantity not in ASKED[type(workload)]:
        raise NotReadable(f"Die Größe {quantity.value} passt nicht zu dieser Art von Workload.")


def clock_hz(case: Case) -> int:
    """Return the clock of a case in Hz."""
    return case.clock_hz or MACHINES[case.machine_id].clock_hz.value


def flops(workload: Workload) -> float:
    """Return the floating point operations of one run on one system, as publications count them; 0 if none do."""
    match workload:
        case Gemm(m=m, k=k, n=n):
            return 2.0 * m * k * n
        case LocalProduct(m=m, k=k, n=n, repeats=repeats):
            return 2.0 * m * k * n * repeats
        case Gemv(k=k, n=n):
            return 2.0 * k * n
        case Stencil():
            per_cell = workload.flops_per_cell or 2 * workload.points
            return float(per_cell) * workload.nx * workload.ny * workload.nz
        case Fft(n=n):
            return 5.0 * n**3 * 3 * log2(n)
        case _:
            return 0.0


def amount(case: Case) -> float:
    """Return how much of the asked quantity one run yields over all systems: tokens, samples, steps, operations."""
    workload = case.workload
    match case.quantity, workload:
        case Quantity.FLOPS_PER_SECOND, _:
            return flops(workload) * case.systems
        case Quantity.TOKENS_PER_SECOND, Prefill(sequence=sequence, batch=batch):
            return float(sequence * batch)
        case Quantity.TOKENS_PER_SECOND, EndToEnd(generated=generated):
            return float(generated)
        case _, Decode(batch=batch) | Training(batch=batch):
            return float(batch)
        case _:
            return 1.0


def to_unit(cycles: float, question: Question) -> float:
    """Return the figure in the unit of the entry for a predicted number of cycles."""
    case = question.case
    total = cycles * question.repeats
    if case.quantity is Quantity.CYCLES:
        return total / question.unit_scale
    seconds = total / clock_hz(case)
    si = seconds if case.quantity is Quantity.SECONDS else question.repeats * _asked(question) / seconds
    return si / question.unit_scale


def to_cycles(value: float, question: Question) -> float:
    """Return the cycles behind a published figure, the inverse of `to_unit`; `value` is above 0."""
    case = question.case
    si = value * question.unit_scale
    if case.quantity is Quantity.CYCLES:
        return si / question.repeats
    if case.quantity is Quantity.SECONDS:
        return si * clock_hz(case) / question.repeats
    return _asked(question) * clock_hz(case) / si


def _asked(question: Question) -> float:
    batch = getattr(question.case.workload, "batch", 1) if question.per_request else 1
    return amount(question.case) / batch


def is_rate(quantity: Quantity) -> bool:
    """Say whether more is better: lower and upper ends change places on the way from cycles."""
    return quantity not in _TIME
