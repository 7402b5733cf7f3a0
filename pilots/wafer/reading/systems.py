"""Which machine an entry ran on, how many of them, and at which clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pilots.wafer.machine import MACHINES
from pilots.wafer.reading import gaps
from pilots.wafer.reading.inputs import Inputs, NotReadable

MAX_SYSTEMS: Final = 4096
GPU: Final = re.compile(
    r"\b(A100|H[12]00|B[123]00|V100|GB200|MI\d{3}X?|L40S?|GPUs?|SGLang|vLLM|TensorRT)(x\d+)?\b", re.IGNORECASE
)
SIMULATOR: Final = re.compile(r"simul|simfabric", re.IGNORECASE)
_WAFER: Final = re.compile(r"\b(?:CS|WSE)-?\s?(\d)\b", re.IGNORECASE)
_MANY: Final = re.compile(
    r"\b(?P<before>\d{1,4})\s*[x×]?\s*(?:CS|WSE)-?\s?\d"
    r"|\b(?:CS|WSE)-?\s?\d\s*[x×]\s*(?P<after>\d{1,4})\b"
    r"|num_csx\s*=\s*(?P<flag>\d{1,4})\b",
    re.IGNORECASE,
)
_WAFERLLM: Final = re.compile(r"waferllm|meshgem[mv]", re.IGNORECASE)
_UNCONSTRAINED: Final = re.compile(r"power-?\s?unconstrained", re.IGNORECASE)

# Systems that are never predicted, in this order: what the text says -> why.
REFUSED: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"\bvs\.?\b|\bgegen\b", re.IGNORECASE),
        "Vergleich zweier Systeme, kein Lauf auf einem Wafer.",
    ),
    (GPU, "GPU-Zeile: sie dient allein den Urteilen Wafer gegen GPU und wird nicht vorhergesagt."),
    (
        re.compile(r"\b(service|cloud|api|hosted)\b", re.IGNORECASE),
        "Gehosteter Dienst: Zahl der Systeme, Genauigkeit und spekulatives Decodieren sind nicht veröffentlicht.",
    ),
    (
        re.compile(r"\bT10\b|ladder", re.IGNORECASE),
        "Anderer Übersetzer mit unveröffentlichtem Ablauf, kein Kernel des Emulators.",
    ),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """Machine, number of systems, clock (0: the machine's own), software (part of what makes a system), gaps filled."""

    machine_id: str
    systems: int
    clock_hz: int
    software: str
    gaps: tuple[str, ...]


def is_gpu(system: str) -> bool:
    """Say whether a system is a GPU system alone."""
    return bool(GPU.search(system)) and not _WAFER.search(system)


def is_simulator(system: str) -> bool:
    """Say whether a system is the vendor's simulator."""
    return bool(SIMULATOR.search(system))


def is_waferllm(inputs: Inputs) -> bool:
    """Say whether an entry belongs to the kernels of WaferLLM."""
    return bool(_WAFERLLM.search(f"{inputs.system} {inputs.workload}"))


def setting(inputs: Inputs) -> Setting:
    """Return the setting of an entry; raises NotReadable if it names no machine we describe."""
    for pattern, reason in REFUSED:
        if pattern.search(inputs.system):
            raise NotReadable(reason)
    filled: list[str] = []
    machine_id = _machine(inputs.system, filled)
    systems = _systems(inputs, filled)
    clock_hz = _clock(inputs, filled)
    return Setting(machine_id, systems, clock_hz, _software(inputs), tuple(filled))


def _machine(system: str, filled: list[str]) -> str:
    match = _WAFER.search(system)
    if match is None and is_simulator(system):
        filled.append("generation")
        return gaps.SIMULATOR_MACHINE
    if match is None:
        raise NotReadable("Das System nennt keine Generation der Wafer-Maschine.")
    machine_id = f"wse-{match[1]}"
    if machine_id not in MACHINES:
        raise NotReadable(f"Für die Maschine {machine_id} gibt es keine Beschreibung.")
    return machine_id


def _systems(inputs: Inputs, filled: list[str]) -> int:
    given = inputs.number("systems", "num_csx")
    match = _MANY.search(inputs.system)
    if given is None and match:
        given = int(match["before"] or match["after"] or match["flag"])
    if given is None:
        if "num_csx" in inputs.system:
            filled.append("systems")
        return 1
    if not 1 <= given <= MAX_SYSTEMS:
        raise NotReadable(f"Die Zahl der Systeme muss zwischen 1 und {MAX_SYSTEMS} liegen.")
    return given


def _clock(inputs: Inputs, filled: list[str]) -> int:
    given = inputs.params.get("clock_ghz")
    if isinstance(given, int | float):
        if not 0.01 <= given <= 10:
            raise NotReadable("Der Takt muss zwischen 0,01 und 10 GHz liegen.")
        return round(given * 1e9)
    if is_waferllm(inputs):
        filled.append("clock")
        return gaps.WAFERLLM_CLOCK_HZ
    if _UNCONSTRAINED.search(inputs.workload):
        filled.append("clock_unconstrained")
        return gaps.UNCONSTRAINED_CLOCK_HZ
    return 0


def _software(inputs: Inputs) -> str:
    if is_simulator(inputs.system):
        return "Simulator"
    if is_waferllm(inputs):
        return "WaferLLM"
    return "ALCF" if "alcf" in inputs.system.casefold() else "SDK"
