"""Which colors a kernel uses on its rectangle, as a table. Colors are set anew for every call."""

from __future__ import annotations

from typing import Final

from pilots.wafer.program import Kernel, Rect, Route

# purpose, side the wavelets go to, purposes it waits for
_Row = tuple[str, str, tuple[str, ...]]
_PAIR: Final[tuple[_Row, ...]] = (("rows", "E", ()), ("columns", "S", ()))
_SHIFT: Final[tuple[_Row, ...]] = (
    ("left out", "W", ()),
    ("left back", "E", ()),
    ("up out", "N", ()),
    ("up back", "S", ()),
)
_ALLREDUCE: Final[tuple[_Row, ...]] = (
    ("reduce down", "S", ()),
    ("reduce up", "N", ()),
    ("spread down", "S", ("reduce down", "reduce up")),
    ("spread up", "N", ("reduce down", "reduce up")),
)
_ALONG_ROWS: Final[tuple[_Row, ...]] = (
    ("reduce right", "E", ()),
    ("reduce left", "W", ()),
    ("spread right", "E", ("reduce right", "reduce left")),
    ("spread left", "W", ("reduce right", "reduce left")),
)
_HALO: Final[tuple[_Row, ...]] = tuple((f"halo {side}", side, ()) for side in "EWNS")
_CHAIN: Final[tuple[_Row, ...]] = (("rows", "E", ()), ("sums", "S", ("rows",)))

ROWS: Final[dict[Kernel, tuple[_Row, ...]]] = {
    Kernel.SUMMA: _PAIR,
    Kernel.CANNON: _SHIFT,
    Kernel.MESH_GEMM: _SHIFT,
    Kernel.STATIONARY: _CHAIN,
    Kernel.CONVOLUTION: _CHAIN,
    Kernel.GEMV: _ALLREDUCE,
    Kernel.EXPERTS: _ALLREDUCE,
    Kernel.STREAMED: (("weights", "S", ()), ("sums", "E", ("weights",))),
    Kernel.REDUCE: _ALONG_ROWS,
    Kernel.SOFTMAX: _ALONG_ROWS,
    Kernel.NORM: _ALONG_ROWS,
    Kernel.GATHER: (("rows", "N", ()), ("spread", "S", ("rows",))),
    Kernel.ATTENTION: (*_SHIFT, *_ALONG_ROWS),
    Kernel.ATTENTION_CACHED: _ALLREDUCE,
    Kernel.STENCIL: _HALO,
    Kernel.TRANSPOSE: _SHIFT,
}


def routes_of(kernel: Kernel, rect: Rect) -> tuple[Route, ...]:
    """Return the routes of a kernel on a rectangle; a rectangle of one element needs none."""
    rows = ROWS.get(kernel, ())
    if rect.pes == 1 or not rows:
        return ()
    numbers = {purpose: color for color, (purpose, _, _) in enumerate(rows)}
    return tuple(
        Route(numbers[purpose], purpose, towards, rect, tuple(numbers[name] for name in waits))
        for purpose, towards, waits in rows
    )
