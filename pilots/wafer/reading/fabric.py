"""Entries that live from the fabric: collectives, stencils, Fourier transforms."""

from __future__ import annotations

import re
from typing import Final

from pilots.wafer.machine import MACHINES
from pilots.wafer.reading import gaps
from pilots.wafer.reading.inputs import Inputs, NotReadable, rectangle, size
from pilots.wafer.reading.systems import Setting
from pilots.wafer.workloads import Collective, Fft, Stencil

MAX_SIDE: Final = 2**20
WORD_BYTES: Final = 4
_KINDS: Final = (
    ("allreduce", re.compile(r"all-?\s?reduce", re.IGNORECASE)),
    ("all_to_all", re.compile(r"all-?\s?to-?\s?all", re.IGNORECASE)),
    ("broadcast", re.compile(r"broadcast|\bbcast", re.IGNORECASE)),
    ("reduce", re.compile(r"reduc", re.IGNORECASE)),
)
_ALGORITHMS: Final = ("two-phase", "chain", "tree", "star", "ring", "snake")
_WORDS: Final = re.compile(
    r"(\d+\s*[kKmM]?)\s*(wavelets?|words?|elem(?:ent)?s?|f32|fp32|floats?)\b", re.IGNORECASE
)
_BYTES: Final = re.compile(r"(\d+)\s*([kKmM]?)i?(?:B\b|bytes?\b)")
_ELEMENTS: Final = re.compile(r"(?:\bon\s+|\bover\s+)?(\d+)\s*(?:x\s*1\s*)?PEs?\b", re.IGNORECASE)
_POINTS: Final = re.compile(r"\b(\d{1,3})\s*-?\s*(?:pt|points?)\b", re.IGNORECASE)
_CELLS: Final = re.compile(
    r"(?<![\w^])(\d{1,7})\s*[x×]\s*(\d{1,7})\s*[x×]\s*(\d{1,7})(?![\w^])|(?<![\w^])(\d{1,6})\^3"
)
_MOST_POINTS: Final = 1000


def collective(inputs: Inputs, filled: list[str], where: Setting) -> Collective:
    """Return the collective of an entry: P or MxN elements, B wavelets or bytes per element."""
    kind = next((name for name, pattern in _KINDS if pattern.search(inputs.workload)), "")
    named = f"{inputs.word('algorithm')} {inputs.workload}".casefold().replace("two phase", "two-phase")
    algorithm = next((name for name in _ALGORITHMS if re.search(rf"\b{name}\b", named)), "")
    width, height = _elements(inputs)
    return Collective(kind, algorithm, _side(width), _side(height), _side(_words(inputs)))


def stencil(inputs: Inputs, filled: list[str], where: Setting) -> Stencil:
    """Return one step of the stencil of an entry on one system; grids of several systems are cut along x."""
    text = inputs.text.casefold()
    if "domain translation" in text:
        raise NotReadable(
            "Domain Translation: Punkte und Größe der Teilgebiete sind nicht angegeben, und der Takt ist nur aus dem "
            "Ergebnis selbst zurückgerechnet."
        )
    method = "BICGSTAB" if "bicgstab" in text else "WAVE" if "wave" in text else "JACOBI"
    points = _points(inputs)
    cells = _cells(inputs, where)
    if cells is None:
        cells = _whole_wafer(inputs, filled, where)
    counted = gaps.FLOPS_PER_CELL.get((method, points), 0)
    if inputs.unit.casefold().replace("flops", "flop/s").endswith("flop/s"):
        filled.append("flops")
    mixed = "mixed" in text
    return Stencil(method, points, *cells, counted, mixed)


def fft(inputs: Inputs, filled: list[str], where: Setting) -> Fft:
    """Return the three-dimensional transform of an entry."""
    text = inputs.text.casefold()
    if (re.search(r"\b[12]d\b|\bfp?16\b|\bhalf\b", text) and "3d" not in text) or re.search(
        r"\bfp?16\b|\bhalf\b", text
    ):
        raise NotReadable("Nur dreidimensionale Transformationen in fp32 haben einen Kernel.")
    match = _CELLS.search(inputs.workload)
    sides = {int(part) for part in match.groups() if part} if match else {inputs.number("n", "size") or 0}
    if len(sides) != 1:
        raise NotReadable("Die Transformation ist nicht würfelförmig.")
    side = _side(sides.pop())
    if side & (side - 1):
        raise NotReadable("Die Kantenlänge der Transformation ist keine Zweierpotenz.")
    return Fft(side)


def repeats(inputs: Inputs) -> int:
    """Return over how many steps one figure of a solver runs."""
    return _side(inputs.number("max_ite", "iters") or 1)


def _elements(inputs: Inputs) -> tuple[int | None, int | None]:
    given = inputs.word("P", "cores", "grid", "PEs")
    found = rectangle(given) or rectangle(inputs.workload)
    if found:
        return found
    width, height = inputs.number("width"), inputs.number("height")
    if width and height:
        return width, height
    count = inputs.number("P", "PEs", "cores")
    match = _ELEMENTS.search(inputs.workload)
    if count is None and match:
        count = int(match[1])
    if count is not None and re.search(r"\b2d\b|snake", inputs.text, re.IGNORECASE):
        return count, count
    return count, 1


def _words(inputs: Inputs) -> int | None:
    given = inputs.number("B", "wavelets", "words")
    if given is not None:
        return given
    given_bytes = inputs.number("bytes")
    if given_bytes is None:
        match = _WORDS.search(inputs.workload)
        if match:
            return size(match[1])
        match = _BYTES.search(inputs.workload)
        given_bytes = size(match[1] + match[2]) if match else None
    return None if given_bytes is None else -(-given_bytes // WORD_BYTES)


def _points(inputs: Inputs) -> int:
    match = _POINTS.search(inputs.workload)
    given = inputs.number("points") or (int(match[1]) if match else None)
    if given is None and "bicgstab" in inputs.text.casefold():
        return 7
    if given is None or not 3 <= given <= _MOST_POINTS:
        raise NotReadable("Die Zahl der Punkte des Stencils ist nicht angegeben.")
    return given


def _cells(inputs: Inputs, where: Setting) -> tuple[int, int, int] | None:
    match = _CELLS.search(inputs.workload) or _CELLS.search(inputs.word("grid", "size"))
    if match:
        parts = [int(part) for part in match.groups() if part]
        nx, ny, nz = parts if len(parts) == 3 else parts * 3
    else:
        flat = rectangle(inputs.workload) or (
            inputs.number("width", "nx") or 0,
            inputs.number("height", "ny") or 0,
        )
        nx, ny, nz = *flat, inputs.number("nz", "zDim") or 0
    if not (nx and ny and nz):
        return None
    return -(-_side(nx) // where.systems), _side(ny), _side(nz)


def _whole_wafer(inputs: Inputs, filled: list[str], where: Setting) -> tuple[int, int, int]:
    if not inputs.unit.casefold().replace("flops", "flop/s").endswith("flop/s"):
        raise NotReadable(
            "Gitter oder Tiefe der Spalten sind nicht angegeben; davon hängt die Zeit unmittelbar ab."
        )
    filled.append("stencil_grid")
    machine = MACHINES[where.machine_id]
    return machine.width_pes.value, machine.height_pes.value, gaps.STENCIL_DEPTH


def _side(value: int | None) -> int:
    if value is None:
        raise NotReadable("Die Zahl der Elemente oder die Länge der Nachricht ist nicht angegeben.")
    if not 1 <= value <= MAX_SIDE:
        raise NotReadable(f"Eine Größe liegt nicht zwischen 1 und {MAX_SIDE}.")
    return value
