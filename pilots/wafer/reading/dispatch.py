"""From inputs to a question: the family by the words of the workload, then the setting, the unit, and the reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pilots.wafer.reading import fabric, models, products, quantities
from pilots.wafer.reading.inputs import Inputs, NotReadable, Question, Refused
from pilots.wafer.reading.systems import Setting, setting
from pilots.wafer.workloads import Case, Family, Workload

_PER_REQUEST: Final = re.compile(r"per (request|user)|\btpr\b", re.IGNORECASE)
Reader = Callable[[Inputs, list[str], Setting], Workload]


@dataclass(frozen=True, slots=True)
class Row:
    """Entries whose workload and metric match `pattern` belong to `family` and are read by `read`."""

    pattern: re.Pattern[str]
    family: Family
    read: Reader


def _row(pattern: str, family: Family, read: Reader) -> Row:
    return Row(re.compile(pattern, re.IGNORECASE), family, read)


# The first matching row decides. End to end counts as DECODE, since its rate is over the answer; evaluation counts as
# TRAINING; the Fourier transform as COLLECTIVES, since its all-to-all exchange decides.
ROWS: Final[tuple[Row, ...]] = (
    _row(r"prefill|\bttft\b|time to first", Family.PREFILL, models.llm),
    _row(r"\bdecod|end-?to-?end|\be2e\b|\btpr\b", Family.DECODE, models.llm),
    _row(r"\b(train|eval|fine-?tun|pre-?train)", Family.TRAINING, models.training),
    _row(r"gemv|mat-?vec", Family.GEMV, products.gemv),
    _row(r"gemm|matmul|\bsumma\b|\bcannon\b", Family.GEMM, products.gemm),
    _row(r"stencil|\d\s*-?(pt|points?)\b|jacobi|wave equation", Family.STENCIL, fabric.stencil),
    _row(r"bicgstab|conjugate|power-?method|-cg\b", Family.STENCIL, fabric.stencil),
    _row(r"\b3d fft|fft", Family.COLLECTIVES, fabric.fft),
    _row(
        r"all-?\s?reduce|\breduc|broadcast|\bbcast|all-?\s?to-?\s?all",
        Family.COLLECTIVES,
        fabric.collective,
    ),
)

# Workloads that are never predicted, in this order: what the text says -> why.
REFUSED: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (
            r"\bcompil(e|ation)\b|scheduler|physical stage",
            "Übersetzungs- oder Startzeit, keine Laufzeit eines Kernels.",
        ),
        (r"run-to-run", "Streuung gleicher Läufe: wird gelistet, nicht vorhergesagt und nicht gewertet."),
        (r"model error|whole-program .* model", "Fehlerangabe eines fremden Modells, kein Lauf."),
        (r"\s/\s|:\s*L0\b", "Der Eintrag fasst mehrere Läufe zusammen."),
        (r"\bspm[mv]\b|sparse|tlr", "Dünn besetzte oder komprimierte Matrizen: dafür gibt es keinen Kernel."),
        (r"conjugate|power-?method|-cg\b|cholesky", "Für dieses Lösungsverfahren gibt es keinen Kernel."),
        (
            r"game-of-life|histogram|mandelbrot|wide-?mult|\bmc xs\b|monte|molecular|\bmd\b",
            "Dafür gibt es keinen Kernel.",
        ),
        (r"attention-", "Attention allein ist keine der angesagten Familien."),
    )
)


def question_of(inputs: Inputs) -> Question | Refused:
    """Return the case and unit of an entry, or why it is not predicted."""
    row = next((row for row in ROWS if row.pattern.search(inputs.text)), None)
    try:
        return _question(inputs, row)
    except NotReadable as error:
        return Refused(error.reason_de, row.family if row else None)


def _question(inputs: Inputs, row: Row | None) -> Question:
    where = setting(inputs)
    for pattern, reason in REFUSED:
        if pattern.search(inputs.workload):
            raise NotReadable(reason)
    quantity, scale = quantities.unit_of(inputs)
    if row is None:
        raise NotReadable("Der Workload gehört zu keiner der angesagten Familien.")
    filled = list(where.gaps)
    workload = row.read(inputs, filled, where)
    quantities.check_asked(workload, quantity)
    case = Case(row.family, workload, where.machine_id, where.clock_hz, where.systems, quantity)
    repeats = fabric.repeats(inputs) if row.read is fabric.stencil else 1
    per_request = bool(_PER_REQUEST.search(inputs.metric))
    return Question(case, inputs.unit, scale, repeats, tuple(filled), where.software, per_request)
