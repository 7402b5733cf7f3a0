"""What is declared before any fit: families, kinds of entries, independent settings, the noise limit, the aims."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pilots.wafer.features import features, label
from pilots.wafer.reading.inputs import Question
from pilots.wafer.reading.systems import is_gpu, is_simulator
from pilots.wafer.reference import Entry
from pilots.wafer.workloads import Decode, EndToEnd, Family, Gemm, Prefill, Training


class Kind(StrEnum):
    """What an entry rests on; reported apart."""

    SILICON = "Silizium"
    SIMULATOR = "Herstellersimulator"
    CLAIM = "Herstellerangabe"
    BACK_SOLVED = "zurückgerechnet"
    GPU = "GPU"
    UNKNOWN = "ohne Angabe"


SCORED: Final = (Kind.SILICON, Kind.SIMULATOR, Kind.CLAIM)


@dataclass(frozen=True, slots=True)
class Declared:
    """A family: its name and what belongs to it (German, for the report)."""

    name_de: str
    holds_de: str


DECLARED: Final[dict[Family, Declared]] = {
    Family.GEMM: Declared("GEMM", "SUMMA, Cannon, MeshGEMM; Produkte eines Elements in Schleifenform"),
    Family.GEMV: Declared("GEMV", "MeshGEMV; Matrix mal Vektor in einem Element"),
    Family.COLLECTIVES: Declared(
        "Kollektive", "Reduktion, Allreduce, Broadcast, All-to-all, dreidimensionale FFT"
    ),
    Family.STENCIL: Declared("Stencil", "7 und 25 Punkte, Wellengleichung, BiCGStab, Domain Translation"),
    Family.DECODE: Declared(
        "Decode", "ein Token je Anfrage; auch Ende zu Ende, dessen Rate über der Antwort steht"
    ),
    Family.PREFILL: Declared("Prefill", "alle Token einer Eingabe; auch die Zeit bis zum ersten Token"),
    Family.TRAINING: Declared("Training", "ein Optimierungsschritt; auch Auswertung ohne Rückwärtsschritt"),
}

# The constants are fitted on these. Collectives and training have none of their own; their entries only test.
FITTED: Final = (Family.GEMM, Family.GEMV, Family.STENCIL, Family.DECODE, Family.PREFILL)

# Silicon differs by up to 2x from run to run for tiny programs (entry fab.noise): listed below both limits, not scored.
NOISE_MAX_PES: Final = 100
NOISE_MAX_CYCLES: Final = 5_000

AIM_MEDIAN: Final = 0.10
COVERAGE_AIM: Final = (0.85, 0.95)
NAIVE_ADVANTAGE: Final = 2.0
VERDICT_FACTOR: Final = 1.5

# Independent settings; entries of one setting are left out together. What makes one, by workload (German).
GROUPS_DE: Final = (
    ("Matrixprodukt auf festem Netz", "Verfahren und Kachelgröße"),
    ("Prefill, Decode, Ende zu Ende, Training", "Modell, über alle Familien hinweg"),
    ("alles Übrige", "System und Verfahren, gleich welcher Größe"),
)


def kind_of(entry: Entry) -> Kind:
    """Return what an entry rests on; `confidence` and `system` decide."""
    if is_gpu(entry.system):
        return Kind.GPU
    if is_simulator(entry.system):
        return Kind.SIMULATOR
    by_confidence = {"measured": Kind.SILICON, "vendor-claim": Kind.CLAIM, "derived": Kind.BACK_SOLVED}
    return by_confidence.get(entry.confidence, Kind.UNKNOWN)


def group_of(question: Question) -> str:
    """Return the independent setting of an entry."""
    workload = question.case.workload
    match workload:
        case Gemm(kernel=kernel, grid=grid) if grid:
            tile = "x".join(str(-(-side // grid)) for side in (workload.m, workload.k, workload.n))
            return f"{kernel} {tile}"
        case (
            Prefill(config=config) | Decode(config=config) | EndToEnd(config=config) | Training(config=config)
        ):
            return config.name
        case _:
            return f"{system_of(question)}: {label(question.case)}"


def system_of(question: Question) -> str:
    """Return the system of an entry: how many machines of which generation, under which software."""
    case = question.case
    return f"{case.systems} x {case.machine_id} {question.software}".strip()


def is_noise(question: Question, cycles: float) -> bool:
    """Say whether a run on silicon is so small that run-to-run differences decide; cycles: as predicted."""
    pes = features(question.case).pes
    return pes <= NOISE_MAX_PES and cycles <= NOISE_MAX_CYCLES
