"""Small cases that several tests share."""

from __future__ import annotations

from dataclasses import replace

from pilots.cluster import device, shapes
from pilots.cluster.figure import Figure
from pilots.cluster.reading.inputs import span_of
from pilots.cluster.workloads import Case, Collective, StaticBatch


def serving(model="LLaMA3-8B", *, gpu="h100", gpus=1, batch=1, prompt=1024, answer=1024, stack="vLLM 2024"):
    shape = shapes.find(model)
    chosen = device.find(gpu)
    return Case(chosen, span_of(chosen, gpus), stack, StaticBatch(shape, batch, prompt, answer))


def all_reduce(size=2**30, *, gpu="h100", gpus=8, algorithm=""):
    chosen = device.find(gpu)
    return Case(chosen, span_of(chosen, gpus), "NCCL", Collective("all_reduce", size, algorithm))


def with_figure(case, name, factor):
    """The same case on a device one of whose figures is changed."""
    known = case.device.figures[name]
    changed = Figure(known.value * factor, known.unit, known.provenance, known.source, known.date)
    chosen = replace(case.device, figures=dict(case.device.figures) | {name: changed})
    return replace(case, device=chosen)
