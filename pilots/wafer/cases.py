"""Cycles of a case: the same cost functions as a compiled program, put together for what was published.

A kernel measured on its own becomes one call; a model becomes a compiled program; what has no program is a formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, log2
from typing import Any, Final

from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType
from pilots.graph.model_config import ModelConfig
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.costs import collectives
from pilots.wafer.costs.constants import PRIOR, Constants
from pilots.wafer.costs.kernels import SIDES, Setting, cost
from pilots.wafer.costs.terms import Terms
from pilots.wafer.errors import WaferError
from pilots.wafer.machine import MACHINES, Machine
from pilots.wafer.predict import program_terms
from pilots.wafer.program import ACCUMULATOR_BYTES, SQUARE, WORD_BYTES, Call, Kernel, Mode, Program, Rect
from pilots.wafer.tiling import tile_of
from pilots.wafer.workloads import (
    Case,
    Collective,
    Decode,
    EndToEnd,
    Fft,
    Gemm,
    Gemv,
    LocalProduct,
    Prefill,
    Stencil,
    Training,
)

BACKWARD: Final = 2  # a backward pass computes two products for each one of the forward pass
BUTTERFLY_OPS: Final = 10  # one complex multiplication and two complex additions
EXCHANGES: Final = 4  # along rows and along columns, and back, so that the result lies where the input lay
DECODE_KERNELS: Final = (Kernel.GEMV, Kernel.STATIONARY, Kernel.STREAMED)
PREFILL_KERNELS: Final = (Kernel.MESH_GEMM, Kernel.GEMV, Kernel.STREAMED)


class CannotPredict(WaferError):
    """A case lacks something the model needs; `message_de` says what."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles of a case by cause. grid: side of the region that was used."""

    terms: Terms
    grid: int

    @property
    def cycles(self) -> float:
        """All cycles."""
        return self.terms.cycles


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a case runs: machine, number of systems, constants."""

    machine: Machine
    systems: int
    constants: Constants

    def setting(self, dtype: DType, mode: Mode = Mode.RESIDENT, *, alone: bool = False) -> Setting:
        """Return what the cost functions need.

        Sums of the open research kernels travel in the element type (formula meshgemv); nobody published those of streamed
        weights, so they count as ours.
        """
        width = dtype.item_bytes if mode is Mode.RESIDENT else ACCUMULATOR_BYTES
        return Setting(self.machine, dtype, self.constants, mode, alone, sum_bytes=width)

    def largest_side(self, size: int) -> int:
        """Return the largest power of two that fits the machine and the matrix, as published runs choose it."""
        limit = min(self.machine.width_pes.value, self.machine.height_pes.value, max(1, size))
        return 1 << (limit.bit_length() - 1)

    def alone(self, kernel: Kernel, shape: tuple[int, ...], side: int, dtype: DType) -> Estimate:
        """Return the cost of one kernel on a square, timed inside the elements."""
        rect = Rect(0, 0, side, side)
        call = Call(0, kernel, "matmul", (), "", 0, rect, shape, tile_of(kernel, shape, rect))
        return Estimate(cost(call, self.setting(dtype, alone=True)), side)


def predict_cycles(case: Case, constants: Constants) -> Estimate:
    """Return the cycles of a case; raises CannotPredict."""
    machine = MACHINES.get(case.machine_id)
    if machine is None:
        raise _cannot(f"Für die Maschine {case.machine_id} gibt es keine Beschreibung.")
    handler = HANDLERS.get(type(case.workload))
    if handler is None:
        raise _cannot("Für diese Art von Workload gibt es kein Modell.")
    return handler(case.workload, Bench(machine, case.systems, constants))


def _cannot(sentence: str) -> CannotPredict:
    return CannotPredict(sentence, message_de=sentence)


def _gemm(work: Gemm, at: Bench) -> Estimate:
    if work.kernel not in SQUARE:
        raise _cannot(f"Für das Verfahren {work.kernel} gibt es kein Modell.")
    side = work.grid or at.largest_side(max(work.m, work.k, work.n))
    return at.alone(Kernel(work.kernel), (work.m, work.k, work.n), side, work.dtype)


def _gemv(work: Gemv, at: Bench) -> Estimate:
    side = work.grid or at.largest_side(max(work.k, work.n))
    return at.alone(Kernel.GEMV, (1, work.k, work.n), side, work.dtype)


def _local(work: LocalProduct, at: Bench) -> Estimate:
    c = at.constants
    if work.style == "MAP":
        columns = work.k * (c.map_column + work.n * work.m)
        return Estimate(Terms(compute=work.repeats * columns, launch=work.repeats * c.map_call), 1)
    if work.style != "LOOP":
        raise _cannot(f"Für das Verfahren {work.style} gibt es kein Modell.")
    elements = work.k * work.n * (c.loop_element + c.loop_fma * work.m)
    return Estimate(Terms(compute=work.repeats * elements), 1)


@dataclass(frozen=True, slots=True)
class _Model:
    """A decoder to compile: phase, sequences, tokens per sequence, side of the region (0: choice), mode."""

    config: ModelConfig
    phase: str
    batch: int
    context: int
    grid: int = 0
    mode: Mode = Mode.RESIDENT


@lru_cache(maxsize=512)
def compiled(model: _Model, machine_id: str, systems: int) -> Program:
    """Return the program of a decoder in fp16, whether or not all its layers fit: published runs scaled them."""
    # What was timed ran, whatever context the configuration permits.
    config = replace(model.config, max_context=max(model.config.max_context, model.context))
    graph = decoder_graph(
        config, phase=model.phase, batch=model.batch, context=model.context, dtype=DType.FLOAT16
    )
    request = Request(
        batch=model.batch,
        mode=model.mode,
        systems=systems,
        grid=model.grid,
        capacity=not model.grid and model.mode is Mode.RESIDENT,
        kernels=DECODE_KERNELS if model.phase == "decode" else PREFILL_KERNELS,
    )
    return compile_graph(
        graph, MACHINES[machine_id], request, constants=PRIOR
    )  # nothing fitted decides a layout


def _model(model: _Model, at: Bench) -> Estimate:
    program = compiled(model, at.machine.id, at.systems)
    terms = program_terms(program, at.setting(program.dtype, model.mode))
    return Estimate(terms, program.regions[0].rect.width)


def _decode(work: Decode, at: Bench) -> Estimate:
    return _model(_Model(work.config, "decode", work.batch, work.context, work.grid), at)


def _prefill(work: Prefill, at: Bench) -> Estimate:
    return _model(_Model(work.config, "prefill", work.batch, work.sequence, work.grid), at)


def _end_to_end(work: EndToEnd, at: Bench) -> Estimate:
    """Prompt, then one token after the other; the context in the middle of the answer stands for all of them."""
    first = _model(_Model(work.config, "prefill", 1, work.prompt, work.prefill_grid), at)
    context = work.prompt + work.generated // 2
    token = _model(_Model(work.config, "decode", 1, context, work.decode_grid), at)
    return Estimate(first.terms + token.terms.times(work.generated), token.grid)


def _training(work: Training, at: Bench) -> Estimate:
    """Forward and backward passes in WEIGHT_STREAMING; several systems share the batch.

    Sequences whose activations do not fit at once follow one another in the largest parts that do.
    """
    share = ceil(work.batch / at.systems)
    alone = Bench(at.machine, 1, at.constants)
    for part in sorted(
        {ceil(share / 2**halvings) for halvings in range(share.bit_length() + 1)}, reverse=True
    ):
        model = _Model(work.config, "prefill", part, work.sequence, 0, Mode.WEIGHT_STREAMING)
        try:
            forward = _model(model, alone)
        except WaferError:
            continue
        passes = ceil(share / part) * (1 if work.forward_only else 1 + BACKWARD)
        return Estimate(forward.terms.times(passes), forward.grid)
    raise _cannot("Schon eine einzige Folge ist für die Maschine zu lang.")


def _collective(work: Collective, at: Bench) -> Estimate:
    lines = [size for size in (work.width, work.height) if size > 1] or [1]
    handler = COLLECTIVES.get(work.kind)
    if handler is None:
        raise _cannot(f"Die kollektive Operation {work.kind} ist nicht bekannt.")
    return Estimate(Terms(fabric=handler(work, lines, at.machine)), lines[0])


def _broadcast(work: Collective, lines: list[int], machine: Machine) -> float:
    if len(lines) == 1:
        return collectives.broadcast(work.words, lines[0], machine)
    return collectives.broadcast_2d(work.words, work.width, work.height, machine)


def _all_to_all(work: Collective, lines: list[int], machine: Machine) -> float:
    return sum(collectives.all_to_all(work.words / pes, pes) for pes in lines)


def _reduce(work: Collective, lines: list[int], machine: Machine) -> float:
    if work.algorithm == "snake":
        return collectives.chain(work.words, work.width * work.height, machine)
    try:
        return sum(collectives.reduce_line(work.algorithm, work.words, pes, machine) for pes in lines)
    except KeyError as error:
        raise _cannot(f"Das Verfahren {work.algorithm} ist nicht bekannt.") from error


def _allreduce(work: Collective, lines: list[int], machine: Machine) -> float:
    if work.algorithm == "ring":
        return collectives.ring(work.words, lines[0], machine)
    return _reduce(work, lines, machine) + _broadcast(work, lines, machine)


COLLECTIVES: Final[dict[str, Callable[[Collective, list[int], Machine], float]]] = {
    "broadcast": _broadcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "all_to_all": _all_to_all,
}


def _fft(work: Fft, at: Bench) -> Estimate:
    """Three transforms of n lines of n numbers, and between them exchanges along rows and along columns."""
    butterflies = work.n / 2 * log2(work.n)
    compute = 3 * butterflies * BUTTERFLY_OPS * at.constants.stencil_point
    exchanges = EXCHANGES * collectives.all_to_all(2, work.n)  # a complex number is two wavelets
    return Estimate(Terms(compute=compute, fabric=exchanges), work.n)


def _stencil(work: Stencil, at: Bench) -> Estimate:
    handler = STENCILS.get(work.method)
    if handler is None:
        raise _cannot(f"Für das Verfahren {work.method} gibt es kein Modell.")
    return Estimate(handler(work, at), work.nx)


def _explicit(work: Stencil, at: Bench) -> Terms:
    """One explicit step: every point of the stencil and the update, halos from four sides."""
    rect = Rect(0, 0, max(1, work.nx), max(1, work.ny))
    call = Call(
        0,
        Kernel.STENCIL,
        "stencil",
        (),
        "",
        0,
        rect,
        (rect.width, rect.height, work.nz, work.points),
        (1, work.nz),
    )
    return cost(call, at.setting(DType.FLOAT32, alone=True))


def _bicgstab(work: Stencil, at: Bench) -> Terms:
    """One iteration, put together by hand and fitted to nothing: products, inner products and updates as the method
    has them; all lanes in fp16, inner products at half that rate with sums in fp32.
    """
    lane = 2 / at.machine.fp16_flops_per_cycle_per_pe.value
    halo = SIDES * DType.FLOAT16.item_bytes / WORD_BYTES
    product = 2 * (work.points - 1) * lane + halo  # a multiplication and an addition for every neighbour
    vectors = PRODUCTS_OF_BICGSTAB * product + (2 * INNER_PRODUCTS + UPDATES) * lane
    # Sums meet in the middle of the mesh and travel back as far.
    half = collectives.broadcast_2d(1, ceil(work.nx / 2), ceil(work.ny / 2), at.machine)
    return Terms(compute=work.nz * vectors, fabric=INNER_PRODUCTS * 2 * half)


PRODUCTS_OF_BICGSTAB: Final = 2  # van der Vorst 1992, per iteration
INNER_PRODUCTS: Final = 4
UPDATES: Final = 6


STENCILS: Final[dict[str, Callable[[Stencil, Bench], Terms]]] = {
    "JACOBI": _explicit,
    "WAVE": _explicit,
    "BICGSTAB": _bicgstab,
}
HANDLERS: Final[dict[type, Callable[[Any, Bench], Estimate]]] = {
    Gemm: _gemm,
    LocalProduct: _local,
    Gemv: _gemv,
    Collective: _collective,
    Stencil: _stencil,
    Fft: _fft,
    Decode: _decode,
    Prefill: _prefill,
    EndToEnd: _end_to_end,
    Training: _training,
}
