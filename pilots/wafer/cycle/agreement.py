"""Do the interpreters agree? Cycles counted beside cycles predicted, results beside those of `functional`, kernel by kernel.

Every case is declared with its cause if formula and wavelet program do not describe the same thing; a case without a
cause has to agree within LIMIT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.rng import uniform
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.cycle.case import Case
from pilots.wafer.cycle.cases_basic import BASIC, BASIC_CAUSES_DE
from pilots.wafer.cycle.cases_composite import COMPOSITE, INPUTS
from pilots.wafer.cycle.cases_moves import MOVES, MOVES_CAUSES_DE, MOVES_INPUTS
from pilots.wafer.cycle.interpreter import built
from pilots.wafer.cycle.kernels.base import Wavelets
from pilots.wafer.cycle.kernels.collectives import LINES
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.handlers.base import Array
from pilots.wafer.handlers.table import apply
from pilots.wafer.numerics import narrowed
from pilots.wafer.program import PRODUCTS, Call, Kernel, Rect
from pilots.wafer.routes import routes_of
from pilots.wafer.tiling import tile_of

LIMIT: Final = 0.05
# A few cycles of a very short run are no disagreement: the formula of the star leaves out one hop.
SLACK_CYCLES: Final = 1
EVERYWHERE: Final = ("broadcast", "allreduce")  # every element holds the result, else only the root

CAUSES_DE: Final[dict[str, str]] = {
    **BASIC_CAUSES_DE,
    **MOVES_CAUSES_DE,
}


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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case before it runs: its wavelets, the result it has to have, the cycles its formula predicts."""

    wavelets: Wavelets
    want: Array
    predicted: float


def prepare(case: Case) -> Prepared:
    """Return what has to run for a case, and what should come out; raises what a kernel refuses."""
    return _collective(case) if case.kernel in LINES else _kernel(case)


def check(case: Case) -> Agreement:
    """Run one case through both interpreters."""
    made = prepare(case)
    outcome = simulate(made.wavelets.image)
    return Agreement(case, outcome.cycles, made.predicted, same_bits(case, made, outcome.memory))


def same_bits(case: Case, made: Prepared, memory: Array) -> bool:
    """Say whether the memory a case left holds the wanted result, bit for bit."""
    with np.errstate(all="ignore"):
        got = narrowed(made.wavelets.collect(memory), case.dtype)
    return got.shape == made.want.shape and got.tobytes() == made.want.tobytes()


def _collective(case: Case) -> Prepared:
    build, formula = LINES[case.kernel]
    length, words = case.grid[0], case.shape[0]
    made = build(case.machine, length, words)
    values = np.rint(
        uniform(1, "x", (1, length, words), 100.0)
    )  # sums of whole numbers are the same in any order
    made.load(values)
    total = values[0, 0] if case.kernel == "broadcast" else np.add.reduce(values[0], axis=0)
    holders = slice(None) if case.kernel in EVERYWHERE else slice(made.root[0], made.root[0] + 1)

    def collect(memory: Array) -> Array:
        return np.ascontiguousarray(memory[0, holders, made.address : made.address + words])

    want = np.ascontiguousarray(np.broadcast_to(total, (length, words))[holders])
    return Prepared(Wavelets(made.image, collect), want, formula(words, length, case.machine))


def call_of(case: Case) -> Call:
    """Return the call of a case."""
    kernel, rect = Kernel(case.kernel), Rect(0, 0, *case.grid)
    tile, routes = tile_of(kernel, case.shape, rect), routes_of(kernel, rect)
    return Call(0, kernel, case.op, (), "y", 0, rect, case.shape, tile, case.attrs, routes)


def inputs_of(case: Case) -> tuple[Array, ...]:
    """Return seeded inputs of a case in its element type."""
    known = INPUTS | MOVES_INPUTS
    if (case.kernel, case.op) in known:
        return known[case.kernel, case.op](case)
    kernel, shape = Kernel(case.kernel), case.shape
    sizes: list[tuple[int, ...]] = [shape[:3]] if kernel is Kernel.STENCIL else [shape[:2]]
    if kernel in PRODUCTS:
        sizes.append(shape[1:3])
    if case.op in ("layer_norm", "rms_norm", "add"):
        sizes.append(shape[1:2])
    if case.op == "layer_norm":
        sizes.append(shape[1:2])
    return tuple(narrowed(uniform(2, f"{index}", size, 2.0), case.dtype) for index, size in enumerate(sizes))


def _kernel(case: Case) -> Prepared:
    setting = Setting(case.machine, case.dtype, calibrated(), alone=True)
    call, inputs = call_of(case), inputs_of(case)
    want = np.ascontiguousarray(apply(call, inputs, case.dtype))
    return Prepared(built(call, inputs, setting), want, cost(call, setting).cycles)


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


CASES: Final[tuple[Case, ...]] = (
    *BASIC,
    *COMPOSITE,
    *MOVES,
)
