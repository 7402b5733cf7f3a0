"""Entries of matrix products: SUMMA, Cannon, MeshGEMM, matrix times vector, and products inside one element."""

from __future__ import annotations

import re
from typing import Final

from pilots.graph.ir import DType
from pilots.wafer.reading import gaps
from pilots.wafer.reading.inputs import Inputs, NotReadable, rectangle, size
from pilots.wafer.reading.systems import Setting, is_waferllm
from pilots.wafer.workloads import Gemm, Gemv, LocalProduct

MAX_SIDE: Final = 2**24
_SIZE: Final = r"(\d+\s*[kKmM]?)"
_PAIR: Final = re.compile(
    rf"\[\s*{_SIZE}\s*[,x×]\s*{_SIZE}\s*\]\s*[x×*@]\s*\[\s*{_SIZE}\s*[,x×]\s*{_SIZE}\s*\]"
)
_TRIPLE: Final = re.compile(rf"(?<![\w^]){_SIZE}\s*[x×]\s*{_SIZE}\s*[x×]\s*{_SIZE}(?![\w^])")
_SINGLE: Final = re.compile(r"(?<![\w.,\[^=])(\d+\s*[kK]|\d{3,5})(?![\w.,\]^]|\s*[x×]\s*\d)")
_ON_GRID: Final = re.compile(
    r"(?:\d+\s*[x×]\s*\d+|\d+\^2)\s*(?:PEs?|grid|cores)|\b(?:on|at)\s+(?:\d+\s*[x×]\s*\d+|\d+\^2)",
    re.IGNORECASE,
)
_KERNELS: Final = (
    ("meshgemm", "MESH_GEMM"),
    ("cannon", "CANNON"),
    ("summa", "SUMMA"),
    ("collectives", "SUMMA"),
)
_DTYPES: Final = (
    (re.compile(r"\b(bf16|bfloat16)\b", re.IGNORECASE), DType.BFLOAT16),
    (re.compile(r"\b(f16|fp16|float16|half)\b", re.IGNORECASE), DType.FLOAT16),
    (re.compile(r"\b(f32|fp32|float32)\b", re.IGNORECASE), DType.FLOAT32),
)


def gemm(inputs: Inputs, filled: list[str], where: Setting) -> Gemm | LocalProduct:
    """Return the product of an entry; sizes as M, K, N, as P and tile, as [a,b]x[b,c], or as one side."""
    text = inputs.text.casefold()
    if re.search(r"\blocal\b", text):
        return _local_share(inputs, filled)
    if re.search(r"1\s?-?pe\b|single|\bnaive\b", text):
        raise NotReadable("Rein skalare Schleifen auf einem Element: dafür gibt es keinen Kernel.")
    kernel = next((kernel for word, kernel in _KERNELS if word in text), "")
    if not kernel:
        raise NotReadable(
            "Das Verfahren des Matrixprodukts ist nicht angegeben (SUMMA, Cannon oder MeshGEMM)."
        )
    grid = _square(inputs, filled)
    m, k, n = _sides(inputs, grid)
    return Gemm(kernel, m, k, n, grid, dtype(inputs, filled))


def gemv(inputs: Inputs, filled: list[str], where: Setting) -> Gemv | LocalProduct:
    """Return the matrix-vector product of an entry."""
    if "matvec" in inputs.text.casefold():
        return _matvec(inputs, filled)
    pair = _pair(inputs.workload)
    if pair is None:
        k, n = inputs.number("K"), inputs.number("N")
        if k is None or n is None:
            k, n = _matrix(inputs.workload)
    else:
        (_, k), (_, n) = pair
    return Gemv(_side(k), _side(n), _square(inputs, filled), dtype(inputs, filled))


def dtype(inputs: Inputs, filled: list[str]) -> DType:
    """Return the element type an entry names, else the usual one of its software."""
    named = f"{inputs.word('dtype', 'precision')} {inputs.workload}"
    for pattern, found in _DTYPES:
        if pattern.search(named):
            return found
    filled.append("dtype")
    return gaps.WAFERLLM_DTYPE if is_waferllm(inputs) else gaps.SDK_DTYPE


def _local_share(inputs: Inputs, filled: list[str]) -> LocalProduct:
    m, k, n = (_side(inputs.number(name)) for name in "MKN")
    width, height = _side(inputs.number("width")), _side(inputs.number("height"))
    return LocalProduct("LOOP", m, -(-k // width), -(-n // height), 1, dtype(inputs, filled))


def _matvec(inputs: Inputs, filled: list[str]) -> LocalProduct:
    columns = inputs.number("N")
    if columns is None:
        columns = (rectangle(inputs.workload) or (None,))[0]
    rows = inputs.number("padded") or inputs.number("M") or columns
    style = "MAP" if "@map" in inputs.text else "LOOP"
    repeats = inputs.number("iters") or 1
    return LocalProduct(style, _side(rows), _side(columns), 1, _side(repeats), dtype(inputs, filled))


def _square(inputs: Inputs, filled: list[str]) -> int:
    """Return the side of the square grid, 0 if the compiler is to choose."""
    on_grid = _ON_GRID.search(inputs.workload)
    found = rectangle(inputs.word("P", "cores", "grid", "PEs")) or rectangle(on_grid[0] if on_grid else "")
    if found and found[0] != found[1]:
        raise NotReadable(
            "Das Netz ist nicht quadratisch; die Matrixprodukte laufen auf quadratischen Netzen."
        )
    given = found[0] if found else inputs.number("P")
    if given is None:
        filled.append("grid")
        return 0
    return _side(given)


def _sides(inputs: Inputs, grid: int) -> tuple[int, int, int]:
    tiles = [inputs.number(name, "tile") for name in ("Mt", "Kt", "Nt")]
    if grid and all(tiles):
        return tuple(grid * _side(tile) for tile in tiles)  # type: ignore[return-value]
    sides = [inputs.number(name) for name in "MKN"]
    if all(sides):
        return tuple(map(_side, sides))  # type: ignore[return-value]
    pair = _pair(inputs.workload)
    if pair:
        (m, k), (_, n) = pair
        return _side(m), _side(k), _side(n)
    triple = _TRIPLE.search(inputs.workload)
    if triple:
        return tuple(_side(size(part)) for part in triple.groups())  # type: ignore[return-value]
    single = inputs.number("size") or next((size(part) for part in _SINGLE.findall(inputs.workload)), None)
    return (_side(single),) * 3


def _pair(text: str) -> tuple[tuple[int | None, int | None], tuple[int | None, int | None]] | None:
    match = _PAIR.search(text)
    if match is None:
        return None
    a, b, c, d = (size(part) for part in match.groups())
    if b != c:
        raise NotReadable("Die inneren Seiten des Matrixprodukts passen nicht zueinander.")
    return (a, b), (c, d)


def _matrix(text: str) -> tuple[int | None, int | None]:
    """Return (k, n) of the last `32x16`: a matrix of 32 rows takes a vector of 16 and gives one of 32."""
    found = re.findall(rf"(?<![\w^]){_SIZE}\s*[x×]\s*{_SIZE}(?![\w^]|\s*(?:PE|grid|cores))", text)
    if not found:
        raise NotReadable("Die Größe der Matrix ist nicht angegeben.")
    rows, columns = found[-1]
    return size(columns), size(rows)


def _side(value: int | None) -> int:
    if value is None:
        raise NotReadable("Die Größe der Matrizen ist nicht angegeben.")
    if not 1 <= value <= MAX_SIDE:
        raise NotReadable(f"Eine Seite der Matrizen liegt nicht zwischen 1 und {MAX_SIDE}.")
    return value
