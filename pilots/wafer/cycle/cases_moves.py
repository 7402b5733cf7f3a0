"""Cases of kernels that move data or look it up, and of operations on each number: moves, tables, caches, optimisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pilots.graph.ir import Attrs, DType
from pilots.graph.rng import uniform
from pilots.wafer.cycle.case import NONE, Case
from pilots.wafer.handlers.base import Array
from pilots.wafer.numerics import narrowed

SPREAD: Final = "spread"
MOVES_CAUSES_DE: Final[dict[str, str]] = {
    SPREAD: (
        "Wohin eine Sequenz schreibt, entscheiden die Daten. Die Formel nimmt den üblichen Fall, gleich lange Sequenzen; hier "
        "schreibt jedes Element nur die eigene."
    ),
}
_F32, _F16, _BF16 = DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16
BINARY: Final = ("sub", "mul", "div", "maximum", "minimum", "greater", "less", "equal")
CAPACITY: Final = 32  # of the caches
Inputs = Callable[[Case], tuple[Array, ...]]


def _floats(case: Case, index: int, *shape: int) -> Array:
    return narrowed(uniform(2, f"{index}", shape, 2.0), case.dtype)


def _ids(size: int, count: int) -> Array:
    """Return indices that jump over a table and are spread over it."""
    return (np.arange(count, dtype=np.int32) * (3 * size // 8 | 1) + 3) % size


def _alike(count: int) -> Inputs:
    return lambda case: tuple(_floats(case, index, *case.shape[:2]) for index in range(count))


def _before(case: Case) -> tuple[Array, ...]:
    return (_floats(case, 0, *case.shape[2:]),)


def _halves(case: Case) -> tuple[Array, ...]:
    return tuple(_floats(case, index, *case.shape[2:]) for index in range(2))


def _turned(case: Case) -> tuple[Array, ...]:
    return (_floats(case, 0, *case.shape[::-1]),)


def _looked_up(case: Case) -> tuple[Array, ...]:
    rows, width, entries, _ = case.shape
    return (_floats(case, 0, entries, width), _ids(entries, rows))


def _picked(case: Case) -> tuple[Array, ...]:
    _, width, entries, _ = case.shape
    return (_floats(case, 0, entries), _ids(entries, width))


def _updated(case: Case) -> tuple[Array, ...]:
    rows, width, count, _ = case.shape
    return (_floats(case, 0, rows, width), _ids(rows, count), _floats(case, 1, count, width))


def _cached(case: Case) -> tuple[Array, ...]:
    batch, width = case.shape
    same = case.cause != SPREAD
    position = np.full(batch, 5, dtype=np.int32) if same else _ids(CAPACITY, batch)
    return (_floats(case, 0, batch, CAPACITY, width), _floats(case, 1, batch, width), position)


def _chosen(case: Case) -> tuple[Array, ...]:
    condition, first, second = (_floats(case, index, *case.shape) for index in range(3))
    return (condition > 0, first, second)


def _positioned(case: Case) -> tuple[Array, ...]:
    return (_floats(case, 0, *case.shape), np.arange(case.shape[0], dtype=np.int32))


def _aimed(case: Case) -> tuple[Array, ...]:
    return (_floats(case, 0, *case.shape), _ids(case.shape[1], case.shape[0]))


def _numbered(case: Case) -> tuple[Array, ...]:
    return (_ids(case.shape[1], case.shape[0]),)


def _moments(case: Case) -> tuple[Array, ...]:
    parameter, first, second = (_floats(case, index, *case.shape) for index in range(3))
    return (parameter, first, np.abs(second), np.array([3], dtype=np.int32))


# (kernel, operation) -> seeded inputs of a case.
MOVES_INPUTS: Final[dict[tuple[str, str], Inputs]] = {
    ("MOVE", "reshape"): _before,
    ("MOVE", "slice"): _before,
    ("MOVE", "concat"): _halves,
    ("MOVE", "pad"): _before,
    ("MOVE", "broadcast_to"): _before,
    ("TRANSPOSE", "transpose"): _turned,
    ("GATHER", "embedding"): _looked_up,
    ("GATHER", "gather"): _picked,
    ("GATHER", "scatter_add"): _updated,
    ("CACHE_APPEND", "cache_append"): _cached,
    ("ELEMENTWISE", "where"): _chosen,
    **{("ELEMENTWISE", op): _alike(2) for op in BINARY},
    ("ELEMENTWISE", "rope"): _positioned,
    ("ELEMENTWISE", "one_hot"): _numbered,
    ("REDUCE", "cross_entropy"): _aimed,
    ("OPTIMISER", "sgd_update"): _alike(2),
    ("OPTIMISER", "adam_m"): _alike(2),
    ("OPTIMISER", "adam_v"): _alike(2),
    ("OPTIMISER", "adamw_update"): _moments,
}
_ADAM: Final[Attrs] = (
    ("beta1", "0.9"),
    ("beta2", "0.999"),
    ("epsilon", "1e-8"),
    ("rate", "0.001"),
    ("weight_decay", "0.01"),
)
# operation -> the rest of a shape for rows and width of a result, as the attributes below need it.
MOVES_REST: Final[dict[str, Callable[[int, int], tuple[int, int]]]] = {
    "reshape": lambda rows, width: (rows // 2, 2 * width),
    "slice": lambda rows, width: (rows, 16 + width),
    "concat": lambda rows, width: (rows, width // 2),
    "pad": lambda rows, width: (rows - 1, width - 2),
    "broadcast_to": lambda rows, _: (rows, 1),
    "gather": lambda _, width: (width, 1),
    "embedding": lambda rows, width: (rows, width),
    "scatter_add": lambda rows, width: (rows // 2, width),
}
# operation -> attributes for a shape that its inputs above fit to.
MOVES_ATTRS: Final[dict[str, Callable[[tuple[int, ...]], Attrs]]] = {
    "reshape": lambda shape: (("shape", shape[:2]),),
    "broadcast_to": lambda shape: (("shape", shape[:2]),),
    "slice": lambda shape: (("axis", 1), ("start", 16), ("stop", 16 + shape[1])),
    "concat": lambda _: (("axis", 1),),
    "pad": lambda _: (("after", (0, 1)), ("before", (1, 1))),
    "cast": lambda _: (("dtype", "int32"),),
    "rope": lambda shape: (("head_dim", shape[1]), ("heads", 1), ("theta", 10_000)),
    "one_hot": lambda shape: (("depth", shape[1]), ("dtype", "float32")),
    "top_k_gate": lambda _: (("k", 2),),
    **dict.fromkeys(("sgd_update", "adam_m", "adam_v", "adamw_update"), lambda _: _ADAM),
}


def _case(
    name: str, shape: tuple[int, ...], grid: tuple[int, int], dtype: DType = _F32, cause: str = NONE
) -> Case:
    kernel, op = name.split()
    attrs = MOVES_ATTRS[op](shape) if op in MOVES_ATTRS else ()
    return Case(kernel, op, shape, grid, dtype, attrs=attrs, cause=cause)


_HEADS: Final[Attrs] = (("head_dim", 16), ("heads", 8), ("theta", 10_000))
MOVES: Final[tuple[Case, ...]] = (
    _case("MOVE reshape", (32, 64, 16, 128), (1, 1)),
    _case("MOVE reshape", (32, 64, 16, 128), (8, 8)),
    _case("MOVE slice", (32, 48, 32, 64), (8, 8), _F16),
    _case("MOVE concat", (32, 64, 32, 32), (8, 8), _BF16),
    _case("MOVE pad", (33, 66, 32, 64), (8, 8)),
    _case("MOVE broadcast_to", (32, 64, 32, 1), (8, 8)),
    _case("MOVE slice", (64, 96, 64, 112), (16, 16)),
    _case("MOVE concat", (64, 64, 64, 32), (16, 16)),
    _case("MOVE reshape", (512, 32, 32, 512), (16, 16)),
    _case("TRANSPOSE transpose", (64, 64), (64, 1)),
    _case("TRANSPOSE transpose", (64, 64), (8, 8)),
    _case("TRANSPOSE transpose", (128, 128), (16, 16), _F16),
    _case("GATHER embedding", (4, 512, 64, 512), (8, 8)),
    _case("GATHER embedding", (8, 1024, 64, 1024), (8, 16), _F16),
    _case("GATHER embedding", (64, 64, 64, 64), (8, 8)),
    _case("GATHER gather", (1, 64, 64, 1), (8, 1)),
    _case("GATHER scatter_add", (64, 64, 32, 64), (8, 8), _BF16),
    _case("CACHE_APPEND cache_append", (4, 256), (8, 8)),
    _case("CACHE_APPEND cache_append", (4, 256), (8, 8), _F16, SPREAD),
    _case("CACHE_APPEND cache_append", (16, 64), (8, 8)),
    _case("ELEMENTWISE where", (32, 64), (8, 8)),
    _case("ELEMENTWISE greater", (32, 64), (8, 8), _F16),
    _case("ELEMENTWISE cast", (32, 64), (8, 8)),
    Case("ELEMENTWISE", "rope", (32, 128), (8, 8), _BF16, attrs=_HEADS),
    _case("ELEMENTWISE rope", (32, 128), (8, 8)),
    _case("ELEMENTWISE rope", (1, 512), (64, 1), _F16),
    _case("ELEMENTWISE one_hot", (32, 64), (8, 8)),
    _case("ELEMENTWISE top_k_gate", (32, 16), (8, 8)),
    _case("ELEMENTWISE top_k_gate", (4, 128), (64, 2), _F16),
    _case("REDUCE argmax", (16, 128), (8, 4)),
    _case("REDUCE cross_entropy", (16, 128), (8, 4), _F16),
    _case("OPTIMISER sgd_update", (32, 64), (8, 8)),
    _case("OPTIMISER adam_m", (32, 64), (8, 8), _BF16),
    _case("OPTIMISER adam_v", (32, 64), (8, 8), _F16),
    _case("OPTIMISER adamw_update", (32, 64), (8, 8)),
)
