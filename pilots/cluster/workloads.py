"""What can be asked of the model: a workload, on a device, on a part of a fabric, by a software stack."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from pilots.cluster.device import Device
from pilots.cluster.shapes import Shape
from pilots.cluster.topology import Span


class Family(StrEnum):
    """Kinds of measurements; errors, intervals and naive curves are kept per family."""

    OPERATORS = "operators"
    COLLECTIVES = "collectives"
    SERVING = "serving"
    OFFLINE = "offline"
    SERVER = "server"
    TRAINING = "training"


class Quantity(StrEnum):
    """What a prediction is turned into; the first is what the model computes."""

    SECONDS = "s"
    RATE = "1/s"


@dataclass(frozen=True, slots=True)
class Gemm:
    """`count` products of m x k with k x n in 16 bit."""

    m: int
    n: int
    k: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Pointwise:
    """An operation that reads and writes `elements` numbers of 16 bit, in `passes` passes over memory."""

    elements: int
    passes: float


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a workload graph in 16 bit: arithmetic, the summed dimension of a product, bytes it reads and
    writes, rows of its result. product: matrix units compute it; else memory alone decides.
    """

    flops: float
    depth: int
    moved_bytes: float
    rows: int
    product: bool


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer forward over `rows` tokens in all, each against `context` tokens, split over `tensor` GPUs.

    decode: one token per sequence against a cache, else a whole causal prompt with its scores in memory.
    """

    hidden: int
    heads: int
    batch: int
    context: int
    tensor: int
    decode: bool


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective of `size_bytes` per GPU. kind: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast.

    algorithm: "nvls", "ring" or "" for the library's choice.
    """

    kind: str
    size_bytes: int
    algorithm: str = ""


@dataclass(frozen=True, slots=True)
class StaticBatch:
    """A batch whose requests all have the same prompt and answer length, from first to last token."""

    shape: Shape
    batch: int
    prompt: int
    answer: int
    weights: str = "bf16"


@dataclass(frozen=True, slots=True)
class Offline:
    """Steady state with a queue that never empties: output tokens per second of all GPUs.

    replicas of the model run side by side; a latency limit holds the batch down (ttft_s, tpot_s; 0 = none).
    """

    shape: Shape
    prompt: float
    answer: float
    weights: str
    replicas: int = 1
    ttft_s: float = 0.0
    tpot_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One optimiser step. recompute: share of the forward pass computed again (full: 1); sequence_parallel;
    interleave: model chunks per GPU; sharded: weights are gathered from all data-parallel ranks (FSDP, ZeRO-3).
    micro_batches: per data-parallel rank.
    """

    shape: Shape
    sequence: int
    micro_batch: int
    micro_batches: float
    tensor: int
    pipeline: int
    data: int
    interleave: int
    recompute: str
    sequence_parallel: bool
    sharded: bool
    flash: bool
    precision: str = "bf16"


Workload: TypeAlias = Gemm | Pointwise | Operation | Layer | Collective | StaticBatch | Offline | Step
RECOMPUTE: Final = ("none", "selective", "full")
_FAMILY: Final[dict[type, Family]] = {
    Gemm: Family.OPERATORS,
    Pointwise: Family.OPERATORS,
    Operation: Family.OPERATORS,
    Layer: Family.OPERATORS,
    Collective: Family.COLLECTIVES,
    StaticBatch: Family.SERVING,
    Offline: Family.OFFLINE,
    Step: Family.TRAINING,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question. stack: software whose constants apply, such as "vLLM 2024"; span: GPUs that work on one copy."""

    device: Device
    span: Span
    stack: str
    workload: Workload

    @property
    def family(self) -> Family:
        """The family whose errors apply."""
        work = self.workload
        if isinstance(work, Offline) and work.tpot_s:
            return Family.SERVER
        return _FAMILY[type(work)]

    @property
    def key(self) -> str:
        """Name of the constants: family of the formula and stack."""
        return f"{_FAMILY[type(self.workload)].value}/{self.stack}"
