"""Cases of collectives and of kernels that are one product, one reduction or one stencil."""

from __future__ import annotations

from typing import Final

from pilots.graph.ir import Attrs, DType
from pilots.wafer.cycle.case import LAB, NONE, Case
from pilots.wafer.machine import WSE_2

LEVELS: Final = "levels"
BORDER: Final = "border"
RAMP: Final = "ramp"
BASIC_CAUSES_DE: Final[dict[str, str]] = {
    LEVELS: "Die veröffentlichte Formel ist eine obere Schranke: Ebenen des Baums überlappen sich.",
    BORDER: (
        "Der Stern ist größer als das Gitter: Manche Spalten kommen später, als ein Element nahe am Rand sie braucht. Gemessen "
        "sind nur Gitter, die größer sind als ihr Stern."
    ),
    RAMP: (
        "Alle Spalten der Nachbarn kommen durch eine Rampe und halten in 16 Bit länger auf als das Rechnen; die Formel "
        "zählt nur die eigene Spalte. Messungen gibt es nur in fp32."
    ),
}
_PLAIN: Final = ((2, 1, NONE), (8, 16, NONE), (64, 64, NONE), (700, 32, NONE))
_STARS: Final = ((2, 1, NONE), (8, 16, NONE), (64, 64, NONE))
_TREES: Final = ((8, 1, NONE), (64, 64, LEVELS), (512, 256, NONE))
_SQUARES: Final = ((64, 64, NONE), (256, 8, NONE), (729, 32, NONE))  # groups as large as their number
_MEETING: Final = ((8, 1, NONE), (64, 64, NONE), (512, 1, NONE), (512, 256, NONE), (750, 8, NONE))
_EPSILON: Final = (("epsilon", "1e-5"),)
_F16, _BF16 = DType.FLOAT16, DType.BFLOAT16


def _lines(name: str, sizes: tuple[tuple[int, int, str], ...]) -> tuple[Case, ...]:
    return tuple(
        Case(name, "", (words,), (length, 1), machine=LAB if length <= 64 else WSE_2, cause=cause)
        for length, words, cause in sizes
    )


def _products() -> tuple[Case, ...]:
    moving = tuple(
        Case(kernel, "matmul", shape, grid, dtype)
        for kernel in ("STATIONARY", "SUMMA", "CANNON", "MESH_GEMM")
        for shape, grid, dtype in (
            ((16, 32, 32), (4, 4), DType.FLOAT32),
            ((64, 64, 64), (8, 8), _F16),
            ((64, 128, 128), (16, 16), _BF16),
        )
    )
    large = tuple(
        Case(kernel, "matmul", (256, 256, 256), (64, 64), _F16, WSE_2)
        for kernel in ("STATIONARY", "MESH_GEMM")
    )
    vector = (
        Case("GEMV", "matmul", (1, 256, 256), (4, 4)),
        Case("GEMV", "matmul", (1, 128, 128), (8, 8), _F16),
        Case("GEMV", "matmul", (1, 512, 512), (64, 64)),
        Case("GEMV", "matmul", (8, 64, 64), (8, 8), _F16),
        Case("GEMV", "matmul", (1, 1988, 64), (8, 994), _F16, WSE_2),  # as high as the wafer
    )
    return moving + large + vector


def _rows() -> tuple[Case, ...]:
    return (
        Case("ELEMENTWISE", "gelu", (32, 64), (8, 8)),
        Case("ELEMENTWISE", "add", (32, 64), (8, 8), _F16),
        Case("REDUCE", "reduce_sum", (4, 256), (4, 4)),
        Case("REDUCE", "reduce_sum", (32, 512), (32, 4)),
        Case("REDUCE", "reduce_mean", (4, 1500), (750, 2), _F16, WSE_2),  # as wide as the wafer
        Case("SOFTMAX", "softmax", (16, 128), (4, 4)),
        Case("SOFTMAX", "softmax", (32, 512), (32, 8)),
        Case("NORM", "layer_norm", (16, 128), (4, 4), attrs=_EPSILON),
        Case("NORM", "rms_norm", (16, 128), (4, 4), attrs=_EPSILON),
        Case("NORM", "rms_norm", (32, 512), (32, 8), attrs=_EPSILON),
    )


def star(points: int) -> Attrs:
    """Return the attributes of a stencil with so many points."""
    factors = " ".join(["-6", *(["1.5"] * (points - 1))])
    return (("coefficients", factors), ("points", points))


def _stencils() -> tuple[Case, ...]:
    return tuple(
        Case(
            "STENCIL",
            "stencil",
            (side, side, depth, points),
            (side, side),
            dtype,
            attrs=star(points),
            cause=cause,
        )
        for side, depth, points, dtype, cause in (
            (8, 32, 7, DType.FLOAT32, NONE),
            (8, 200, 7, _F16, NONE),
            (16, 32, 25, DType.FLOAT32, NONE),
            (12, 200, 25, DType.FLOAT32, NONE),
            (12, 200, 25, _F16, RAMP),
            (6, 64, 25, DType.FLOAT32, BORDER),
            (6, 64, 13, DType.FLOAT32, NONE),
        )
    )


BASIC: Final[tuple[Case, ...]] = (
    *_lines("broadcast", _PLAIN),
    *_lines("chain", _PLAIN),
    *_lines("star", _STARS),
    *_lines("tree", _TREES),
    *_lines("two-phase", _SQUARES),
    *_lines("two-level", _MEETING),
    *_lines("allreduce", _MEETING),
    *_products(),
    *_rows(),
    *_stencils(),
)
