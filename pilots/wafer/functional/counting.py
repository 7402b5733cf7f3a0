"""Exact counts of multiply-adds, taken beside the interpreter from what each call really did."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Inputs, number
from pilots.wafer.program import PRODUCTS, Call, Kernel

Count = Callable[[Call, Inputs, Array], int]


class MultiplyAdds:
    """A listener that adds up multiply-adds per call; `total` is their sum."""

    def __init__(self) -> None:
        self.by_call: dict[int, int] = {}

    def __call__(self, call: Call, inputs: Inputs, output: Array) -> None:
        """Count one call."""
        self.by_call[call.index] = self.by_call.get(call.index, 0) + multiply_adds_of(call, inputs, output)

    @property
    def total(self) -> int:
        """Multiply-adds of all calls so far."""
        return sum(self.by_call.values())


def multiply_adds_of(call: Call, inputs: Inputs, output: Array) -> int:
    """Return the multiply-adds of one call: products, attention, experts, convolutions, stencils; 0 for the rest."""
    count = COUNTS.get(call.kernel)
    return count(call, inputs, output) if count else 0


def _product(_call: Call, inputs: Inputs, output: Array) -> int:
    return int(output.size * inputs[0].shape[-1])


def _attention(call: Call, inputs: Inputs, _output: Array) -> int:
    batch = number(call, "batch")
    length = len(inputs[0]) // batch
    window = min(number(call, "window", length), length)
    before = window * (window + 1) // 2 + (length - window) * window
    pairs = before if number(call, "causal") else 2 * before - length
    return 2 * batch * pairs * number(call, "heads") * number(call, "head_dim")


def _attention_cached(call: Call, inputs: Inputs, _output: Array) -> int:
    window = number(call, "window", inputs[1].shape[1])
    pairs = sum(min(int(position) + 1, window) for position in inputs[3].reshape(-1))
    return 2 * pairs * number(call, "heads") * number(call, "head_dim")


def _experts(_call: Call, inputs: Inputs, _output: Array) -> int:
    _, hidden, width = inputs[2].shape
    return int(3 * np.count_nonzero(inputs[1]) * hidden * width)


def _convolution(_call: Call, inputs: Inputs, output: Array) -> int:
    return output.size * prod(inputs[1].shape[1:])


def _stencil(call: Call, _inputs: Inputs, output: Array) -> int:
    return output.size * number(call, "points") if call.op == "stencil" else 0


COUNTS: Final[dict[Kernel, Count]] = dict.fromkeys(PRODUCTS, _product) | {
    Kernel.ATTENTION: _attention,
    Kernel.ATTENTION_CACHED: _attention_cached,
    Kernel.EXPERTS: _experts,
    Kernel.CONVOLUTION: _convolution,
    Kernel.STENCIL: _stencil,
}
