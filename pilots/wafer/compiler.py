"""From a graph to a program: lower, choose the region by the cost model, assign calls and weights, verify.

One region is a rectangle on which calls follow one another; weights of a region lie in the SRAM of its elements. If a
model is larger than one region, its calls continue on the next, in the order of the data flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pilots.graph.ir import DType, Graph, Node, model_digest
from pilots.graph.spec import verify as verify_graph
from pilots.wafer.assignment import assign, kept_tensors
from pilots.wafer.costs.constants import Constants, calibrated
from pilots.wafer.costs.kernels import Setting
from pilots.wafer.errors import DoesNotFit, RequestError, UnsupportedOps
from pilots.wafer.legality import verify
from pilots.wafer.lowering import Work, element_type, lower, other_types, unsupported
from pilots.wafer.machine import Machine
from pilots.wafer.memory import Need, living_bytes, need_of, spread_bytes
from pilots.wafer.placement import ANY_PRODUCT, Placed, Placer, resident_bytes_of, side_doubt
from pilots.wafer.program import Call, Kernel, Mode, Program, Rect, Region, Resident
from pilots.wafer.routes import routes_of

MICRO_BATCHES: Final = (4, 8, 16, 32, 64)
MAX_BATCH: Final = 4096
PARTS: Final = 4
MAX_SYSTEMS: Final = 16
# What a single call may take of an element: less for calls, even slower ones, leaves more for weights.
SHARES: Final = (1, 2, 4, 8, 16)
ALL_KERNELS: Final = ANY_PRODUCT
SIDES: Final = (
    *(
        1,
        2,
        4,
        8,
        12,
        16,
        24,
        32,
        48,
        64,
        96,
        128,
        192,
        256,
        300,
        360,
        420,
        480,
        512,
        540,
        600,
        640,
        660,
        720,
    ),
    *(750, 755),
)


@dataclass(frozen=True, slots=True)
class Request:
    """What to compile for. grid: side of the square region, 0 for the compiler's choice; rect: a region that is no
    square; capacity: False places more layers than fit, as published runs of a few of them did; the activations of a
    single call have to fit all the same. rounds: how many batches take turns, whose caches all stay.
    """

    batch: int = 1
    mode: Mode = Mode.RESIDENT
    systems: int = 1
    grid: int = 0
    rect: tuple[int, int] = (0, 0)
    kernels: tuple[Kernel, ...] = ALL_KERNELS
    capacity: bool = True
    rounds: int = 1


def compile_graph(
    graph: Graph, machine: Machine, request: Request, *, constants: Constants | None = None
) -> Program:
    """Return the legal program with the fewest predicted cycles.

    Raises GraphError, UnsupportedOps (all of them named), DoesNotFit (exact shortfall) or RequestError.
    """
    verify_graph(graph)
    _check(request, machine)
    missing = unsupported(graph)
    if missing or not graph.nodes:
        raise UnsupportedOps(missing or (("graph without operations", "graph"),))
    setting = Setting(machine, element_type(graph), constants or calibrated(), request.mode)
    placer = Placer(setting, request.kernels, machine.data_bytes_per_pe)
    plans = sorted(
        _plans(graph, machine, request, placer), key=lambda item: (item.hopeless, item.cycles, item.rect.pes)
    )
    shortfalls: list[DoesNotFit] = []
    for plan in plans:
        try:
            program = _build(graph, machine, request, placer, plan)
        except DoesNotFit as error:
            shortfalls.append(error)
            continue
        if request.capacity:
            verify(program, machine)
        return program
    shortfalls = shortfalls or list(_too_large_alone(graph, machine, request, placer))
    if not shortfalls:
        sentence = "Keiner der erlaubten Kernel kann dieses Modell auf dieser Region berechnen; bitte erlauben Sie weitere."
        raise RequestError("no allowed kernel", message_de=sentence)
    raise min(shortfalls, key=lambda error: (error.of_one_call, error.shortfall_bytes))


def _check(request: Request, machine: Machine) -> None:
    if not 1 <= request.batch <= MAX_BATCH:
        sentence = f"Die Stapelgröße muss zwischen 1 und {MAX_BATCH} liegen."
        raise RequestError(f"batch {request.batch} is outside 1..{MAX_BATCH}", message_de=sentence)
    if not 1 <= request.systems <= MAX_SYSTEMS:
        sentence = f"Die Zahl der Systeme muss zwischen 1 und {MAX_SYSTEMS} liegen."
        raise RequestError(f"{request.systems} systems are outside 1..{MAX_SYSTEMS}", message_de=sentence)
    if not set(request.kernels) & set(ALL_KERNELS):
        raise RequestError("no kernel allowed", message_de="Es ist kein Kernel erlaubt.")
    side = min(machine.width_pes.value, machine.height_pes.value)
    if not 0 <= request.grid <= side:
        sentence = f"Die Kantenlänge des Gitters muss zwischen 1 und {side} liegen."
        raise RequestError(f"grid {request.grid} is outside 1..{side}", message_de=sentence)
    limits = (machine.width_pes.value, machine.height_pes.value)
    fits = all(1 <= size <= limit for size, limit in zip(request.rect, limits, strict=True))
    if request.rect != (0, 0) and not fits:
        sentence = f"Die Region muss zwischen 1 × 1 und {limits[0]} × {limits[1]} Rechenelementen groß sein."
        raise RequestError(f"rect {request.rect} is outside 1 x 1..{limits}", message_de=sentence)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A region and a micro-batch, and what a request takes on it, raised where nobody measured.

    hopeless: weights and caches alone are more than all regions hold; built only to say what is missing.
    """

    rect: Rect
    micro_batch: int
    works: tuple[Work, ...]
    share: int
    cycles: float
    hopeless: bool


def _plans(graph: Graph, machine: Machine, request: Request, placer: Placer) -> Iterator[_Plan]:
    for micro_batch in _micro_batches(graph, request.batch):
        works = lower(graph, batch=micro_batch)
        counts = Counter(works)
        for rect in _rects(machine, request):
            seen: list[list[Placed]] = []
            hopeless = request.capacity and _kept_bytes(counts, rect, request, placer) > _room(
                rect, machine, request
            )
            for share in SHARES:
                found = [item for item in (placer.place(work, rect, share) for work in counts) if item]
                if len(found) < len(counts) or found in seen:
                    continue
                seen.append(found)
                cycles = sum(item.cycles * count for item, count in zip(found, counts.values(), strict=True))
                cycles *= side_doubt(item.call for item in found)
                cycles *= -(-request.batch // micro_batch)
                yield _Plan(rect, micro_batch, works, share, cycles, hopeless)


def _kept_bytes(counts: Counter[Work], rect: Rect, request: Request, placer: Placer) -> int:
    """Return the least bytes per element of all weights and caches; tables may be shared and do not count."""
    item_bytes = placer.setting.dtype.item_bytes
    weights = 0 if request.mode is Mode.WEIGHT_STREAMING else 1
    return sum(
        count
        * item_bytes
        * (
            weights * sum(resident_bytes_of(shape, rect, 1) for shape in work.weights)
            + request.rounds * sum(resident_bytes_of(shape, rect, 1) for shape in work.caches)
        )
        for work, count in counts.items()
        if work.kernel is not Kernel.GATHER
    )


def _room(rect: Rect, machine: Machine, request: Request) -> int:
    """Return the bytes that elements at one place of all regions have together for what stays."""
    there = (machine.width_pes.value // rect.width) * (machine.height_pes.value // rect.height)
    return there * request.systems * machine.data_bytes_per_pe


def _too_large_alone(
    graph: Graph, machine: Machine, request: Request, placer: Placer
) -> Iterator[DoesNotFit]:
    """Yield what is missing on each region for the largest single operation with its weights."""
    fixed = machine.code_bytes_per_pe.value + machine.stack_bytes_per_pe.value
    for micro_batch in _micro_batches(graph, request.batch):
        works = set(lower(graph, batch=micro_batch))
        for rect in _rects(machine, request):
            needed = [placer.least_bytes(work, rect) for work in works]
            if all(needed):
                yield _too_large(max(needed) + fixed, rect, machine)


def _micro_batches(graph: Graph, batch: int) -> tuple[int, ...]:
    if not any(None in tensor.shape for _, tensor in graph.inputs):
        return (batch,)  # every dimension is written in the graph
    if batch == 1:
        return (1,)
    return tuple(size for size in MICRO_BATCHES if size == MICRO_BATCHES[0] or size < 2 * batch)


def _rects(machine: Machine, request: Request) -> Iterator[Rect]:
    width, height = machine.width_pes.value, machine.height_pes.value
    if request.rect != (0, 0):
        yield Rect(0, 0, *request.rect)
    elif request.grid:
        yield Rect(0, 0, request.grid, request.grid)
    elif request.mode is Mode.WEIGHT_STREAMING:
        yield Rect(0, 0, width, height)
        yield Rect(0, 0, min(width, height), min(width, height))
    else:
        for side in SIDES:
            if side <= min(width, height):
                yield Rect(0, 0, side, side)
        # Parts of the whole mesh, which leave no element unused; their products are matrix-vector products.
        for columns in range(1, PARTS + 1):
            for rows in range(1, PARTS + 1):
                if width // columns and height // rows:
                    yield Rect(0, 0, width // columns, height // rows)


def _build(graph: Graph, machine: Machine, request: Request, placer: Placer, plan: _Plan) -> Program:
    dtype = placer.setting.dtype
    placed = [placer.place(work, plan.rect, plan.share) for work in plan.works]
    found = [item for item in placed if item is not None]  # plans hold only placeable work
    kept = kept_tensors(graph, plan.works, dtype, request.mode, plan.micro_batch, rounds=request.rounds)
    fixed = machine.code_bytes_per_pe.value + machine.stack_bytes_per_pe.value
    room = machine.sram_bytes_per_pe.value - fixed
    types = other_types(graph, dtype)
    assigned = assign(graph.nodes, kept, _living(graph, found, placer, dict(types)), plan.rect, room)
    if assigned.largest_bytes > room and request.capacity:
        raise _too_large(assigned.largest_bytes + fixed, plan.rect, machine)
    regions = _regions(assigned.regions, plan.rect, machine, request)
    caches = {name for name, item in kept.items() if item.kind == "cache"}
    return Program(
        machine_id=machine.id,
        machine_sha256=machine.sha256(),
        model_digest=model_digest(graph),
        dtype=dtype,
        mode=request.mode,
        micro_batch=plan.micro_batch,
        systems=regions[-1].system + 1,
        regions=regions,
        residents=tuple(
            Resident(name, kept[name].kind, region, regions[region].rect, size)
            for (region, name), size in assigned.residents.items()
        ),
        calls=tuple(
            _call(index, node, item.call, region, regions[region].rect)
            for index, (node, item, region) in enumerate(
                zip(graph.nodes, found, assigned.region_of, strict=True)
            )
        ),
        inputs=tuple(name for name, _ in graph.inputs if name not in caches),
        outputs=graph.outputs,
        types=types,
    )


def _living(graph: Graph, placed: list[Placed], placer: Placer, types: dict[str, DType]) -> list[int]:
    """Return the bytes each call takes beside what stays; types: of values that are not of the program's type."""
    setting, outputs = placer.setting, set(graph.outputs)
    needs: list[Need] = []
    kept: dict[str, int] = {}
    for node, item in zip(graph.nodes, placed, strict=True):
        need = Need(node.inputs, node.output, item.output_bytes, item.scratch_bytes)
        own = types.get(node.output)
        if own is not None:
            need = replace(need_of(item.call, own, setting.mode), inputs=node.inputs, output=node.output)
        needs.append(need)
        if node.output in outputs:
            kept[node.output] = spread_bytes(item.call, item.call.rect, own or setting.dtype)
    return living_bytes(needs, {need.output: need.output_bytes for need in needs}, kept)


def _call(index: int, node: Node, template: Call, region: int, rect: Rect) -> Call:
    routes = template.routes
    if rect != template.rect:
        routes = routes_of(template.kernel, rect)
    return Call(
        index,
        template.kernel,
        template.op,
        node.inputs,
        node.output,
        region,
        rect,
        template.shape,
        template.tile,
        template.attrs,
        routes,
    )


def _regions(count: int, rect: Rect, machine: Machine, request: Request) -> tuple[Region, ...]:
    columns = machine.width_pes.value // rect.width
    rows = machine.height_pes.value // rect.height
    there = columns * rows * request.systems
    if count > there and request.capacity:
        per_pe = machine.sram_bytes_per_pe.value
        raise DoesNotFit(
            needed_bytes=count * rect.pes * per_pe,
            available_bytes=there * rect.pes * per_pe,
            needed_pes=count * rect.pes,
            available_pes=there * rect.pes,
        )
    found = []
    for index in range(count):
        place = index % (columns * rows)
        x, y = place % columns, place // columns
        system = min(index // (columns * rows), request.systems - 1)
        found.append(Region(system, Rect(x * rect.width, y * rect.height, rect.width, rect.height)))
    return tuple(found)


def _too_large(size: int, rect: Rect, machine: Machine) -> DoesNotFit:
    per_pe = machine.sram_bytes_per_pe.value
    return DoesNotFit(
        needed_bytes=size * rect.pes,
        available_bytes=rect.pes * per_pe,
        needed_pes=-(-size * rect.pes // per_pe),
        available_pes=rect.pes,
        of_one_call=True,
    )
