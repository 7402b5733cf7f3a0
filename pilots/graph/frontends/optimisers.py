"""Optimisers a training step may end with, in the words of the table of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.values import Value
from pilots.graph.ir import Array, DType


@dataclass(frozen=True, slots=True)
class Sgd:
    """Plain gradient descent; the rate is a decimal as text."""

    rate: str


@dataclass(frozen=True, slots=True)
class AdamW:
    """Adam with decoupled weight decay; all numbers are decimals as text."""

    rate: str
    beta1: str = "0.9"
    beta2: str = "0.999"
    epsilon: str = "0.00000001"
    weight_decay: str = "0.01"


Optimiser = Sgd | AdamW


@dataclass(frozen=True, slots=True)
class Moments:
    """State of AdamW as graph inputs: both moments per parameter, and the number of the step, from 1."""

    first: Mapping[str, Value]
    second: Mapping[str, Value]
    step: Value


def moments(emit: Emitter, params: Mapping[str, Value], optimiser: Optimiser) -> Moments | None:
    """Add the inputs an optimiser needs: m.NAME and v.NAME per parameter, and step; none for plain descent."""
    if isinstance(optimiser, Sgd):
        return None
    first = {name: emit.input(f"m.{name}", item.shape, item.dtype) for name, item in params.items()}
    second = {name: emit.input(f"v.{name}", item.shape, item.dtype) for name, item in params.items()}
    return Moments(first, second, emit.input("step", (1,), DType.INT32))


def first_step_inputs(params: Sequence[Array], optimiser: Optimiser, data: Sequence[Array]) -> list[Array]:
    """Return the inputs of the first step in the order of the graph: moments of zero, and step 1."""
    if isinstance(optimiser, Sgd):
        return [*params, *data]
    zeros = [np.zeros_like(item) for item in params]
    return [*params, *zeros, *zeros, np.array([1], np.int32), *data]


def result_labels(names: Sequence[str], optimiser: Optimiser) -> list[str]:
    """Return the names of the results of a step: the loss, new parameters, and for AdamW both new moments."""
    kinds = ("new",) if isinstance(optimiser, Sgd) else ("new", "new.m", "new.v")
    return ["loss", *(f"{kind}.{name}" for kind in kinds for name in names)]


def update(
    emit: Emitter,
    params: Mapping[str, Value],
    gradients: Sequence[Value],
    optimiser: Optimiser,
    state: Moments | None,
) -> list[Value]:
    """Return new parameters, then for AdamW new first and new second moments, each in the order of the parameters."""
    pairs = list(zip(params.items(), gradients, strict=True))
    if state is None or isinstance(optimiser, Sgd):
        return [emit.op("sgd_update", item, gradient, rate=optimiser.rate) for (_, item), gradient in pairs]
    first = {n: emit.op("adam_m", state.first[n], g, beta1=optimiser.beta1) for (n, _), g in pairs}
    second = {n: emit.op("adam_v", state.second[n], g, beta2=optimiser.beta2) for (n, _), g in pairs}
    changed = [
        emit.op(
            "adamw_update",
            item,
            first[name],
            second[name],
            state.step,
            rate=optimiser.rate,
            beta1=optimiser.beta1,
            beta2=optimiser.beta2,
            epsilon=optimiser.epsilon,
            weight_decay=optimiser.weight_decay,
        )
        for name, item in params.items()
    ]
    return [*changed, *first.values(), *second.values()]
