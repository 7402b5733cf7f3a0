"""What publications leave out, and the one rule per gap that fills it for all entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pilots.graph.ir import DType


@dataclass(frozen=True, slots=True)
class Rule:
    """One gap: what is missing and what is assumed for every entry, with the reason (German, for the report)."""

    missing_de: str
    assumed_de: str


SIMULATOR_MACHINE: Final = "wse-2"
WAFERLLM_CLOCK_HZ: Final = 1_100_000_000
UNCONSTRAINED_CLOCK_HZ: Final = (
    1_100_000_000  # wse2.clk.max; the figure for the WSE-3 is solved from such an entry
)
WAFERLLM_DTYPE: Final = DType.FLOAT16
SDK_DTYPE: Final = DType.FLOAT32
STENCIL_DEPTH: Final = 1000
TRAINING_BATCH: Final = 120
TRAINING_SEQUENCE: Final = 2048
FLOPS_PER_CELL: Final = {("BICGSTAB", 7): 44}  # Rocki et al. 2020 count 44 operations per point and iteration

RULES: Final[dict[str, Rule]] = {
    "generation": Rule("Generation bei Simulatorläufen", "WSE-2, die Vorgabe des SDK"),
    "clock": Rule("Takt bei WaferLLM", "1,1 GHz, mit denen die Veröffentlichung Takte in Zeit umrechnet"),
    "clock_unconstrained": Rule(
        "Takt ohne Leistungsgrenze", "1,1 GHz, der höchste veröffentlichte Takt (WSE-2)"
    ),
    "dtype": Rule("Datentyp", "fp16 bei WaferLLM-Kernen, sonst fp32 wie in den Beispielen des SDK"),
    "grid": Rule("Netz der Rechenelemente", "Wahl des Übersetzers"),
    "batch": Rule("Batch bei Prefill und Decode", "eine Anfrage"),
    "systems": Rule("Zahl der Systeme (num_csx default)", "ein System"),
    "stencil_grid": Rule(
        "Gitter bei Rechenleistungen von Stencils",
        f"die ganze nutzbare Fläche, {STENCIL_DEPTH} Zellen je Element; die Leistung hängt kaum davon ab",
    ),
    "flops": Rule(
        "gezählte Rechenoperationen je Zelle",
        "zwei je Punkt; BiCGStab mit 7 Punkten 44 (Zählung der Quelle, arXiv:2010.03660)",
    ),
    "training_batch": Rule(
        "Batch beim Training", f"{TRAINING_BATCH}, der einzige veröffentlichte dieser Quelle"
    ),
    "training_sequence": Rule(
        "Sequenzlänge beim Training", f"{TRAINING_SEQUENCE}, Vorgabe der Modellsammlung"
    ),
}
