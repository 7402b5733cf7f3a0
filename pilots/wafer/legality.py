"""What is legal in a program: one table of rules, checked on everything the compiler hands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pilots.wafer.errors import ProgramError
from pilots.wafer.machine import Machine
from pilots.wafer.memory import region_bytes
from pilots.wafer.program import PRODUCTS, SHAPES, SQUARE, Call, Kernel, Program, Route

Breach = tuple[int | None, str, str]
Rule = Callable[[Program, Machine], Iterator[Breach]]
OPPOSITE: Final = {"E": "W", "W": "E", "N": "S", "S": "N"}
TILED: Final = (*PRODUCTS, Kernel.CONVOLUTION)
TILE_SIZES: Final = dict.fromkeys((*TILED, Kernel.ATTENTION, Kernel.ATTENTION_CACHED), 3)  # all others: 2


def _machine(program: Program, machine: Machine) -> Iterator[Breach]:
    if program.machine_sha256 != machine.sha256():
        yield None, f"machine {machine.sha256()}", program.machine_sha256


def _connected(program: Program, machine: Machine) -> Iterator[Breach]:
    resident = {item.name for item in program.residents}
    places = {(item.region, item.name) for item in program.residents}
    known = set(program.inputs) | resident
    for index, call in enumerate(program.calls):
        if call.index != index:
            yield index, f"call number {index}", str(call.index)
        missing = [name for name in call.inputs if name not in known]
        if missing:
            yield index, "inputs computed before", ", ".join(missing)
        away = [name for name in call.inputs if name in resident and (call.region, name) not in places]
        if away:
            yield index, "weights and caches in its own region", ", ".join(away)
        if call.output in known:
            yield index, "each value once", call.output
        known.add(call.output)
    lost = [name for name in program.outputs if name not in known]
    if lost or not program.calls:
        yield None, "computed outputs", ", ".join(lost) or "no calls"


def _inside(program: Program, machine: Machine) -> Iterator[Breach]:
    width, height = machine.width_pes.value, machine.height_pes.value
    for region in program.regions:
        rect = region.rect
        if (
            min(rect.x, rect.y) < 0
            or min(rect.width, rect.height) < 1
            or not 0 <= region.system < program.systems
        ):
            yield None, "a region with elements on a system there is", str(region)
        if rect.x + rect.width > width or rect.y + rect.height > height:
            yield None, f"inside {width} x {height}", str(rect)
    for call in program.calls:
        if not 0 <= call.region < len(program.regions):
            yield call.index, f"one of {len(program.regions)} regions", str(call.region)
        elif not program.regions[call.region].rect.contains(call.rect):
            yield call.index, "a rectangle inside its region", str(call.rect)


def _disjoint(program: Program, machine: Machine) -> Iterator[Breach]:
    for index, region in enumerate(program.regions):
        for other in program.regions[:index]:
            if region.system == other.system and region.rect.overlaps(other.rect):
                yield None, "regions without common elements", f"{region.rect} and {other.rect}"


def _shapes(program: Program, machine: Machine) -> Iterator[Breach]:
    for call in program.calls:
        if len(call.shape) != len(SHAPES[call.kernel]) or min(call.shape) < 1:
            yield call.index, f"positive {', '.join(SHAPES[call.kernel])}", str(call.shape)
        sizes = TILE_SIZES.get(call.kernel, 2)
        if len(call.tile) != sizes or min(call.tile) < 1:
            yield call.index, f"{sizes} positive sizes of a tile", str(call.tile)


def _covered(program: Program, machine: Machine) -> Iterator[Breach]:
    for call in program.calls:
        if call.kernel not in TILED:
            continue
        reach = tuple(tile * parts for tile, parts in zip(call.tile, _cuts(call), strict=True))
        if any(have < size for have, size in zip(reach, call.shape, strict=True)):
            yield call.index, f"tiles for {call.shape}", str(reach)
        if call.kernel in SQUARE and call.rect.width != call.rect.height:
            yield call.index, "a square grid", f"{call.rect.width} x {call.rect.height}"


def _cuts(call: Call) -> tuple[int, int, int]:
    """Return into how many tiles m, k and n of a product are cut."""
    width, height = call.rect.width, call.rect.height
    if call.kernel in SQUARE:
        return (height, width, width)
    return (height, width, 1) if call.kernel is Kernel.STREAMED else (1, height, width)


def _memory(program: Program, machine: Machine) -> Iterator[Breach]:
    limit = machine.sram_bytes_per_pe.value
    for item in program.residents:
        if not 0 <= item.region < len(program.regions) or item.bytes_per_pe < 0:
            yield None, f"bytes in one of {len(program.regions)} regions", f"{item.name} in {item.region}"
    for index, used in enumerate(region_bytes(program, machine)):
        if used > limit:
            yield None, f"at most {limit} B per element", f"{used} B in region {index}"


def _colors(program: Program, machine: Machine) -> Iterator[Breach]:
    usable = machine.colors.value - machine.reserved_colors.value
    for call in program.calls:
        numbers = [route.color for route in call.routes]
        if any(not 0 <= number < usable for number in numbers):
            yield call.index, f"colors 0..{usable - 1}", str(numbers)


def _one_direction(program: Program, machine: Machine) -> Iterator[Breach]:
    for call in program.calls:
        for route, other in _pairs(call):
            same = route.color == other.color and route.rect.overlaps(other.rect)
            if same and route.towards != other.towards:
                sides = f"{OPPOSITE[route.towards]} and {OPPOSITE[other.towards]}"
                yield call.index, f"color {route.color} received from one side", sides


def _continuous(program: Program, machine: Machine) -> Iterator[Breach]:
    for call in program.calls:
        for route in call.routes:
            if route.towards not in OPPOSITE:
                yield call.index, "a side E, W, N or S", route.towards
            if not call.rect.contains(route.rect):
                yield call.index, "a route inside its rectangle", str(route.rect)


def _no_deadlock(program: Program, machine: Machine) -> Iterator[Breach]:
    for call in program.calls:
        waits = {route.color: set(route.waits_for) for route in call.routes}
        while waits:
            free = [color for color, needed in waits.items() if not needed & waits.keys()]
            if not free:
                yield call.index, "colors that do not wait for each other", str(sorted(waits))
                break
            for color in free:
                del waits[color]


def _pairs(call: Call) -> Iterator[tuple[Route, Route]]:
    for index, route in enumerate(call.routes):
        for other in call.routes[:index]:
            yield route, other


RULES: Final[dict[str, Rule]] = {
    "MACHINE": _machine,
    "SHAPES": _shapes,
    "CONNECTED": _connected,
    "INSIDE_MESH": _inside,
    "DISJOINT": _disjoint,
    "TILES_COVER": _covered,
    "SRAM_BUDGET": _memory,
    "COLORS": _colors,
    "ONE_RECEIVE_DIRECTION": _one_direction,
    "ROUTES_CONTINUOUS": _continuous,
    "DEADLOCK_FREE": _no_deadlock,
}


def verify(program: Program, machine: Machine) -> None:
    """Check every rule of the table; raises ProgramError naming rule, call, expected and got."""
    for rule, check in RULES.items():
        for call, expected, got in check(program, machine):
            raise ProgramError(rule, call=call, expected=expected, got=got)
