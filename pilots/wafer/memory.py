"""How much SRAM a program needs per element: weights and caches that stay, values that live, scratch of a call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from pilots.graph.ir import DType
from pilots.wafer.machine import Machine
from pilots.wafer.program import (
    ACCUMULATOR_BYTES,
    PRODUCTS,
    SQUARE,
    Call,
    Kernel,
    Mode,
    Program,
    Rect,
)

ATTENTIONS: Final = (Kernel.ATTENTION, Kernel.ATTENTION_CACHED)


def scratch_bytes(call: Call, dtype: DType) -> int:
    """Return the bytes one element needs for a call beside its inputs and its result: sums, queues, copies."""
    item = dtype.item_bytes
    if call.kernel is Kernel.STREAMED:
        return (
            2 * call.tile[0] * ACCUMULATOR_BYTES
        )  # the column that is summed, and the one that is passed on
    if call.kernel in PRODUCTS or call.kernel is Kernel.CONVOLUTION:
        tile_m, tile_k, tile_n = call.tile
        sums = tile_m * min(tile_n, _STREAM_COLUMNS) * ACCUMULATOR_BYTES
        moving = (tile_m * tile_k + tile_k * tile_n) * item if call.kernel in SQUARE else sums
        return sums + moving
    if call.kernel in ATTENTIONS:
        rows, context = call.tile[0], call.tile[1]
        return 2 * rows * min(context, _STREAM_COLUMNS) * ACCUMULATOR_BYTES
    return prod(call.tile[:2]) * item


_STREAM_COLUMNS: Final = 128  # sums of more columns leave the element while the next are computed


def passing_bytes(call: Call, dtype: DType, mode: Mode) -> int:
    """Return the bytes of a weight that comes in for this call alone; a STREAMED one never rests in an element."""
    held = (*PRODUCTS, Kernel.CONVOLUTION)
    if mode is Mode.RESIDENT or call.kernel not in held or call.kernel is Kernel.STREAMED:
        return 0
    return call.tile[1] * call.tile[2] * dtype.item_bytes


@dataclass(frozen=True, slots=True)
class Need:
    """What one call takes of an element while it runs: names it reads, its result, bytes of result and scratch."""

    inputs: tuple[str, ...]
    output: str
    output_bytes: int
    scratch_bytes: int


def need_of(call: Call, dtype: DType, mode: Mode) -> Need:
    """Return what a call takes."""
    scratch = scratch_bytes(call, dtype) + passing_bytes(call, dtype, mode)
    return Need(call.inputs, call.output, output_bytes(call, dtype), scratch)


def living_bytes(
    needs: Sequence[Need], value_bytes: Mapping[str, int], kept_bytes: Mapping[str, int] | None = None
) -> list[int]:
    """Return for each call the sum of living values and scratch while it runs, in bytes per element.

    value_bytes: bytes of every value some call computes; other names are inputs or stay and are counted elsewhere.
    kept_bytes: outputs of the program, spread evenly once nobody reads them any more.
    """
    kept = kept_bytes or {}
    last_use = {name: index for index, need in enumerate(needs) for name in need.inputs}
    living: dict[str, int] = {}
    total = 0
    found: list[int] = []
    for index, need in enumerate(needs):
        for name in (*need.inputs, need.output):
            if name in value_bytes and name not in living:
                living[name] = value_bytes[name]
                total += living[name]
        found.append(total + need.scratch_bytes)
        for name in (*need.inputs, need.output):
            if name in living and last_use.get(name, -1) <= index:
                total += kept.get(name, 0) - living.pop(name)
    return found


def spread_bytes(call: Call, rect: Rect, dtype: DType) -> int:
    """Return the bytes one element keeps of an output that is cut over the whole rectangle."""
    if call.kernel is Kernel.CACHE_APPEND:
        return 0  # written in place
    width = call.shape[2] if call.kernel in PRODUCTS else call.shape[1]
    return -(-call.shape[0] // rect.height) * -(-width // rect.width) * dtype.item_bytes


def output_bytes(call: Call, dtype: DType) -> int:
    """Return the bytes one element holds of the result of a call."""
    if call.kernel is Kernel.STREAMED:
        return call.tile[0] * -(-call.tile[2] // call.rect.width) * dtype.item_bytes
    if call.kernel in PRODUCTS or call.kernel is Kernel.CONVOLUTION:
        return call.tile[0] * call.tile[2] * dtype.item_bytes
    if call.kernel in ATTENTIONS:
        return call.tile[0] * call.tile[2] * dtype.item_bytes
    if call.kernel is Kernel.CACHE_APPEND:
        return 0  # written in place
    return prod(call.tile[:2]) * dtype.item_bytes


def region_bytes(program: Program, machine: Machine) -> tuple[int, ...]:
    """Return the SRAM high-water mark of one element of each region: code, stack, residents, values, scratch."""
    fixed = machine.code_bytes_per_pe.value + machine.stack_bytes_per_pe.value
    types = dict(program.types)
    values = {
        call.output: output_bytes(call, types.get(call.output, program.dtype)) for call in program.calls
    }
    calls: defaultdict[int, list[Call]] = defaultdict(list)
    resident: defaultdict[int, int] = defaultdict(int)
    for call in program.calls:
        calls[call.region].append(call)
    for item in program.residents:
        resident[item.region] += item.bytes_per_pe
    regions = range(len(program.regions))
    return tuple(fixed + resident[index] + _most(calls[index], values, program) for index in regions)


def _most(calls: list[Call], values: Mapping[str, int], program: Program) -> int:
    outputs, types = set(program.outputs), dict(program.types)
    kept = {
        call.output: spread_bytes(call, call.rect, types.get(call.output, program.dtype))
        for call in calls
        if call.output in outputs
    }
    needs = [need_of(call, types.get(call.output, program.dtype), program.mode) for call in calls]
    return max(living_bytes(needs, values, kept), default=0)


def resident_bytes(program: Program, machine: Machine) -> int:
    """Return the SRAM high-water mark summed over all used elements, in bytes."""
    pairs = zip(program.regions, region_bytes(program, machine), strict=True)
    return sum(region.rect.pes * size for region, size in pairs)
