"""From a graph to a program: match kernels, choose tiles by the cost model, place rectangles on the mesh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pilots.graph.ir import Graph, Node, model_digest
from pilots.graph.spec import verify as verify_graph
from pilots.wafer.errors import DoesNotFit, RequestError, UnsupportedOps
from pilots.wafer.kernels import ELEMENT_OPS, stage_cost
from pilots.wafer.machine import Machine
from pilots.wafer.program import MAX_TILE, MIN_TILE, Kernel, Program, Rect, Stage, pe_bytes, verify

TILES: Final = (4, 8, 12, 16, 24, 32, 46, 64, 96, MAX_TILE)
MICRO_BATCHES: Final = (4, 8, 16, 32, 64)
MAX_BATCH: Final = 4096
WITH_CONSTANT: Final = ("add", "sub", "mul")
ALL_KERNELS: Final = tuple(Kernel)
_LARGEST_AREA: Final = 64 * 96  # elements of a weight tile that is half of 48 KiB in fp32
_FIRST_TRANSFER_COLOR: Final = 4
_TRANSFER_COLORS: Final = 16


@dataclass(frozen=True, slots=True)
class Layer:
    """A matched matrix product: its weight, shape and the operations fused behind it."""

    weight: str
    k: int
    n: int
    epilogue: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class OpMatch:
    """One operation of the graph and the kernel that runs it; empty when there is none."""

    op: str
    position: str
    kernel: str


def match(graph: Graph) -> tuple[tuple[Layer, ...], tuple[OpMatch, ...]]:
    """Return the layers of a chain graph and what became of every operation; nothing is dropped silently."""
    current = graph.inputs[0][0]
    layers: list[Layer] = []
    matches: list[OpMatch] = []
    for index, node in enumerate(graph.nodes):
        position = f"node {index}"
        kernel = _kernel_of(graph, node, current, bool(layers))
        matches.append(OpMatch(node.op, position, kernel))
        if kernel == "product":
            k, n = graph.tensors()[node.inputs[1]].shape
            layers.append(Layer(node.inputs[1], k or 1, n or 1, ()))
        elif kernel:
            step = (node.op, node.inputs[1] if node.op in WITH_CONSTANT else "")
            layers[-1] = replace(layers[-1], epilogue=(*layers[-1].epilogue, step))
        current = node.output
    return tuple(layers), tuple(matches)


def _kernel_of(graph: Graph, node: Node, current: str, has_layer: bool) -> str:
    constants = {item.name: item.tensor for item in graph.constants}
    if node.inputs[0] != current:
        return ""
    if node.op == "matmul":
        return "product" if node.inputs[1] in constants else ""
    if not has_layer or node.op not in ELEMENT_OPS:
        return ""
    if node.op in WITH_CONSTANT:
        vector = constants.get(node.inputs[1])
        return "elementwise" if vector is not None and vector.shape == (node.tensor.shape[-1],) else ""
    return "softmax" if node.op == "softmax" else "elementwise"


def unsupported(graph: Graph) -> tuple[tuple[str, str], ...]:
    """Return (op, position) of every operation without a kernel."""
    return tuple((item.op, item.position) for item in match(graph)[1] if not item.kernel)


def compile_graph(
    graph: Graph, machine: Machine, *, batch: int, kernels: tuple[Kernel, ...] = ALL_KERNELS
) -> Program:
    """Return the legal program with the least pessimistic request time.

    Raises GraphError, UnsupportedOps (all of them named), DoesNotFit (exact shortfall) or RequestError.
    """
    verify_graph(graph)
    if not 1 <= batch <= MAX_BATCH:
        sentence = f"Die Stapelgröße muss zwischen 1 und {MAX_BATCH} liegen."
        raise RequestError(f"batch {batch} is outside 1..{MAX_BATCH}", message_de=sentence)
    if not kernels:
        raise RequestError("no kernel allowed", message_de="Es ist kein Kernel erlaubt.")
    layers, matches = match(graph)
    missing = tuple((item.op, item.position) for item in matches if not item.kernel)
    outside = tuple((name, "output") for name in graph.outputs if name != graph.nodes[-1].output)
    if missing or outside or not layers or len(graph.inputs) != 1:
        raise UnsupportedOps(missing or outside or (("graph without matmul", "graph"),))
    programs = [_place(graph, layers, machine, size, kernels) for size in _micro_batches(batch, kernels)]
    best: tuple[int, Program] | None = None
    for program in programs:
        if isinstance(program, Program):
            key = program.micro_batches(batch) * _upper_cycles(program, machine)
            best = (key, program) if best is None or key < best[0] else best
    if best is None:
        raise next(item for item in programs if isinstance(item, DoesNotFit))
    verify(best[1], machine)
    return best[1]


def _micro_batches(batch: int, kernels: tuple[Kernel, ...]) -> list[int]:
    if batch == 1 and Kernel.GEMV in kernels:
        return [1]
    return [size for size in MICRO_BATCHES if size == MICRO_BATCHES[0] or size < 2 * batch]


def _upper_cycles(program: Program, machine: Machine) -> int:
    return sum(stage_cost(stage, machine, program.dtype, hops_in=0).upper_cycles for stage in program.stages)


def _place(
    graph: Graph, layers: tuple[Layer, ...], machine: Machine, micro_batch: int, kernels: tuple[Kernel, ...]
) -> Program | DoesNotFit:
    dtype = graph.dtype
    empty = Program(machine.id, machine.sha256(), model_digest(graph), dtype, micro_batch, ())
    choices = [list(_candidates(index, layer, empty, machine, kernels)) for index, layer in enumerate(layers)]
    if not all(choices):
        return _shortfall([_smallest(layer, micro_batch, kernels) for layer in layers], machine)
    limit = machine.pes
    while True:
        chosen = [_best(options, limit) for options in choices]
        placed = _pack([stage.rect for _, stage in chosen], machine)
        if placed is not None:
            stages = [replace(stage, rect=rect) for (_, stage), rect in zip(chosen, placed, strict=True)]
            return replace(empty, stages=tuple(stages))
        if limit == 1:
            return _shortfall([stage.rect for _, stage in chosen], machine)
        limit //= 2


def _smallest(layer: Layer, micro_batch: int, kernels: tuple[Kernel, ...]) -> Rect:
    """Return the smallest rectangle any layout of the layer takes whose tiles stay within half an element's SRAM."""
    layouts = list(_layouts(layer, micro_batch, kernels))
    small = [item for item in layouts if item[3][1] * item[3][2] <= _LARGEST_AREA] or layouts
    _, rows, columns, _ = min(small, key=lambda item: item[1] * item[2])
    return Rect(0, 0, columns, rows)


def _best(options: list[tuple[int, Stage]], limit: int) -> tuple[int, Stage]:
    allowed = [item for item in options if item[1].rect.pes <= limit]
    if not allowed:  # nothing is that small: take the smallest there is
        return min(options, key=lambda item: (item[1].rect.pes, item[0]))
    return min(allowed, key=lambda item: (item[0], item[1].rect.pes))


def _candidates(
    index: int, layer: Layer, program: Program, machine: Machine, kernels: tuple[Kernel, ...]
) -> Iterator[tuple[int, Stage]]:
    for kernel, rows, columns, tile in _layouts(layer, program.micro_batch, kernels):
        inside = columns <= machine.width_pes.value and rows <= machine.height_pes.value
        colors = _stage_colors(kernel, index)
        shape = (program.micro_batch, layer.k, layer.n)
        stage = Stage(
            index, kernel, Rect(0, 0, columns, rows), *shape, *tile, layer.weight, layer.epilogue, colors
        )
        if inside and pe_bytes(stage, program, machine) <= machine.sram_bytes_per_pe.value:
            yield stage_cost(stage, machine, program.dtype, hops_in=0).upper_cycles, stage


Layout = tuple[Kernel, int, int, tuple[int, int, int]]


def _layouts(layer: Layer, micro_batch: int, kernels: tuple[Kernel, ...]) -> Iterator[Layout]:
    flat = Kernel.GEMV if micro_batch == 1 else Kernel.STATIONARY
    if flat in kernels:
        for tile_k in TILES:
            for tile_n in TILES:
                yield flat, -(-layer.k // tile_k), -(-layer.n // tile_n), (micro_batch, tile_k, tile_n)
    if Kernel.SUMMA in kernels and micro_batch > 1:
        grids = {-(-size // tile) for size in (layer.k, layer.n, micro_batch) for tile in TILES}
        for grid in sorted(grids):
            tile_m, tile_k, tile_n = (
                max(MIN_TILE, -(-size // grid)) for size in (micro_batch, layer.k, layer.n)
            )
            if max(tile_m, tile_k, tile_n) <= MAX_TILE:
                yield Kernel.SUMMA, grid, grid, (tile_m, tile_k, tile_n)


def _stage_colors(kernel: Kernel, index: int) -> tuple[tuple[str, int], ...]:
    transfer = ("transfer", _FIRST_TRANSFER_COLOR + index % _TRANSFER_COLORS)
    if kernel is Kernel.SUMMA:
        return (("broadcast rows", 0), ("broadcast columns", 1), transfer)
    return (("broadcast rows", 0), ("reduce even", 1), ("reduce odd", 2), transfer)


def _pack(sizes: list[Rect], machine: Machine) -> list[Rect] | None:
    """Place rectangles on shelves from the upper left, in order; None if they do not fit."""
    width, height = machine.width_pes.value, machine.height_pes.value
    placed: list[Rect] = []
    x = y = shelf = 0
    for size in sizes:
        if x + size.width > width:
            x, y, shelf = 0, y + shelf, 0
        if x + size.width > width or y + size.height > height:
            return None
        placed.append(Rect(x, y, size.width, size.height))
        x, shelf = x + size.width, max(shelf, size.height)
    return placed


def _shortfall(sizes: list[Rect], machine: Machine) -> DoesNotFit:
    """Say what is missing, counted in whole elements of the smallest layout this compiler knows."""
    fitting: list[Rect] = []
    rest = 0
    for size in sizes:
        if not rest and _pack([*fitting, size], machine) is not None:
            fitting.append(size)
        else:
            rest += size.pes
    free = machine.pes - sum(item.pes for item in fitting)
    per_pe = machine.sram_bytes_per_pe.value
    available = min(free, max(rest - 1, 0))  # elements left between rectangles cannot be used
    return DoesNotFit(
        needed_bytes=rest * per_pe,
        available_bytes=available * per_pe,
        needed_pes=rest,
        available_pes=available,
    )
