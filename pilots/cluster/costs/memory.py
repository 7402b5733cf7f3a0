"""What lies in the memory of one GPU, and the refusal of a plan that does not fit (S005).

Capacity counts per GPU; there is no common memory. Engines may use 90 % of it (cluster.md section 2).
"""

from __future__ import annotations

from math import ceil
from typing import Final

from pilots.cluster.device import ITEM_BYTES, Device
from pilots.cluster.errors import DoesNotFit
from pilots.cluster.shapes import Shape
from pilots.cluster.workloads import Case, StaticBatch, Step

USABLE: Final = 0.9
BLOCK_TOKENS: Final = 16  # the cache is handed out in blocks
BYTES_PER_PARAMETER: Final = 16.0  # mixed precision Adam: 2 weights, 2 gradients, 12 states
MAX_GPUS: Final = 1024
CACHE_BYTES: Final = 2.0


def usable_bytes(device: Device) -> int:
    """Return what a plan may use of one GPU."""
    return int(device.hbm_bytes * USABLE)


def cache_bytes_per_token(shape: Shape, item_bytes: float = CACHE_BYTES) -> float:
    """Return the bytes of keys and values of one token."""
    return shape.layers * shape.kv_values * item_bytes


def weight_bytes(shape: Shape, weights: str) -> float:
    """Return the bytes of all weights; the tables stay in 16 bit."""
    tables = shape.head_params * (1 if shape.tied else 2)
    return (shape.params - tables) * ITEM_BYTES[weights] + tables * ITEM_BYTES["bf16"]


def serving_bytes(work: StaticBatch, gpus: int) -> float:
    """Return the bytes per GPU of a batch at its full length."""
    blocks = ceil((work.prompt + work.answer) / BLOCK_TOKENS)
    cache = work.batch * blocks * BLOCK_TOKENS * cache_bytes_per_token(work.shape)
    return (weight_bytes(work.shape, work.weights) + cache) / gpus


def training_bytes(work: Step) -> float:
    """Return the bytes per GPU of a training step: states, and the activations of the micro-batches in flight."""
    own = work.shape.params / work.tensor / work.pipeline
    states = own * (BYTES_PER_PARAMETER / work.data if work.sharded else BYTES_PER_PARAMETER)
    in_flight = min(work.pipeline, work.micro_batches)
    layers = work.shape.layers / work.pipeline * in_flight
    return states + layers * activation_bytes(work)


def activation_bytes(work: Step) -> float:
    """Return the bytes of activations of one layer and micro-batch (Korthikanti et al. 2022)."""
    shape, tensor = work.shape, work.tensor
    rows = float(work.sequence * work.micro_batch * shape.hidden)
    if work.recompute == "full":
        return 2.0 * rows / (tensor if work.sequence_parallel else 1)
    scores = (
        0.0
        if work.flash or work.recompute == "selective"
        else 5.0 * shape.heads * work.sequence / shape.hidden
    )
    if work.sequence_parallel:
        return rows * (34.0 + scores) / tensor
    return rows * (10.0 + 24.0 / tensor + scores / tensor)


def check(case: Case) -> None:
    """Raise DoesNotFit with the exact shortfall and the smallest number of GPUs that fits."""
    work, usable = case.workload, usable_bytes(case.device)
    if isinstance(work, StaticBatch):
        needed = serving_bytes(work, case.span.gpus)
        if needed > usable:
            total = serving_bytes(work, 1)
            _refuse(needed, usable, next((n for n in _powers() if total / n <= usable), None))
    elif isinstance(work, Step):
        needed = training_bytes(work)
        if needed > usable:
            _refuse(needed, usable, None)


def _powers() -> list[int]:
    return [2**power for power in range(MAX_GPUS.bit_length())]


def _refuse(needed: float, usable: int, smallest: int | None) -> None:
    raise DoesNotFit(needed_bytes=ceil(needed), usable_bytes=usable, smallest_gpus=smallest)
