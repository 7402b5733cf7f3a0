"""A compiled program: frozen data that says which element holds what, what is computed in which order, and who talks to whom.

What is legal stands in one table in `legality.py`; sizes in SRAM are counted in `memory.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pilots.graph.ir import Attr, Attrs, DType
from qms.core import canonical

WORD_BYTES: Final = 4  # one wavelet carries 32 bits (rt.link)
ACCUMULATOR_BYTES: Final = 4  # sums are kept in fp32 for every element type


class Mode(StrEnum):
    """Where the weights live while a program runs."""

    RESIDENT = "RESIDENT"  # in the SRAM of the elements that use them
    WEIGHT_STREAMING = "WEIGHT_STREAMING"  # outside; each layer comes in when it is needed


class Kernel(StrEnum):
    """How one operation is carried out on a rectangle of elements."""

    SUMMA = "SUMMA"  # square grid; blocks of both factors are broadcast step by step
    CANNON = "CANNON"  # square grid; both factors are shifted to the neighbour, with a long way around
    MESH_GEMM = "MESH_GEMM"  # as CANNON, but no shift is longer than two hops
    STATIONARY = "STATIONARY"  # weights stay; activations go along rows, sums chain down the columns
    GEMV = "GEMV"  # weights stay; sums of a column meet in a two-level tree and are broadcast back
    STREAMED = "STREAMED"  # activations stay; weights come in from outside one by one
    EXPERTS = "EXPERTS"  # the products of the experts a token was sent to
    ELEMENTWISE = "ELEMENTWISE"
    REDUCE = "REDUCE"
    SOFTMAX = "SOFTMAX"
    NORM = "NORM"
    GATHER = "GATHER"  # rows of a table by index: embedding, gather, scatter
    ATTENTION = "ATTENTION"  # all queries of a sequence against all its keys
    ATTENTION_CACHED = "ATTENTION_CACHED"  # one query per sequence against the KV cache
    CACHE_APPEND = "CACHE_APPEND"
    CONVOLUTION = "CONVOLUTION"
    STENCIL = "STENCIL"
    OPTIMISER = "OPTIMISER"
    TRANSPOSE = "TRANSPOSE"
    MOVE = "MOVE"  # reshape, slice, concatenate: data only changes its place


# What the numbers of `Call.shape` mean, by kernel. rows: samples or tokens; width: features; table: its entries, or how
# many are added to it; entry: numbers of one in a row of the result; from: the matrix that is moved, of several the first.
SHAPES: Final[dict[Kernel, tuple[str, ...]]] = {
    Kernel.SUMMA: ("m", "k", "n"),
    Kernel.CANNON: ("m", "k", "n"),
    Kernel.MESH_GEMM: ("m", "k", "n"),
    Kernel.STATIONARY: ("m", "k", "n"),
    Kernel.GEMV: ("m", "k", "n"),
    Kernel.STREAMED: ("m", "k", "n"),
    Kernel.EXPERTS: ("rows", "width", "hidden", "experts", "chosen"),
    Kernel.ELEMENTWISE: ("rows", "width"),
    Kernel.REDUCE: ("rows", "width"),
    Kernel.SOFTMAX: ("rows", "width"),
    Kernel.NORM: ("rows", "width"),
    Kernel.GATHER: ("rows", "width", "table", "entry"),
    Kernel.ATTENTION: ("batch", "queries", "context", "heads", "kv_heads", "head_dim"),
    Kernel.ATTENTION_CACHED: ("batch", "queries", "context", "heads", "kv_heads", "head_dim"),
    Kernel.CACHE_APPEND: ("rows", "width"),
    Kernel.CONVOLUTION: ("m", "k", "n"),
    Kernel.STENCIL: ("nx", "ny", "nz", "points"),
    Kernel.OPTIMISER: ("rows", "width"),
    Kernel.TRANSPOSE: ("rows", "width"),
    Kernel.MOVE: ("rows", "width", "from_rows", "from_width"),
}
PRODUCTS: Final = (
    Kernel.GEMV,
    Kernel.MESH_GEMM,
    Kernel.SUMMA,
    Kernel.STATIONARY,
    Kernel.CANNON,
    Kernel.STREAMED,
)
SQUARE: Final = (Kernel.SUMMA, Kernel.CANNON, Kernel.MESH_GEMM)


@dataclass(frozen=True, slots=True, order=True)
class Rect:
    """A rectangle of processing elements: left upper corner, width, height."""

    x: int
    y: int
    width: int
    height: int

    @property
    def pes(self) -> int:
        """Number of elements."""
        return self.width * self.height

    @property
    def centre(self) -> tuple[int, int]:
        """Middle element, rounded down."""
        return (self.x + self.width // 2, self.y + self.height // 2)

    def overlaps(self, other: Rect) -> bool:
        """Say whether the two share an element."""
        apart_x = self.x + self.width <= other.x or other.x + other.width <= self.x
        apart_y = self.y + self.height <= other.y or other.y + other.height <= self.y
        return not (apart_x or apart_y)

    def contains(self, other: Rect) -> bool:
        """Say whether every element of the other one is an element of this one."""
        inside_x = self.x <= other.x and other.x + other.width <= self.x + self.width
        return inside_x and self.y <= other.y and other.y + other.height <= self.y + self.height

    def to_json(self) -> list[int]:
        """Return the canonical form."""
        return [self.x, self.y, self.width, self.height]


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of one system whose elements share a set of calls; `system` counts from 0."""

    system: int
    rect: Rect


@dataclass(frozen=True, slots=True)
class Route:
    """One color of a call: its number, what it is for, where wavelets go, and the colors it waits for.

    towards: the one side every element of `rect` passes wavelets to (it receives from the opposite side).
    """

    color: int
    purpose: str
    towards: str
    rect: Rect
    waits_for: tuple[int, ...] = ()

    def to_json(self) -> list[Any]:
        """Return the canonical form."""
        return [self.color, self.purpose, self.towards, self.rect.to_json(), list(self.waits_for)]


@dataclass(frozen=True, slots=True)
class Call:
    """One kernel on one rectangle. `shape` as SHAPES says; `tile` is what one element holds of it.

    For products tile is (m, k, n) per element and fixes the order of the sums: k ascends inside a tile, tiles follow
    in the order of their kernel.
    """

    index: int
    kernel: Kernel
    op: str
    inputs: tuple[str, ...]
    output: str
    region: int
    rect: Rect
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    attrs: Attrs = ()
    routes: tuple[Route, ...] = ()

    def attr(self, name: str) -> Attr:
        """Return an attribute of the operation; raises KeyError."""
        return dict(self.attrs)[name]

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "kernel": self.kernel.value,
            "op": self.op,
            "in": list(self.inputs),
            "out": self.output,
            "region": self.region,
            "rect": self.rect.to_json(),
            "shape": list(self.shape),
            "tile": list(self.tile),
            "attrs": [
                [name, list(value) if isinstance(value, tuple) else value] for name, value in self.attrs
            ],
            "colors": [route.to_json() for route in self.routes],
        }


@dataclass(frozen=True, slots=True)
class Resident:
    """A tensor that stays in SRAM for the whole program, cut evenly over a rectangle.

    kind: weight, cache, or streamed (comes in when it is needed and takes no bytes here).
    """

    name: str
    kind: str
    region: int
    rect: Rect
    bytes_per_pe: int


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program. Calls run in order, once per micro-batch; regions follow one another in the data flow.

    systems: how many it takes, the first ones; more of them would carry copies of it. dtype: what most of its numbers are;
    types: values of another floating point type, by name.
    """

    machine_id: str
    machine_sha256: str
    model_digest: str
    dtype: DType
    mode: Mode
    micro_batch: int
    systems: int
    regions: tuple[Region, ...]
    residents: tuple[Resident, ...]
    calls: tuple[Call, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[tuple[str, DType], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        mixed = {"types": [[name, dtype.value] for name, dtype in self.types]} if self.types else {}
        return mixed | {
            "format": "wprogram-2",
            "mode": self.mode.value,
            "machine": {"id": self.machine_id, "sha256": self.machine_sha256},
            "model_digest": self.model_digest,
            "dtype": self.dtype.value,
            "micro_batch": self.micro_batch,
            "systems": self.systems,
            "regions": [[item.system, *item.rect.to_json()] for item in self.regions],
            "residents": [[r.name, r.kind, r.region, r.bytes_per_pe] for r in self.residents],
            "calls": [call.to_json() for call in self.calls],
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
        }

    def digest(self) -> str:
        """Return the SHA-256 of the canonical form."""
        return canonical.digest(self.to_json())

    def micro_batches(self, batch: int) -> int:
        """Return how many micro-batches a request of `batch` samples takes."""
        return -(-batch // self.micro_batch)
