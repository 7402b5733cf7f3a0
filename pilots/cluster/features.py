"""Sizes of a case without any hardware: for the naive curve and for the range a calibration spans."""

from __future__ import annotations

from typing import Final

from pilots.cluster.costs import memory
from pilots.cluster.reading.training import model_flops
from pilots.cluster.workloads import (
    Case,
    Collective,
    Gemm,
    Layer,
    Offline,
    Operation,
    Pointwise,
    StaticBatch,
    Step,
)

NAMES: Final = ("operations", "bytes", "gpus", "tokens")


def features(case: Case) -> tuple[float, float, float, float]:
    """Return operations, bytes, GPUs and tokens (or elements) of a case, each at least one."""
    operations, size, tokens = _sizes(case)
    gpus = float(case.span.gpus)
    if isinstance(case.workload, Step):
        gpus = float(case.workload.data * case.workload.tensor * case.workload.pipeline)
    return max(1.0, operations), max(1.0, size), gpus, max(1.0, tokens)


def _sizes(case: Case) -> tuple[float, float, float]:  # noqa: PLR0911 - one per kind of workload
    work = case.workload
    match work:
        case Gemm(m=m, n=n, k=k, count=count):
            return 2.0 * m * n * k * count, 2.0 * count * (m * k + k * n + m * n), float(m)
        case Pointwise(elements=elements, passes=passes):
            return float(elements), 2.0 * elements * passes, float(elements)
        case Operation(flops=flops, moved_bytes=moved, rows=rows):
            return flops, moved, float(rows)
        case Layer(hidden=hidden, batch=batch, context=context):
            rows = batch if work.decode else batch * context
            return 24.0 * rows * hidden**2, 24.0 * hidden**2 + 4.0 * batch * context * hidden, float(rows)
        case Collective(size_bytes=size):
            return 1.0, float(size), float(case.span.nodes)
        case StaticBatch(shape=shape, batch=batch, prompt=prompt, answer=answer):
            cache = batch * (prompt + answer) * memory.cache_bytes_per_token(shape)
            weights = memory.weight_bytes(shape, work.weights)
            operations = 2 * shape.active_params * batch * (prompt + answer)
            return operations, answer * (weights + cache), float(answer)
        case Offline(shape=shape, prompt=prompt, answer=answer):
            operations = 2 * shape.active_params * (prompt + answer) / answer / work.replicas
            return operations, memory.weight_bytes(shape, work.weights), (prompt + answer) / answer
        case Step(shape=shape, sequence=sequence):
            tokens = work.micro_batch * work.micro_batches * work.data * sequence
            return model_flops(shape, tokens, sequence), 2.0 * shape.params, float(tokens)
