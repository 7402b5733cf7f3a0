"""What one call costs: a table from kernel to a function of shapes alone. Every interpreter uses these functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, isqrt
from typing import Final

from pilots.graph.ir import DType
from pilots.wafer.costs import collectives, moving, traffic
from pilots.wafer.costs.constants import Constants
from pilots.wafer.costs.terms import Terms
from pilots.wafer.machine import Machine
from pilots.wafer.program import ACCUMULATOR_BYTES, SQUARE, WORD_BYTES, Call, Kernel, Mode
from pilots.wafer.tiling import heads_on, rows_are_cut

DIVISION_CYCLES: Final = 50  # pe.div
# 16-bit division: one Newton step doubles the six bits of a seed; nobody published a figure.
NEWTON_OPS: Final = 3
# Vector operations and divisions per element of our own polynomials (numerics.py).
ELEMENT_OPS: Final[dict[str, tuple[int, int]]] = {
    "exp": (24, 0),
    "log": (27, 1),
    "sqrt": (1, 1),
    "rsqrt": (1, 2),
    "reciprocal": (0, 1),
    "div": (0, 1),
    "sigmoid": (26, 1),
    "silu": (27, 1),
    "tanh": (41, 1),
    "gelu": (49, 1),
    "sin": (44, 0),
    "cos": (44, 0),
    "rope": (4, 0),
    "softmax": (27, 1),
    "log_softmax": (27, 1),
    "layer_norm": (5, 0),
    "rms_norm": (3, 0),
}
REDUCTIONS_OF_NORM: Final[dict[str, int]] = {"rms_norm": 1, "layer_norm": 2}
ONE_PASS: Final = (1, 0)
# Reductions that take several: operations per element, and how often a row meets.
REDUCTIONS: Final[dict[str, tuple[tuple[int, int], int]]] = {
    "argmax": ((2, 0), 2),  # the largest, then its place
    "cross_entropy": (
        ELEMENT_OPS["log_softmax"],
        3,
    ),  # the largest, the sum of powers, the share of the target
}
GATED_SUM: Final = (2, 0)
OPTIMISER_OPS: Final[dict[str, tuple[int, int]]] = {"adamw_update": (6, 2)}
OPTIMISER_PASSES: Final = (2, 0)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a cost depends on beside the call: machine, element type, constants, and whether it stands alone.

    alone: a kernel measured on its own finds its inputs in place, so nothing is realigned. sum_bytes: of a sum on its
    way; ours travel as they are held, those of published kernels may be narrower.
    """

    machine: Machine
    dtype: DType
    constants: Constants
    mode: Mode = Mode.RESIDENT
    alone: bool = False
    sum_bytes: int = ACCUMULATOR_BYTES

    @property
    def fma_cycles(self) -> float:
        """Cycles per multiply-add of one element."""
        machine = self.machine
        wide = self.dtype is DType.FLOAT32
        rate = machine.fma_fp32_millielements_per_cycle if wide else machine.fma_fp16_millielements_per_cycle
        return 1000 / rate.value

    def words(self, elements: float) -> int:
        """Return the wavelets that `elements` numbers take."""
        return ceil(elements * self.dtype.item_bytes / WORD_BYTES)

    def sums(self, count: float) -> int:
        """Return the wavelets that `count` sums take."""
        return ceil(count * self.sum_bytes / WORD_BYTES)

    @property
    def launch(self) -> float:
        """Cycles until every element of a rectangle has started a kernel."""
        return self.constants.launch


def cost(call: Call, setting: Setting) -> Terms:
    """Return the cycles of one call by cause; raises KeyError for a kernel without a row."""
    if call.op == "batch_matmul":
        return _batch(call, setting)
    return TABLE[call.kernel](call, setting)


def _batch(call: Call, at: Setting) -> Terms:
    """Products of a batch, one after the other, for each has a right factor of its own; one launch starts them all."""
    count = int(str(dict(call.attrs).get("batch", 1)))
    single = TABLE[call.kernel](one_of_batch(call, ceil(call.shape[0] / count)), at)
    return replace(single.times(count), launch=single.launch * count - (count - 1) * at.launch)


def one_of_batch(call: Call, rows: int) -> Call:
    """Return the call of one product of a batch: the same tiles, but for its rows."""
    cuts = call.rect.width if call.kernel in SQUARE else 1
    cuts = call.rect.height if call.kernel is Kernel.STREAMED else cuts
    tile = (max(1, ceil(rows / cuts)), *call.tile[1:])
    return replace(call, op="matmul", shape=(rows, *call.shape[1:]), tile=tile)


def _summa(call: Call, at: Setting) -> Terms:
    """Broadcast both blocks of every step; the loop form of the vendor's examples was measured in fp32.

    Both blocks come down one ramp, a wavelet per cycle, each into memory by a vector operation of its own.
    """
    tile_m, tile_k, tile_n = call.tile
    steps, c = call.rect.width, at.constants
    blocks = at.words(tile_m * tile_k) + at.words(tile_k * tile_n)
    receive = 2 * at.machine.dsd_setup_cycles.value
    per_fma = c.loop_fma if at.dtype is DType.FLOAT32 else at.fma_cycles
    compute = tile_k * tile_n * (c.loop_element + per_fma * tile_m)
    launch = steps * c.step + at.launch
    return Terms(compute=steps * compute, memory=steps * receive, fabric=steps * blocks, launch=launch)


def _mesh(call: Call, at: Setting) -> Terms:
    """Rotate both factors; each step hides the shifts behind the arithmetic or waits for them (formula meshgemm)."""
    tile_m, tile_k, tile_n = call.tile
    steps, c, hop = call.rect.width, at.constants, at.machine.hop_cycles.value
    compute = tile_k * tile_n * (c.mesh_dispatch + tile_m * at.fma_cycles)
    longest = (
        2 if call.kernel is Kernel.MESH_GEMM else steps
    )  # Cannon's last element shifts all the way around
    shift = max(at.words(tile_m * tile_k), at.words(tile_k * tile_n)) + longest * hop
    wait = max(0.0, shift - compute)
    align = 0.0 if at.alone else steps / 2 * hop
    return Terms(steps * compute, 0.0, steps * wait + align, steps * c.step + at.launch)


def _gemv(call: Call, at: Setting) -> Terms:
    tile_m, tile_k, tile_n = call.tile
    vectors = tile_m * tile_k
    compute = vectors * (at.constants.gemv_dispatch + ceil(tile_n * at.fma_cycles))
    sums = at.sums(tile_m * tile_n)
    memory = 0.0 if at.alone else vectors * at.constants.realign
    return Terms(compute, memory, collectives.allreduce_line(sums, call.rect.height, at.machine), at.launch)


def _stationary(call: Call, at: Setting) -> Terms:
    tile_m, tile_k, tile_n = call.tile
    compute = tile_k * tile_n * (at.constants.mesh_dispatch + tile_m * at.fma_cycles)
    block = at.words(tile_m * tile_k)
    sums = at.sums(tile_m * tile_n)
    fabric = collectives.broadcast(block, call.rect.width, at.machine)
    fabric += collectives.chain(sums, call.rect.height, at.machine)
    memory = 0.0 if at.alone else tile_m * tile_k * at.constants.realign
    return Terms(compute, memory, fabric, at.launch)


def _streamed(call: Call, at: Setting) -> Terms:
    """Weights come in one by one; each starts a multiply-add over the tokens an element holds.

    The first column of them has a way from the edge, the last sums one along the row.
    """
    tile_m, tile_k, tile_n = call.tile
    setup = at.machine.dsd_setup_cycles.value
    compute = tile_k * tile_n * (setup + tile_m * at.fma_cycles)
    sums = at.sums(tile_n * tile_m)  # every link of a row carries all of them
    wait = max(0.0, sums - compute) if call.rect.width > 1 else 0.0
    first = collectives.broadcast(tile_k, call.rect.height + 1, at.machine)
    last = collectives.chain(at.sums(tile_m), call.rect.width, at.machine)
    return Terms(compute, 0.0, wait + first + last, at.launch)


def _vector(elements: float, ops: tuple[int, int], at: Setting) -> float:
    vectors, divisions = ops
    setup = at.machine.dsd_setup_cycles.value
    if at.dtype is DType.FLOAT32:
        return vectors * (setup + elements * at.fma_cycles) + divisions * DIVISION_CYCLES * elements
    return (vectors + divisions * NEWTON_OPS) * (setup + elements * at.fma_cycles)


def gate_ops(chosen: int) -> tuple[int, int]:
    """Return the operations per element of a gate: for each chosen one the largest, and its mark; a softmax of them."""
    vectors, divisions = ELEMENT_OPS["softmax"]
    return 2 * chosen + vectors, divisions


def _elementwise(call: Call, at: Setting) -> Terms:
    """Two operations need what lies in other elements first: the other feature of a pair, or the whole row."""
    rows, width = call.tile
    if call.op == "rope":
        fabric = moving.paired(call, at.words, at.machine)
        return Terms(compute=_vector(rows * width, ELEMENT_OPS[call.op], at), fabric=fabric)
    if call.op == "top_k_gate":
        ops = gate_ops(int(str(call.attr("k"))))
        fabric = moving.whole_rows(call, at.words, at.machine)
        return Terms(compute=_vector(rows * call.shape[1], ops, at), fabric=fabric)
    return Terms(compute=_vector(rows * width, ELEMENT_OPS.get(call.op, ONE_PASS), at))


def _reduce(call: Call, at: Setting) -> Terms:
    rows, width = call.tile
    ops, times = REDUCTIONS.get(call.op, (ONE_PASS, 1))
    fabric = times * collectives.allreduce_line(at.sums(rows), call.rect.width, at.machine)
    return Terms(_vector(rows * width, ops, at), 0.0, fabric, at.launch)


def _softmax(call: Call, at: Setting) -> Terms:
    rows, width = call.tile
    fabric = 2 * collectives.allreduce_line(at.sums(rows), call.rect.width, at.machine)
    return Terms(_vector(rows * width, ELEMENT_OPS[call.op], at), 0.0, fabric, at.launch)


def _norm(call: Call, at: Setting) -> Terms:
    rows, width = call.tile
    reductions = REDUCTIONS_OF_NORM[call.op]
    fabric = reductions * collectives.allreduce_line(at.sums(rows), call.rect.width, at.machine)
    compute = _vector(rows * width, ELEMENT_OPS[call.op], at) + rows * 2 * DIVISION_CYCLES
    return Terms(compute, 0.0, fabric, at.launch)


def _gather(call: Call, at: Setting) -> Terms:
    """All rows asked for go to every element of a column, each of which keeps its own; single numbers along a row.

    Updates go the same way, unless they lie everywhere, and are added where their rows lie, which is evenly.
    """
    rows, width, table, entry = call.shape
    tile_rows, columns = call.tile
    high = call.rect.height
    if call.op == "scatter_add":
        travel = traffic.rows_to_all(table, at.words(columns), high, at.machine)
        adds = _vector(columns, (ceil(table / high), 0), at)
        return Terms(adds, 0.0, travel if rows_are_cut(table, high) else 0.0, at.launch)
    kept = traffic.copy(at.words(tile_rows * columns), at.machine)
    if entry == 1 < width:
        travel = traffic.rows_to_all(rows * width, 1, call.rect.width, at.machine)
        return Terms(memory=kept, fabric=travel, launch=at.launch)
    travel = traffic.rows_to_all(rows, at.words(columns), high, at.machine)
    return Terms(memory=kept if rows_are_cut(rows, high) else 0.0, fabric=travel, launch=at.launch)


def _appended(call: Call, at: Setting) -> Terms:
    """Sequences of a batch are usually as long as one another: one row of elements writes what all of them append."""
    rows, columns = call.shape[0], call.tile[1]
    travel = 0.0
    if rows_are_cut(rows, call.rect.height):
        travel = traffic.rows_to_all(rows, at.words(columns), call.rect.height, at.machine)
    return Terms(memory=traffic.copy(at.words(rows * columns), at.machine), fabric=travel)


def _attention(call: Call, at: Setting) -> Terms:
    """Two products on the largest square, all heads side by side, and a softmax between them.

    A column holds whole heads or shares one; sums of the softmax are handed along the rows, tile after tile of the context.
    """
    batch, queries, context, heads, _, head_dim = call.shape
    side, c = min(call.rect.width, call.rect.height), at.constants
    held, span, features = heads_on(heads, head_dim, side)
    groups = ceil(heads / held)
    rows = ceil(batch * queries / side)
    tile = min(call.tile[1], context)
    length = ceil(ceil(context / tile) / side) * tile
    items = _sequences(batch * queries, queries, rows)
    each = held * features * length * (items * c.mesh_dispatch + rows * at.fma_cycles)
    steps = groups * span + ceil(context / length)
    compute = steps * each + _vector(rows * groups * held * length, ELEMENT_OPS["softmax"], at)
    sums = at.sums(rows * groups * held)
    fabric = 2 * (collectives.chain(sums, side, at.machine) + collectives.broadcast(sums, side, at.machine))
    return Terms(compute, 0.0, fabric, steps * c.step + 2 * at.launch)


@lru_cache(maxsize=256)
def _sequences(size: int, length: int, tile: int) -> int:
    """Return to how many sequences the rows of one tile belong at most."""
    firsts = range(0, size, tile)
    return max((min(first + tile, size) - 1) // length - first // length + 1 for first in firsts)


def _attention_cached(call: Call, at: Setting) -> Terms:
    """Scores over the cache, softmax, weighted values: two matrix-vector products and two more reductions.

    Columns that share a head sum its scores among themselves; each of them then has all scores of its context.
    """
    batch, _, context, heads, _, head_dim = call.shape
    width, height, c = call.rect.width, call.rect.height, at.constants
    held, span, features = heads_on(heads, head_dim, width)
    tile_c = ceil(context / height)
    vectors = 2 * batch * tile_c
    compute = vectors * (c.gemv_dispatch + ceil(held * features * at.fma_cycles))
    scores = batch * held * tile_c
    compute += _vector(scores, ELEMENT_OPS["softmax"], at)
    words = at.sums(scores)
    fabric = collectives.chain(words, span, at.machine) + collectives.broadcast(words, span, at.machine)
    rows = at.sums(batch * held)
    for words in (rows, rows, at.sums(batch * held * features)):
        fabric += collectives.allreduce_line(words, height, at.machine)
    memory = vectors * c.realign
    return Terms(compute, memory, fabric, 3 * at.launch)


def _experts(call: Call, at: Setting) -> Terms:
    """Three matrix-vector products; between them hidden numbers are activated and brought from columns to rows."""
    rows, width, hidden, _, chosen = call.shape
    grid_k, grid_n = call.rect.height, call.rect.width
    total = Terms()
    for k, n in ((width, hidden), (width, hidden), (hidden, width)):
        tile = (1, ceil(k / grid_k), ceil(n / grid_n))
        total += _gemv(_like(call, tile), at)
    own, needed, result = ceil(hidden / grid_n), ceil(hidden / grid_k), ceil(width / grid_n)
    activation = ELEMENT_OPS.get(str(dict(call.attrs).get("activation", "silu")), ONE_PASS)
    vectors = _vector(own, activation, at) + _vector(own, ONE_PASS, at) + _vector(result, GATED_SUM, at)
    moved = collectives.broadcast(at.sums(needed), grid_n, at.machine)
    total += Terms(compute=vectors, memory=_vector(needed, ONE_PASS, at), fabric=moved)
    return total.times(rows * chosen)


def _like(call: Call, tile: tuple[int, ...]) -> Call:
    return Call(
        call.index, Kernel.GEMV, "matmul", call.inputs, call.output, call.region, call.rect, call.shape, tile
    )


def _move(call: Call, at: Setting) -> Terms:
    return Terms(fabric=moving.moved(call, at.words, at.machine))


def _transpose(call: Call, at: Setting) -> Terms:
    return Terms(fabric=moving.turned(call, at.words, at.machine), launch=at.launch)


def _convolution(call: Call, at: Setting) -> Terms:
    return _stationary(call, at)


def _pool(call: Call, at: Setting) -> Terms:
    """One vector operation per place of a window; rows that two elements need come from the south."""
    columns, size = call.shape[2], isqrt(call.shape[3])
    stride = int(str(dict(call.attrs).get("stride", size)))
    cells, more = call.tile[0] * call.tile[1], max(0, size - stride)
    per_cell = at.constants.stencil_point if at.dtype is DType.FLOAT32 else at.fma_cycles
    compute = size**2 * (at.machine.dsd_setup_cycles.value + cells * per_cell)
    compute += _vector(cells, (0, 1), at) if call.op == "avg_pool2d" else 0.0
    pictures = ceil(call.shape[0] / call.rect.width)
    words = at.words(more * pictures * ((columns - 1) * stride + size))
    handed = collectives.chain(words, 2, at.machine) if more and call.rect.height > 1 else 0.0
    return Terms(compute=compute, fabric=handed, launch=at.launch)


def _stencil(call: Call, at: Setting) -> Terms:
    """Columns of nz cells per element; values of neighbours enter multiply-adds straight from the ramp.

    What remains is sending the own column to four sides, and a leapfrog update of three vector operations. On a grid
    smaller than the star no element has all neighbours.
    """
    if call.op != "stencil":
        return _pool(call, at)
    columns, depth = call.tile
    span = (call.shape[3] - 1) // AXES  # neighbours along one axis
    beyond = sum(max(0, span - (size - 1)) for size in call.shape[:2])
    cells, points = columns * depth, call.shape[3] - beyond
    per_point = at.constants.stencil_point if at.dtype is DType.FLOAT32 else at.fma_cycles
    arithmetic = cells * (points + UPDATE_OPS) * per_point + points * at.machine.dsd_setup_cycles.value
    sends = SIDES * at.words(cells) * at.machine.wavelet_millicycles.value / 1000
    return Terms(compute=arithmetic, fabric=sends, launch=at.launch)


UPDATE_OPS: Final = 3
SIDES: Final = 4
AXES: Final = 3


def _optimiser(call: Call, at: Setting) -> Terms:
    rows, width = call.tile
    return Terms(compute=_vector(rows * width, OPTIMISER_OPS.get(call.op, OPTIMISER_PASSES), at))


TABLE: Final[dict[Kernel, Callable[[Call, Setting], Terms]]] = {
    Kernel.SUMMA: _summa,
    Kernel.CANNON: _mesh,
    Kernel.MESH_GEMM: _mesh,
    Kernel.STATIONARY: _stationary,
    Kernel.GEMV: _gemv,
    Kernel.STREAMED: _streamed,
    Kernel.EXPERTS: _experts,
    Kernel.ELEMENTWISE: _elementwise,
    Kernel.REDUCE: _reduce,
    Kernel.SOFTMAX: _softmax,
    Kernel.NORM: _norm,
    Kernel.GATHER: _gather,
    Kernel.ATTENTION: _attention,
    Kernel.ATTENTION_CACHED: _attention_cached,
    Kernel.CACHE_APPEND: _appended,
    Kernel.CONVOLUTION: _convolution,
    Kernel.STENCIL: _stencil,
    Kernel.OPTIMISER: _optimiser,
    Kernel.TRANSPOSE: _transpose,
    Kernel.MOVE: _move,
}
