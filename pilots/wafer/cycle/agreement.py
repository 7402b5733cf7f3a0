"""Do the interpreters agree? Cycles counted beside cycles predicted, results beside those of `functional`, kernel by kernel.

Every case is declared with its cause if formula and wavelet program do not describe the same thing; a case without a
cause has to agree within LIMIT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.ir import Attrs, DType
from pilots.graph.rng import uniform
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.cycle.interpreter import run_call
from pilots.wafer.cycle.kernels.collectives import LINES
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.handlers.base import Array
from pilots.wafer.handlers.table import apply
from pilots.wafer.machine import WSE_2, Machine, lab_mesh
from pilots.wafer.numerics import narrowed
from pilots.wafer.placement import tile_of
from pilots.wafer.program import PRODUCTS, Call, Kernel, Rect
from pilots.wafer.routes import routes_of

LIMIT: Final = 0.05
# A few cycles of a very short run are no disagreement: the formula of the star leaves out one hop.
SLACK_CYCLES: Final = 1
LAB: Final = lab_mesh(64, 64)

NONE: Final = ""
BOTH_ENDS: Final = "both ends"
ORDER: Final = "order"
SUMS: Final = "sums"
LEVELS: Final = "levels"
OVERLAP: Final = "overlap"
CAUSES_DE: Final[dict[str, str]] = {
    BOTH_ENDS: "Am Treffpunkt kommen zwei Ströme durch eine Rampe; die Formel zählt den Vektor nur einmal.",
    ORDER: "Die Summe läuft vom ersten zum letzten Element, weil diese Reihenfolge festgelegt ist; die Formel wächst von beiden Enden.",
    SUMS: "Summen reisen in fp32; die Formel zählt sie in der Breite des Zahlentyps.",
    LEVELS: "Die Formel ist eine obere Schranke: Ebenen des Baums überlappen sich.",
    OVERLAP: "Senden läuft neben dem Rechnen, und am Rand fehlen Nachbarn; die Formel zählt das Senden danach und den Rand wie das Innere.",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel (or the name of a collective) on a grid (width, height); shape as SHAPES says, of a collective (words,)."""

    kernel: str
    op: str
    shape: tuple[int, ...]
    grid: tuple[int, int]
    dtype: DType = DType.FLOAT32
    machine: Machine = LAB
    attrs: Attrs = ()
    cause: str = NONE


@dataclass(frozen=True, slots=True)
class Agreement:
    """A case, the cycles of both interpreters, and whether the result equals that of `functional` bit for bit."""

    case: Case
    counted: int
    predicted: float
    same_bits: bool

    @property
    def ratio(self) -> float:
        """Counted over predicted."""
        return self.counted / self.predicted

    @property
    def agrees(self) -> bool:
        """Say whether the cycles agree within LIMIT, or SLACK_CYCLES."""
        apart = abs(self.counted - self.predicted)
        return apart <= max(LIMIT * self.predicted, SLACK_CYCLES)


def check(case: Case) -> Agreement:
    """Run one case through both interpreters."""
    return _collective(case) if case.kernel in LINES else _kernel(case)


def _collective(case: Case) -> Agreement:
    build, formula = LINES[case.kernel]
    length, words = case.grid[0], case.shape[0]
    made = build(case.machine, length, words)
    values = np.rint(
        uniform(1, "x", (1, length, words), 100.0)
    )  # sums of whole numbers are the same in any order
    made.load(values)
    outcome = simulate(made.image)
    x, y = made.root
    got = outcome.memory[y, x, made.address : made.address + words]
    want = values[0, 0] if case.kernel == "broadcast" else np.add.reduce(values[0], axis=0)
    return Agreement(
        case, outcome.cycles, formula(words, length, case.machine), got.tobytes() == want.tobytes()
    )


def call_of(case: Case) -> Call:
    """Return the call of a case."""
    kernel, rect = Kernel(case.kernel), Rect(0, 0, *case.grid)
    tile, routes = tile_of(kernel, case.shape, rect), routes_of(kernel, rect)
    return Call(0, kernel, case.op, (), "y", 0, rect, case.shape, tile, case.attrs, routes)


def inputs_of(case: Case) -> tuple[Array, ...]:
    """Return seeded inputs of a case in its element type."""
    kernel, shape = Kernel(case.kernel), case.shape
    sizes: list[tuple[int, ...]] = [shape[:3]] if kernel is Kernel.STENCIL else [shape[:2]]
    if kernel in PRODUCTS:
        sizes.append(shape[1:3])
    if case.op in ("layer_norm", "rms_norm", "add"):
        sizes.append(shape[1:2])
    if case.op == "layer_norm":
        sizes.append(shape[1:2])
    return tuple(narrowed(uniform(2, f"{index}", size, 2.0), case.dtype) for index, size in enumerate(sizes))


def _kernel(case: Case) -> Agreement:
    setting = Setting(case.machine, case.dtype, calibrated(), alone=True)
    call, inputs = call_of(case), inputs_of(case)
    got, outcome = run_call(call, inputs, setting)
    want = np.ascontiguousarray(apply(call, inputs, case.dtype))
    same = got.shape == want.shape and got.tobytes() == want.tobytes()
    return Agreement(case, outcome.cycles, cost(call, setting).cycles, same)


def table(cases: tuple[Case, ...] | None = None) -> tuple[Agreement, ...]:
    """Return all cases, run."""
    return tuple(check(case) for case in (CASES if cases is None else cases))


def text_de(rows: tuple[Agreement, ...]) -> str:
    """Return the table in Markdown, with the causes below it."""
    lines = [
        "| Kernel | Form | Gitter | Zahlentyp | gezählt | vorhergesagt | Verhältnis | Ergebnis | Anmerkung |",
        "|---|---|---|---|---:|---:|---:|---|---|",
    ]
    numbers = {cause: index for index, cause in enumerate(CAUSES_DE, start=1)}
    for row in rows:
        case = row.case
        form, grid = "×".join(map(str, case.shape)), "×".join(map(str, case.grid))
        note = f"({numbers[case.cause]})" if case.cause else ""
        same = "bitgleich" if row.same_bits else "verschieden"
        ratio = f"{row.ratio:.3f}".replace(".", ",")
        name = case.kernel if case.kernel in LINES else f"{case.kernel} {case.op}"
        cells = (
            name,
            form,
            grid,
            case.dtype.value,
            str(row.counted),
            f"{row.predicted:.0f}",
            ratio,
            same,
            note,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"({numbers[name]}) {CAUSES_DE[name]}  " for name in numbers), ""])


def _lines(name: str, sizes: tuple[tuple[int, int, str], ...]) -> tuple[Case, ...]:
    return tuple(
        Case(name, "", (words,), (length, 1), machine=LAB if length <= 64 else WSE_2, cause=cause)
        for length, words, cause in sizes
    )


_PLAIN: Final = ((2, 1, NONE), (8, 16, NONE), (64, 64, NONE), (700, 32, NONE))
_SQUARES: Final = ((64, 64, NONE), (256, 8, NONE), (729, 32, NONE))  # groups as large as their number
_TREES: Final = ((8, 1, NONE), (64, 64, LEVELS), (512, 256, NONE))
_MEETING: Final = ((8, 1, NONE), (64, 64, BOTH_ENDS), (512, 1, NONE), (512, 256, BOTH_ENDS))
_EPSILON: Final = (("epsilon", "1e-5"),)
_STAR: Final[Attrs] = (
    ("coefficients", "-6 1 1 1 1 1 1"),
    ("points", 7),
)
_WIDE_STAR: Final[Attrs] = (
    ("coefficients", " ".join(["-5", *("1.5 1.5 1.5 1.5 1.5 1.5 " * 4).split()])),
    ("points", 25),
)
_F16, _BF16 = DType.FLOAT16, DType.BFLOAT16


def _products() -> tuple[Case, ...]:
    moving = tuple(
        Case(kernel, "matmul", shape, grid, dtype)
        for kernel in ("STATIONARY", "SUMMA", "CANNON", "MESH_GEMM")
        for shape, grid, dtype in (
            ((16, 32, 32), (4, 4), DType.FLOAT32),
            ((64, 64, 64), (8, 8), _F16),
            ((64, 128, 128), (16, 16), _BF16),
        )
    )
    vector = (
        Case("GEMV", "matmul", (1, 256, 256), (4, 4)),
        Case("GEMV", "matmul", (1, 128, 128), (8, 8), _F16, cause=SUMS),
        Case("GEMV", "matmul", (1, 512, 512), (64, 64), cause=ORDER),
        Case("GEMV", "matmul", (8, 64, 64), (8, 8), _F16, cause=SUMS),
    )
    large = tuple(
        Case(kernel, "matmul", (256, 256, 256), (64, 64), _F16, WSE_2)
        for kernel in ("STATIONARY", "MESH_GEMM")
    )
    return moving + large + vector


def _others() -> tuple[Case, ...]:
    return (
        Case("ELEMENTWISE", "gelu", (32, 64), (8, 8)),
        Case("ELEMENTWISE", "add", (32, 64), (8, 8), _F16),
        Case("REDUCE", "reduce_sum", (4, 256), (4, 4)),
        Case("REDUCE", "reduce_sum", (32, 512), (32, 4), cause=ORDER),
        Case("SOFTMAX", "softmax", (16, 128), (4, 4)),
        Case("SOFTMAX", "softmax", (32, 512), (32, 8)),
        Case("NORM", "layer_norm", (16, 128), (4, 4), attrs=_EPSILON),
        Case("NORM", "rms_norm", (16, 128), (4, 4), attrs=_EPSILON),
        Case("NORM", "rms_norm", (32, 512), (32, 8), attrs=_EPSILON, cause=ORDER),
        Case("STENCIL", "stencil", (8, 8, 32, 7), (8, 8), attrs=_STAR, cause=OVERLAP),
        Case("STENCIL", "stencil", (16, 16, 32, 25), (16, 16), attrs=_WIDE_STAR, cause=OVERLAP),
    )


CASES: Final[tuple[Case, ...]] = (
    *_lines("broadcast", _PLAIN),
    *_lines("chain", _PLAIN),
    *_lines("star", ((2, 1, NONE), (8, 16, NONE), (64, 64, NONE))),
    *_lines("tree", _TREES),
    *_lines("two-phase", _SQUARES),
    *_lines("two-level", _MEETING),
    *_lines("allreduce", _MEETING),
    *_products(),
    *_others(),
)
