"""Seed A as the claims register: each statement with what a model may say about it, in the order of the text.

Ids are those of the seed catalogue (spec 1); statements are paraphrased, numbers are quoted.
"""

from __future__ import annotations

from typing import Final

from pilots.wafer import claim_checks as checks
from pilots.wafer.claim_types import Assessment, Claim, ClaimFigure, ClaimStatus, Given, Kind

__all__ = ["CLAIMS", "Assessment", "Claim", "ClaimFigure", "ClaimStatus", "Given", "Kind", "assess_all"]

_OPINION: Final = checks.says(
    ClaimStatus.OPINION, "Eine Meinung ist weder messbar noch an ein Kriterium gebunden."
)

CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        "S009", 22, "Ein einzelner durchgehender Wafer trägt 900.000 Kerne.", Kind.MEASURABLE, checks.cores
    ),
    Claim("S010", 23, "Auf dem Chip liegen 44 GB SRAM.", Kind.MEASURABLE, checks.sram),
    Claim("S011", 23, "Der Speicher auf dem Chip liefert bis zu 21 PB/s.", Kind.MEASURABLE, checks.bandwidth),
    Claim(
        "S012",
        26,
        "Netztransfers drücken GPU-Cluster oft auf 30 bis 40\u00a0% ihrer Spitzenleistung.",
        Kind.COMPARISON,
        checks.says(
            ClaimStatus.OPEN,
            "Das betrifft GPU-Cluster und ist hier nicht prüfbar; es zählt die gemessene MFU der eigenen Baseline.",
        ),
    ),
    Claim("S014", 30, "Die Recheneffizienz sei ohne Beispiel.", Kind.OPINION, _OPINION),
    Claim("S015", 32, "Externe Speicherbusse werden vollständig umgangen.", Kind.MEASURABLE, checks.bypass),
    Claim("S016", 33, "Kerne verständigen sich in weniger als 1 µs.", Kind.MEASURABLE, checks.latency),
    Claim(
        "S017",
        33,
        "Tensor-Parallelität kommt ohne Wartezeiten im Clusternetz aus.",
        Kind.COMPARISON,
        checks.tensor_parallel,
    ),
    Claim("S018", 34, "Trainingsläufe skalieren linear.", Kind.MEASURABLE, checks.linear),
    Claim(
        "S019", 34, "Läufe skalieren deterministisch und vorhersehbar.", Kind.MEASURABLE, checks.deterministic
    ),
    Claim("S020", 34, "Eine Aufteilung in Pipelines entfällt.", Kind.MEASURABLE, checks.partitioning),
    Claim(
        "S021",
        34,
        "Das Begrenzen von Gradienten als Notbehelf entfällt.",
        Kind.COMPARISON,
        checks.says(
            ClaimStatus.NOT_APPLICABLE,
            "Das Begrenzen von Gradienten gehört zum Optimierer und nicht zur Hardware.",
        ),
    ),
    Claim(
        "S023",
        40,
        "PyTorch-Graphen werden automatisch übersetzt.",
        Kind.MEASURABLE,
        checks.front_end("pytorch", "PyTorch"),
    ),
    Claim(
        "S024",
        40,
        "JAX-Graphen werden automatisch übersetzt.",
        Kind.MEASURABLE,
        checks.front_end("jax", "JAX"),
    ),
    Claim("S027", 42, "Die Wärmeableitung wird laufend überwacht.", Kind.MEASURABLE, checks.telemetry),
    Claim("S028", 42, "Die Spannung wird laufend überwacht.", Kind.MEASURABLE, checks.telemetry),
    Claim("S029", 42, "Die Auslastung wird laufend überwacht.", Kind.MEASURABLE, checks.telemetry),
    Claim("S030", 46, "Die Zukunft gehöre nicht dem einzelnen Chip.", Kind.OPINION, _OPINION),
    Claim(
        "S031",
        46,
        "Forschungszyklen schrumpfen von Wochen auf Stunden.",
        Kind.COMPARISON,
        checks.says(
            ClaimStatus.OPEN,
            "Nicht prüfbar: Gezählt würde die ganze Kette aus Warten, Übertragen, Übersetzen, Rechnen und Auswerten auf "
            "beiden Plattformen, nicht die Rechenzeit allein.",
        ),
    ),
    Claim(
        "S032",
        46,
        "Inferenz läuft in Echtzeit im industriellen Maßstab.",
        Kind.MEASURABLE,
        checks.says(
            ClaimStatus.OPEN, "Dazu gehört ein Lasttest des eigenen Workloads gegen sein Latenzziel."
        ),
    ),
)


def assess_all(given: Given) -> tuple[tuple[Claim, Assessment], ...]:
    """Return every claim with what the model says about it, in the order of the text."""
    return tuple((claim, claim.assess(given)) for claim in CLAIMS)
