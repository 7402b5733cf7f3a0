from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from pilots.graph.mlp import mlp_from_text
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.errors import ProgramError
from pilots.wafer.legality import RULES, TILE_SIZES, verify
from pilots.wafer.machine import WSE_3, Machine, lab_mesh
from pilots.wafer.memory import region_bytes
from pilots.wafer.program import PRODUCTS, SQUARE, Call, Kernel, Program, Rect, Region, Resident, Route
from pilots.wafer.routes import ROWS, routes_of
from pilots.wafer.tiling import tile_of

MACHINE = lab_mesh(8, 8)
Change = Callable[[Program], Program]


@lru_cache(maxsize=1)
def legal() -> Program:
    """Return a program over three regions of 4 x 4 elements; call 0 is a product."""
    graph, _ = mlp_from_text("64-256-256-256-256-256-256-8")
    program = compile_graph(graph, MACHINE, Request(batch=4, grid=4, kernels=(Kernel.STATIONARY,)))
    assert len(program.regions) == 3
    return program


def call(at: int, /, **changes: Any) -> Change:
    def change(program: Program) -> Program:
        calls = list(program.calls)
        calls[at] = replace(calls[at], **changes)
        return replace(program, calls=tuple(calls))

    return change


def route(number: int, **changes: Any) -> Change:
    def change(program: Program) -> Program:
        routes = list(program.calls[0].routes)
        routes[number] = replace(routes[number], **changes)
        return call(0, routes=tuple(routes))(program)

    return change


def region(index: int, **changes: Any) -> Change:
    def change(program: Program) -> Program:
        regions = list(program.regions)
        regions[index] = replace(regions[index], **changes)
        return replace(program, regions=tuple(regions))

    return change


def whole(**changes: Any) -> Change:
    return lambda program: replace(program, **changes)


def broken_rule(program: Program, machine: Machine = MACHINE) -> str:
    with pytest.raises(ProgramError) as caught:
        verify(program, machine)
    assert caught.value.rule in str(caught.value)
    assert caught.value.rule in caught.value.message_de
    assert caught.value.message_de.endswith(".")
    return caught.value.rule


def kept(resident: Resident) -> Change:
    return lambda program: replace(program, residents=(*program.residents, resident))


def stray(program: Program) -> Program:
    moved = tuple(item for item in program.residents if item.name != "w0")
    return replace(program, residents=(*moved, Resident("w0", "weight", 1, Rect(0, 0, 4, 4), 1)))


BREAKS: list[tuple[str, Change]] = [
    ("MACHINE", whole(machine_sha256="0" * 64)),
    ("SHAPES", call(0, shape=(4, 64))),
    ("SHAPES", call(0, shape=(4, 64, 0))),
    ("SHAPES", call(0, tile=())),
    ("SHAPES", call(0, tile=(4, 16))),
    ("SHAPES", call(0, tile=(4, 0, 64))),
    ("SHAPES", call(1, tile=(1, 1, 1))),
    ("CONNECTED", whole(calls=())),
    ("CONNECTED", whole(outputs=("nowhere",))),
    ("CONNECTED", whole(residents=())),
    ("CONNECTED", stray),
    ("CONNECTED", call(0, index=1)),
    ("CONNECTED", call(0, inputs=("x", "v5"))),
    ("CONNECTED", call(1, output="v0")),
    ("CONNECTED", call(0, output="x")),
    ("INSIDE_MESH", region(0, rect=Rect(-1, 0, 4, 4))),
    ("INSIDE_MESH", region(0, rect=Rect(0, -1, 4, 4))),
    ("INSIDE_MESH", region(0, rect=Rect(0, 0, 0, 4))),
    ("INSIDE_MESH", region(1, rect=Rect(5, 0, 4, 4))),
    ("INSIDE_MESH", region(2, rect=Rect(0, 5, 4, 4))),
    ("INSIDE_MESH", region(0, system=1)),
    ("INSIDE_MESH", region(0, system=-1)),
    ("INSIDE_MESH", call(0, rect=Rect(1, 0, 4, 4))),
    ("DISJOINT", region(1, rect=Rect(3, 0, 5, 4))),
    ("TILES_COVER", call(0, tile=(3, 16, 64))),
    ("TILES_COVER", call(0, tile=(4, 15, 64))),
    ("TILES_COVER", call(0, tile=(4, 16, 63))),
    ("SRAM_BUDGET", kept(Resident("more", "weight", 3, Rect(0, 0, 4, 4), 1))),
    ("SRAM_BUDGET", kept(Resident("less", "weight", 0, Rect(0, 0, 4, 4), -1))),
    ("SRAM_BUDGET", kept(Resident("much", "weight", 0, Rect(0, 0, 4, 4), 49_152))),
    ("SRAM_BUDGET", call(0, tile=(4, 16, 99999))),
    ("COLORS", route(0, color=21)),
    ("COLORS", route(0, color=-1)),
    ("ONE_RECEIVE_DIRECTION", route(1, color=0)),
    ("ROUTES_CONTINUOUS", route(0, towards="UP")),
    ("ROUTES_CONTINUOUS", route(0, rect=Rect(1, 0, 4, 4))),
    ("DEADLOCK_FREE", route(0, waits_for=(0,))),
    ("DEADLOCK_FREE", route(0, waits_for=(1,))),
]


def test_compiled_program_is_legal_and_every_rule_is_broken_below() -> None:
    verify(legal(), MACHINE)
    assert {rule for rule, _ in BREAKS} == set(RULES)


@pytest.mark.parametrize(("rule", "change"), BREAKS)
def test_verify_names_the_rule_that_is_broken(rule: str, change: Change) -> None:
    assert broken_rule(change(legal())) == rule


def test_sram_budget_holds_to_the_byte() -> None:
    used = max(region_bytes(legal(), MACHINE))
    for limit, fits in ((used, True), (used - 1, False)):
        machine = replace(MACHINE, sram_bytes_per_pe=replace(MACHINE.sram_bytes_per_pe, value=limit))
        program = replace(legal(), machine_sha256=machine.sha256())
        if fits:
            verify(program, machine)
        else:
            assert broken_rule(program, machine) == "SRAM_BUDGET"


def test_last_usable_color_is_the_one_below_the_reserved_ones() -> None:
    usable = MACHINE.colors.value - MACHINE.reserved_colors.value
    assert usable == 21
    verify(route(0, color=20)(call(0, routes=legal().calls[0].routes[:1])(legal())), MACHINE)


def test_regions_may_overlap_when_they_lie_on_different_systems() -> None:
    same_place = region(1, rect=Rect(0, 0, 4, 4))(legal())
    moved = tuple(replace(item, rect=Rect(0, 0, 4, 4), routes=()) for item in same_place.calls)
    program = replace(same_place, calls=moved, regions=(*same_place.regions[:2], Region(0, Rect(4, 4, 4, 4))))
    program = replace(program, calls=tuple(replace(c, rect=program.regions[c.region].rect) for c in moved))
    assert broken_rule(program) == "DISJOINT"
    verify(region(1, system=1)(replace(program, systems=2)), MACHINE)


def test_one_color_may_take_two_directions_only_on_different_elements() -> None:
    left, right = Rect(0, 0, 2, 4), Rect(2, 0, 2, 4)
    apart = (Route(5, "a", "E", left), Route(5, "b", "W", right))
    verify(call(0, routes=apart)(legal()), MACHINE)
    touching = (Route(5, "a", "E", left), Route(5, "b", "W", Rect(1, 0, 3, 4)))
    assert broken_rule(call(0, routes=touching)(legal())) == "ONE_RECEIVE_DIRECTION"
    same_way = (Route(5, "a", "E", left), Route(5, "b", "E", Rect(1, 0, 3, 4)))
    verify(call(0, routes=same_way)(legal()), MACHINE)


@pytest.mark.parametrize("length", [2, 3, 21])
def test_a_ring_of_waiting_colors_is_a_deadlock_and_a_chain_is_none(length: int) -> None:
    rect = legal().calls[0].rect
    chain = [Route(n, f"c{n}", "E", rect, (n - 1,) if n else ()) for n in range(length)]
    verify(call(0, routes=tuple(chain))(legal()), MACHINE)
    ring = (replace(chain[0], waits_for=(length - 1,)), *chain[1:])
    assert broken_rule(call(0, routes=ring)(legal())) == "DEADLOCK_FREE"


def test_waiting_for_a_color_that_is_not_there_blocks_nothing() -> None:
    verify(route(0, waits_for=(17,))(legal()), MACHINE)


def alone(kernel: Kernel, shape: tuple[int, int, int], rect: Rect) -> Program:
    """Return a program of one product on a rectangle of its own."""
    tile = tile_of(kernel, shape, rect)
    made = Call(0, kernel, "matmul", ("x", "w0"), "y", 0, rect, shape, tile)
    return replace(
        legal(), regions=(Region(0, rect),), calls=(made,), inputs=("x", "w0"), residents=(), outputs=("y",)
    )


@pytest.mark.parametrize("kernel", [*PRODUCTS, Kernel.CONVOLUTION])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 11), (16, 33, 8)])
def test_tiles_cover_every_product_and_one_less_does_not(kernel: Kernel, shape: tuple[int, int, int]) -> None:
    program = alone(kernel, shape, Rect(0, 0, 3, 3))
    verify(program, MACHINE)
    tile = program.calls[0].tile
    for position in range(3):
        less = tuple(size - (index == position) for index, size in enumerate(tile))
        assert broken_rule(call(0, tile=less)(program)) == ("SHAPES" if 0 in less else "TILES_COVER")


@pytest.mark.parametrize("kernel", SQUARE)
def test_square_kernels_need_a_square_grid(kernel: Kernel) -> None:
    program = alone(kernel, (8, 8, 8), Rect(0, 0, 4, 2))
    assert broken_rule(call(0, tile=(8, 8, 8))(program)) == "TILES_COVER"


def test_program_of_another_machine_is_refused() -> None:
    assert broken_rule(legal(), WSE_3) == "MACHINE"


@pytest.mark.parametrize("kernel", Kernel)
def test_routes_of_every_kernel_are_legal(kernel: Kernel) -> None:
    rect = Rect(0, 0, 4, 4)
    routes = routes_of(kernel, rect)
    assert len(routes) == len(ROWS.get(kernel, ()))
    assert routes_of(kernel, Rect(3, 3, 1, 1)) == ()
    verify(call(0, routes=routes)(legal()), MACHINE)
    assert len({item.color for item in routes}) == len(routes)


def test_every_tile_has_the_number_of_sizes_its_kernel_needs() -> None:
    assert set(TILE_SIZES) == {*PRODUCTS, Kernel.CONVOLUTION, Kernel.ATTENTION, Kernel.ATTENTION_CACHED}
