"""`cycle`: one kernel, wavelet by wavelet, beside what its cost function predicts."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from pilots.graph.ir import Attrs, DType
from pilots.wafer.cli import inputs
from pilots.wafer.cycle import tracing
from pilots.wafer.cycle.agreement import Agreement, check, prepare
from pilots.wafer.cycle.case import Case
from pilots.wafer.cycle.cases_moves import MOVES_ATTRS, MOVES_REST
from pilots.wafer.cycle.kernels.collectives import LINES
from pilots.wafer.cycle.kernels.table import PROGRAMS
from pilots.wafer.errors import RequestError
from pilots.wafer.lowering import KERNEL_OF
from pilots.wafer.machine import Machine
from pilots.wafer.program import SHAPES, Kernel
from qms.core import canonical

HELP: Final = "Takte eines Kernels, Wavelet für Wavelet gezählt, neben der Vorhersage"
SEVENPOINT: Final[Attrs] = (("coefficients", "-6 1 1 1 1 1 1"), ("points", 7))
ATTRS: Final[dict[str, Attrs]] = {
    "layer_norm": (("epsilon", "1e-5"),),
    "rms_norm": (("epsilon", "1e-5"),),
    "scale": (("factor", "0.5"),),
    "stencil": SEVENPOINT,
}
FLOATS: Final = tuple(item.value for item in DType if item.is_float)
MAX_NUMBERS: Final = 2**26
_SIZES: Final = re.compile(r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6}){0,3}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    kernels = sorted({kernel.value for kernel, _ in PROGRAMS})
    parser.add_argument("--kernel", required=True, choices=[*LINES, *kernels])
    parser.add_argument("--op", default="", help="Operation, falls der Kernel mehrere kennt")
    parser.add_argument("--grid", default="8x8", help="BREITExHÖHE der Rechenelemente; Kollektive: LÄNGEx1")
    parser.add_argument("--shape", default="", help="Form der Aufgabe, etwa 64x64x64; Kollektive: Wörter")
    parser.add_argument("--dtype", choices=FLOATS, default=DType.FLOAT32.value)
    parser.add_argument("--trace", default="", help="Bewegungen je Takt als JSON in diese Datei schreiben")
    inputs.add_machine(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    case = _case(arguments, inputs.machine(arguments))
    row = check(case)
    if arguments.trace:
        traced = tracing.trace(prepare(case).wavelets.image)
        Path(arguments.trace).write_bytes(canonical.dumps(tracing.to_json(traced.frames, case.grid[0])))
    inputs.write(text(row))
    return 0


def text(row: Agreement) -> str:
    """Return the result for people."""
    ratio = f"{row.ratio:.3f}".replace(".", ",")
    lines = [
        f"{row.case.kernel} {row.case.op}".strip()
        + f" auf {row.case.grid[0]} × {row.case.grid[1]} Elementen",
        f"  gezählt      {row.counted} Takte",
        f"  vorhergesagt {row.predicted:.0f} Takte",
        f"  Verhältnis   {ratio}",
        f"  Ergebnis     {'bitgleich' if row.same_bits else 'verschieden'}",
    ]
    return "\n".join(lines)


def _case(arguments: argparse.Namespace, machine: Machine) -> Case:
    name, op = arguments.kernel, arguments.op
    collective = name in LINES
    if not collective:
        ops = [known for kernel, known in PROGRAMS if kernel.value == name]
        op = op or ops[0]
        if op not in ops:
            sentence = f"Der Kernel {name} kennt diese Operation nicht; es gibt: {', '.join(ops)}."
            raise RequestError(f"{name} has no op {op!r}", message_de=sentence)
    names = ("Wörter",) if collective else SHAPES[Kernel(name)]
    grid = _sizes(arguments.grid, 2, "Das Gitter")
    shape = _sizes(arguments.shape, len(names), "Die Form") if arguments.shape else _usual(name, op, grid)
    if collective and grid[1] != 1:
        raise RequestError("a line", message_de="Ein Kollektiv läuft auf einer Zeile; bitte LÄNGEx1 angeben.")
    limits = (machine.width_pes.value, machine.height_pes.value)
    if any(size > limit for size, limit in zip(grid, limits, strict=True)):
        sentence = f"Das Gitter passt nicht auf {machine.name} mit {limits[0]} × {limits[1]} Elementen."
        raise RequestError(f"grid {grid} exceeds {limits}", message_de=sentence)
    if op in MOVES_REST:
        _check_rest(op, shape)
    attrs = MOVES_ATTRS[op](shape) if op in MOVES_ATTRS else ATTRS.get(op, ())
    return Case(name, op, shape, (grid[0], grid[1]), DType(arguments.dtype), machine, attrs)


def _check_rest(op: str, shape: tuple[int, ...]) -> None:
    """Refuse a shape whose operand is another one than the seeded example of an operation has; raises RequestError.

    A table may have any number of entries.
    """
    rest = MOVES_REST[op](*shape[:2])
    free = KERNEL_OF[op] is Kernel.GATHER
    if min(rest) < 1 or shape[3] != rest[1] or (not free and shape[2] != rest[0]):
        sentence = f"Zu dieser Form passt der Operand von {op} nicht; bitte geben Sie {'x'.join(map(str, (*shape[:2], *rest)))} an."
        raise RequestError(f"{op} of {shape}, not {rest}", message_de=sentence)


def _usual(name: str, op: str, grid: tuple[int, ...]) -> tuple[int, ...]:
    """Return a small task: eight numbers per element and direction."""
    if name in LINES:
        return (16,)
    if name == Kernel.STENCIL.value:
        return (*grid, 16, 7)
    width, height = 8 * grid[0], 8 * grid[1]
    if op == "gather":
        height = 1  # indices on a line
    if op in MOVES_REST:
        return (height, width, *MOVES_REST[op](height, width))
    return (height, height, width) if len(SHAPES[Kernel(name)]) == 3 else (height, width)


def _sizes(given: str, count: int, what: str) -> tuple[int, ...]:
    sizes = tuple(int(part) for part in given.split("x")) if _SIZES.fullmatch(given) else ()
    numbers = 1
    for size in sizes:
        numbers *= size
    if len(sizes) != count or numbers > MAX_NUMBERS:
        sentence = f"{what} braucht {count} ganze Zahlen über null, mit x verbunden, deren Produkt höchstens {MAX_NUMBERS} ist."
        raise RequestError(f"{given!r} is not {count} sizes", message_de=sentence)
    return sizes
