"""The cycle interpreter: how many cycles of how many elements a second holds, and one run over a whole wafer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pilots.graph.ir import DType
from pilots.wafer.cycle.agreement import Agreement, Case, check
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import receive, repeat, send
from pilots.wafer.cycle.kernels.collectives import allreduce
from pilots.wafer.cycle.lines import Line, spread
from pilots.wafer.cycle.simulate import Outcome, simulate
from pilots.wafer.machine import MACHINES
from tests.bench.table import Table, cpu_seconds
from tests.bench.traffic import neighbours, transpose

WSE_2 = MACHINES["wse-2"]
SIDE = 64
WORDS, TIMES = 8, 1000
PACKETS = 128


def measure(_world: object, table: Table) -> None:
    """All measures, one after the other."""
    table.section("Emulator: Takt für Takt", "Dauer", "", "")
    for name, build in BUSY:
        _busy(table, f"{name}, {SIDE} x {SIDE}", build)
    _product(table)
    _full_wafer(table)


def _busy(table: Table, name: str, build: Callable[[], Image]) -> None:
    done: list[Outcome] = []
    seconds = cpu_seconds(lambda: done.append(simulate(build())), rounds=3)
    tile_cycles, hops = done[-1].cycles * SIDE * SIDE, done[-1].hops
    note = f"{tile_cycles / seconds / 1e6:.0f} Mio. Elementtakte/s, {hops / seconds / 1e6:.0f} Mio. Wege/s"
    note += f" ({done[-1].cycles} Takte, {hops / 1e6:.1f} Mio. Wege)"
    table.single(name, seconds, note)


def _product(table: Table) -> None:
    done: list[Agreement] = []
    case = Case("MESH_GEMM", "matmul", (SIDE * 8,) * 3, (SIDE, SIDE), DType.FLOAT16)
    seconds = cpu_seconds(lambda: done.append(check(case)), rounds=1)
    rate = done[-1].counted * SIDE * SIDE / seconds / 1e6
    table.single(
        f"MESH_GEMM {SIDE * 8}, {SIDE} x {SIDE}, geprüft", seconds, f"{rate:.0f} Mio. Elementtakte/s"
    )


def _image() -> tuple[Image, int]:
    image = Image(WSE_2, SIDE, SIDE, colors=1)
    return image, image.allot(WORDS, np.arange(WORDS, dtype=np.float32))


def _pass_through() -> Image:
    image, address = _image()
    image.route(np.s_[:, 0], 0, ("R", "E", 0))
    image.route(np.s_[:, 1 : SIDE - 1], 0, ("W", "E", 0))
    image.route(np.s_[:, SIDE - 1], 0, ("W", "R", 0))
    image.program(np.s_[:, 0], repeat(TIMES, send(0, address, WORDS)))
    image.program(np.s_[:, SIDE - 1], repeat(TIMES, receive(0, address, WORDS)))
    return image


def _broadcast() -> Image:
    image, address = _image()
    line = Line(image, "x", SIDE)
    for place, program in enumerate(spread(line, 0, address, WORDS, 0)):
        image.program(line.at(place), repeat(TIMES, program))
    return image


# What stands in quotes is what BookSim2 calls the traffic; `tests.bench.traffic` says how to set it beside this.
BUSY: tuple[tuple[str, Callable[[], Image]], ...] = (
    ("jeder Router leitet durch", _pass_through),
    ("jedes Element empfängt", _broadcast),
    ("„neighbor“, Rate 1", lambda: neighbours(WSE_2, SIDE, TIMES * WORDS, 1.0)),
    ("„neighbor“, Rate 0,1", lambda: neighbours(WSE_2, SIDE, TIMES * WORDS // 10, 0.1)),
    ("„transpose“, voll bis zur Diagonale", lambda: transpose(WSE_2, SIDE, PACKETS)),
)


def _full_wafer(table: Table) -> None:
    width, height = WSE_2.width_pes.value, WSE_2.height_pes.value
    done: list[Outcome] = []

    def run() -> None:
        made = allreduce(WSE_2, width, height, 1)
        made.load(np.ones((height, width, 1), dtype=np.float32))
        done[:] = [simulate(made.image)]

    seconds = cpu_seconds(run, rounds=1)
    right = bool((done[0].memory[:, :, 1] == width * height).all())
    note = f"{done[0].cycles} Takte, Summe {'stimmt' if right else 'falsch'}"
    table.single(f"Allreduce über {width * height} Elemente", seconds, note)
